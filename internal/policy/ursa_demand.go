package policy

import "github.com/loadline/loadline"

// demand is the mean demand of a request at a service, over all kinds.
type demand struct{ visits, seconds float64 }

// costPerVisit is the CPU time of a mean visit to each service, in seconds, by the app's model;
// 0 if the model has none.
func costPerVisit(app *loadline.App) []float64 {
	total := make([]demand, len(app.Services))
	for k := range app.Kinds {
		addDemand(app, &app.Kinds[k].Root, -1, app.Kinds[k].Share, total)
	}
	cost := make([]float64, len(total))
	for i, d := range total {
		if d.visits > 0 {
			cost[i] = d.seconds / d.visits
		}
	}
	return cost
}

func addDemand(app *loadline.App, c *loadline.Call, caller int, parent float64, into []demand) {
	visits := parent * c.Probability * float64(max(c.Times, 1))
	if caller >= 0 && len(c.Versions) > 0 {
		visits *= app.Services[caller].VersionShare(c.Versions)
	}
	s := &app.Services[c.Service]
	into[c.Service].visits += visits
	into[c.Service].seconds += visits * s.CPU.Mean.Seconds() * c.Work * s.VersionCPU()
	for _, stage := range c.Stages {
		for i := range stage {
			addDemand(app, &stage[i], c.Service, visits, into)
		}
	}
}
