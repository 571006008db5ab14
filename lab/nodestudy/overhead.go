package nodestudy

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Overhead is what a visit costs besides what the model of its application says.
type Overhead struct {
	Visit time.Duration // CPU of the server
	Call  time.Duration // CPU of the caller, for each call
	Wait  time.Duration // time of a visit without CPU: the way there and back
}

// Measured is the overhead of the application's image: HTTP over loopback devices, in Go. See
// docs/realpods.md: three runs of TestRealPodUsesTheCPUOfItsModel.
var Measured = Overhead{Visit: 210 * time.Microsecond, Call: 250 * time.Microsecond, Wait: 50 * time.Microsecond}

// demand of a call and all that it calls, in CPU time.
func (o Overhead) demand(app *loadline.App, c *loadline.Call) time.Duration {
	sum := time.Duration(c.Work*float64(app.Services[c.Service].CPU.Mean)) + o.Visit
	for _, stage := range c.Stages {
		for i := range stage {
			sum += o.Call + o.demand(app, &stage[i])
		}
	}
	return sum
}

// With is the application with the overhead, for the engines. It is constant: it adds to means and
// not to deviations. Calls of a service are counted in the mean over its visits.
func (o Overhead) With(app *loadline.App) *loadline.App {
	out := *app
	out.Services = append([]loadline.Service(nil), app.Services...)
	visits, calls := make([]float64, len(app.Services)), make([]float64, len(app.Services))
	var count func(c *loadline.Call, times float64)
	count = func(c *loadline.Call, times float64) {
		visits[c.Service] += times
		for _, stage := range c.Stages {
			for i := range stage {
				calls[c.Service] += times
				count(&stage[i], times)
			}
		}
	}
	for i := range app.Kinds {
		count(&app.Kinds[i].Root, app.Kinds[i].Share)
	}
	for i := range out.Services {
		if visits[i] == 0 {
			continue
		}
		cpu := &out.Services[i].CPU
		mean := cpu.Mean + o.Visit + time.Duration(math.Round(float64(o.Call)*calls[i]/visits[i]))
		cpu.CV *= float64(cpu.Mean) / float64(mean)
		cpu.Mean = mean
		out.Services[i].Wait.Mean += o.Wait
	}
	return &out
}
