package formulation

import "github.com/loadline/loadline"

// Unloaded is how long the calls of an application take when nothing waits. The
// SLO is divided by it, here and wherever else it is divided in proportion.
type Unloaded struct{ App *loadline.App }

// Time of a call in seconds, its own calls included.
func (u Unloaded) Time(c *loadline.Call) float64 {
	return u.Own(c) + u.Calls(c)
}

// Own is the part of a call that is not spent in calls to others, in seconds.
func (u Unloaded) Own(c *loadline.Call) float64 {
	service := &u.App.Services[c.Service]
	cpu := service.CPU.Mean.Seconds() * service.VersionCPU()
	if limit := service.Size.CPULimit; limit > 0 && limit < 1 {
		cpu /= limit
	}
	wait := service.Wait.Mean.Seconds() * service.VersionWait()
	return (cpu + wait) * c.Work
}

// Calls is the time in calls to others in seconds: the longest of each stage,
// stage after stage.
func (u Unloaded) Calls(c *loadline.Call) float64 {
	sum := 0.0
	for _, stage := range c.Stages {
		longest := 0.0
		for i := range stage {
			longest = max(longest, u.Made(&stage[i], c.Service)*u.Time(&stage[i]))
		}
		sum += longest
	}
	return sum
}

// Made is how often a call is made on the mean per visit of its caller; -1 stands
// for the users.
func (u Unloaded) Made(c *loadline.Call, caller int) float64 {
	n := c.Probability * float64(c.Times)
	if caller >= 0 {
		n *= u.App.Services[caller].VersionShare(c.Versions)
	}
	return n
}
