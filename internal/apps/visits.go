package apps

import (
	"errors"

	"github.com/loadline/loadline"
)

// Visits gives the expected visits of one request: kind by kind, service by
// service, nothing browned out.
func Visits(app *loadline.App) [][]float64 {
	return perKind(app, func(*loadline.Call) float64 { return 1 })
}

// CPUSeconds gives the expected CPU time of one request in seconds: kind by
// kind, service by service, nothing browned out.
func CPUSeconds(app *loadline.App) [][]float64 {
	mean := make([]float64, len(app.Services))
	for i := range app.Services {
		mean[i] = app.Services[i].CPU.Mean.Seconds() * app.Services[i].VersionCPU()
	}
	return perKind(app, func(c *loadline.Call) float64 { return mean[c.Service] * c.Work })
}

// Mix weighs figures per kind and service by the kinds' shares: the average request.
func Mix(app *loadline.App, perKind [][]float64) []float64 {
	sum := make([]float64, len(app.Services))
	shares := 0.0
	for _, k := range app.Kinds {
		shares += k.Share
	}
	for k := range perKind {
		for s, x := range perKind[k] {
			sum[s] += x * app.Kinds[k].Share / shares
		}
	}
	return sum
}

// Busiest is the service that uses most CPU.
func Busiest(app *loadline.App) (int, error) {
	service, most := -1, 0.0
	for s, seconds := range Mix(app, CPUSeconds(app)) {
		if seconds > most {
			service, most = s, seconds
		}
	}
	if service < 0 {
		return 0, errors.New("no service uses any CPU")
	}
	return service, nil
}

func perKind(app *loadline.App, of func(*loadline.Call) float64) [][]float64 {
	all := make([][]float64, len(app.Kinds))
	for k := range app.Kinds {
		all[k] = make([]float64, len(app.Services))
		walkVisits(app, &app.Kinds[k].Root, -1, 1, func(c *loadline.Call, _ int, visits float64) {
			all[k][c.Service] += visits * of(c)
		})
	}
	return all
}

// walkVisits calls back for every call of a tree with its caller (-1 = the
// users) and its expected visits.
func walkVisits(app *loadline.App, c *loadline.Call, caller int, parent float64,
	visit func(c *loadline.Call, caller int, visits float64)) {
	n := parent * c.Probability * float64(c.Times)
	if caller >= 0 && len(c.Versions) > 0 {
		n *= app.Services[caller].VersionShare(c.Versions)
	}
	visit(c, caller, n)
	for _, stage := range c.Stages {
		for i := range stage {
			walkVisits(app, &stage[i], c.Service, n, visit)
		}
	}
}

// visitsOf is the expected number of all visits under a call.
func visitsOf(app *loadline.App, c loadline.Call) float64 {
	total := 0.0
	walkVisits(app, &c, -1, 1, func(_ *loadline.Call, _ int, visits float64) { total += visits })
	return total
}
