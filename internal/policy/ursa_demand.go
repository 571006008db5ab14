package policy

import "github.com/loadline/loadline"

// demand is the mean demand of a request at a service, over all kinds.
type demand struct{ visits, seconds float64 }

// perVisit is the CPU time of a mean visit, in seconds; 0 without visits.
func (d demand) perVisit() float64 {
	if d.visits == 0 {
		return 0
	}
	return d.seconds / d.visits
}

// demandPerRequest is the demand of a mean request of the users at each service, by the app's
// model.
func demandPerRequest(app *loadline.App) []demand {
	total, shares := make([]demand, len(app.Services)), 0.0
	for k := range app.Kinds {
		addDemand(app, &app.Kinds[k].Root, -1, app.Kinds[k].Share, total)
		shares += app.Kinds[k].Share
	}
	for i := range total {
		if shares > 0 {
			total[i] = demand{total[i].visits / shares, total[i].seconds / shares}
		}
	}
	return total
}

// costPerVisit is the CPU time of a mean visit to each service, in seconds, by the app's model;
// 0 if the model has none.
func costPerVisit(app *loadline.App) []float64 {
	cost := make([]float64, len(app.Services))
	for i, d := range demandPerRequest(app) {
		cost[i] = d.perVisit()
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
