package apps

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// Report describes a valid model.
type Report struct {
	Name     string
	Services int
	Kinds    []KindReport
	Figures  int
	Shares   map[Provenance]int // figures by provenance
	Origins  []OriginReport     // in the order of the file
	Warnings []string           // not wrong, but probably unintended
}

// KindReport is one kind of request on average.
type KindReport struct {
	Name       string
	Share      float64       // of all requests, 0..1
	Visits     float64       // of all services
	CPU        time.Duration // of all services
	Unloaded   time.Duration // mean response time on idle replicas of the initial size
	SLO        loadline.SLO
	Timeout    time.Duration
	HasOptions bool // some calls are optional
}

// OriginReport counts the figures of one origin.
type OriginReport struct {
	Origin
	Figures int
}

// Check summarises a model.
func Check(m *Model) Report {
	app := m.App
	r := Report{Name: app.Name, Services: len(app.Services), Figures: len(m.Figures)}
	r.Shares, r.Origins = provenance(m)
	visits, cpu := Visits(app), CPUSeconds(app)
	shares := 0.0
	for _, k := range app.Kinds {
		shares += k.Share
	}
	for k, kind := range app.Kinds {
		kr := KindReport{Name: kind.Name, Share: kind.Share / shares, SLO: kind.SLO, Timeout: kind.Timeout}
		seconds := 0.0
		for s := range app.Services {
			kr.Visits += visits[k][s]
			seconds += cpu[k][s]
		}
		kr.CPU = time.Duration(seconds * float64(time.Second)).Round(time.Microsecond)
		kr.Unloaded = unloaded(app, &kind.Root, -1).Round(time.Microsecond)
		walkVisits(app, &kind.Root, -1, 1, func(c *loadline.Call, _ int, _ float64) { kr.HasOptions = kr.HasOptions || c.Optional })
		r.Kinds = append(r.Kinds, kr)
	}
	r.Warnings = warnings(app, r, visits)
	return r
}

func provenance(m *Model) (map[Provenance]int, []OriginReport) {
	shares := map[Provenance]int{}
	origins := make([]OriginReport, len(m.Origins))
	index := map[string]int{}
	for i, o := range m.Origins {
		origins[i].Origin = o
		index[o.Name] = i
	}
	for _, f := range m.Figures {
		switch i, ok := index[f.Origin]; {
		case ok:
			origins[i].Figures++
			shares[origins[i].Kind]++
		case f.Line == 0:
			shares[Defaulted]++
		default:
			shares[Unmarked]++
		}
	}
	return shares, origins
}

func warnings(app *loadline.App, r Report, visits [][]float64) []string {
	var list []string
	for s := range app.Services {
		called := false
		for k := range visits {
			called = called || visits[k][s] > 0
		}
		if !called {
			list = append(list, fmt.Sprintf("service %s is never called", app.Services[s].Name))
		}
	}
	for s, needed := range needed(app) {
		if svc := &app.Services[s]; needed && svc.Hold == 0 && svc.Bounds.MinReplicas == 0 {
			list = append(list, fmt.Sprintf("service %s may go to 0 replicas, and requests that need it fail then: give it a hold, "+
				"or 1 replica at least", svc.Name))
		}
	}
	for _, o := range r.Origins {
		if o.Figures == 0 {
			list = append(list, fmt.Sprintf("origin %s marks no figure", o.Name))
		}
	}
	for _, k := range r.Kinds {
		if k.Unloaded >= k.SLO.Latency {
			list = append(list, fmt.Sprintf("kind %s cannot meet its SLO of %v: unloaded it takes %v on average", k.Name, k.SLO.Latency,
				k.Unloaded))
		}
		if k.Timeout > 0 && k.Timeout < k.SLO.Latency {
			list = append(list, fmt.Sprintf("kind %s times out after %v, before its SLO of %v", k.Name, k.Timeout, k.SLO.Latency))
		}
	}
	return append(list, clientWarnings(app)...)
}

// needed reports for each service whether some request fails without it: users' requests enter
// there, or a call to it is not optional.
func needed(app *loadline.App) []bool {
	list := make([]bool, len(app.Services))
	for k := range app.Kinds {
		walkVisits(app, &app.Kinds[k].Root, -1, 1, func(c *loadline.Call, _ int, _ float64) {
			list[c.Service] = list[c.Service] || !c.Optional
		})
	}
	return list
}

// unloaded is the mean response time of a call on idle replicas, whose CPU limit slows a
// request down if it is below the one core that a request can use. Parallel calls count as the
// longest of their means, slightly less than the mean of the longest.
func unloaded(app *loadline.App, c *loadline.Call, caller int) time.Duration {
	s := &app.Services[c.Service]
	cpu := float64(s.CPU.Mean) * s.VersionCPU()
	wait := float64(s.Wait.Mean) * s.VersionWait()
	if limit := s.Size.CPULimit; limit > 0 && limit < 1 {
		cpu /= limit
	}
	once := (cpu + wait) * c.Work
	for _, stage := range c.Stages {
		longest := time.Duration(0)
		for i := range stage {
			longest = max(longest, unloaded(app, &stage[i], c.Service))
		}
		once += float64(longest)
	}
	made := c.Probability * float64(c.Times)
	if caller >= 0 && len(c.Versions) > 0 {
		made *= app.Services[caller].VersionShare(c.Versions)
	}
	return time.Duration(once * made)
}
