package policy

import "github.com/loadline/loadline"

// work is the CPU time of one request at one service, in seconds.
type work struct{ mean, meanSquare float64 }

// workPerRequest is by kind and service. Without optional calls it is what no policy can avoid:
// they may be browned out, and a request whose optional calls fail counts as served well.
func workPerRequest(app *loadline.App, withOptional bool) [][]work {
	all := make([][]work, len(app.Kinds))
	for k := range app.Kinds {
		all[k] = make([]work, len(app.Services))
		addWork(app, &app.Kinds[k].Root, -1, 1, withOptional, all[k])
		for s := range all[k] { // visits of one request, as if all their work were done together
			all[k][s].meanSquare += all[k][s].mean * all[k][s].mean
		}
	}
	return all
}

func addWork(app *loadline.App, c *loadline.Call, caller int, parent float64, withOptional bool, into []work) {
	if c.Optional && !withOptional {
		return
	}
	visits := parent * c.Probability * float64(max(c.Times, 1))
	if caller >= 0 && len(c.Versions) > 0 {
		visits *= app.Services[caller].VersionShare(c.Versions)
	}
	s := &app.Services[c.Service]
	one := s.CPU.Mean.Seconds() * c.Work * s.VersionCPU()
	cv := s.CPU.CV
	if s.CPU.Shape == loadline.Exponential {
		cv = 1
	}
	into[c.Service].mean += visits * one
	into[c.Service].meanSquare += visits * one * one * (1 + cv*cv)
	for _, stage := range c.Stages {
		for i := range stage {
			addWork(app, &stage[i], c.Service, visits, withOptional, into)
		}
	}
}
