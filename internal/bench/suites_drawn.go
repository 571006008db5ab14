package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/workload"
)

const (
	// drawnSeed is of the scenes, not of their runs.
	drawnSeed   = 41
	drawnScenes = 36
)

// drawnApps, each at 4 to 16 times its load: on fewer nodes a bill does not show what is saved.
var drawnApps = []string{"boutique", "bookinfo", "orders", "sockshop", "quotes", "boutique"}

// draws are the random numbers of one scene.
type draws struct{ *rand.Rand }

// between is log-uniform.
func (d draws) between(low, high float64) float64 { return low * math.Pow(high/low, d.Float64()) }

// drawnShapes are loads of every generated shape and of some sums, with a peak of about 40
// requests/s.
var drawnShapes = []struct {
	name string
	spec func(draws) string
}{
	{"wave", func(d draws) string {
		return fmt.Sprintf("diurnal:low=%.3g,high=40,period=%.0fm,peak=%.0fm+noise:cv=%.2g", d.between(5, 25), d.between(60, 240),
			120*d.Float64(), d.between(0.02, 0.15))
	}},
	{"bursts", func(d draws) string {
		return fmt.Sprintf("bursty:low=%.3g,high=40,calm=%.0fs,burst=%.0fs+noise:cv=%.2g", d.between(6, 25), d.between(120, 1200),
			d.between(45, 400), d.between(0.02, 0.15))
	}},
	{"flash", func(d draws) string {
		return fmt.Sprintf("constant:rps=%.3g+%s+noise:cv=%.2g", d.between(8, 20), d.flash(4), d.between(0.02, 0.1))
	}},
	{"ramp", func(d draws) string {
		return fmt.Sprintf("ramp:from=%.3g,to=%.3g+noise:cv=%.2g", d.between(8, 40), d.between(8, 40), d.between(0.02, 0.15))
	}},
	{"step", func(d draws) string {
		return fmt.Sprintf("step:from=%.3g,to=%.3g,at=%.0fm+noise:cv=%.2g", d.between(10, 40), d.between(10, 40), 15+75*d.Float64(),
			d.between(0.02, 0.15))
	}},
	{"noise", func(d draws) string {
		return fmt.Sprintf("constant:rps=%.3g+noise:cv=%.2g,corr=%.0fs", d.between(15, 40), d.between(0.05, 0.35), d.between(30, 600))
	}},
	{"wave-and-bursts", func(d draws) string {
		return fmt.Sprintf("diurnal:low=%.3g,high=30,period=%.0fm,peak=%.0fm+bursty:low=0,high=%.3g,calm=%.0fs,burst=%.0fs+noise:cv=%.2g",
			d.between(5, 20), d.between(60, 240), 120*d.Float64(), d.between(4, 20), d.between(120, 1200), d.between(45, 400),
			d.between(0.02, 0.15))
	}},
	{"wave-and-flash", func(d draws) string {
		return fmt.Sprintf("diurnal:low=%.3g,high=32,period=%.0fm,peak=%.0fm+%s+noise:cv=%.2g,corr=5m", d.between(6, 16), d.between(80, 200),
			120*d.Float64(), d.flash(2.5), d.between(0.03, 0.12))
	}},
	{"growth-and-step", func(d draws) string {
		return fmt.Sprintf("ramp:from=%.3g,to=%.3g+step:from=0,to=%.3g,at=%.0fm+noise:cv=%.2g,corr=2m", d.between(6, 15), d.between(12, 25),
			d.between(4, 15), 20+80*d.Float64(), d.between(0.05, 0.2))
	}},
}

// flash multiplies the load by up to a factor.
func (d draws) flash(most float64) string {
	return fmt.Sprintf("flash:at=%.0fm,factor=%.2g,rise=%.0fs,hold=%.0fm,fall=%.0fm", 10+80*d.Float64(), d.between(1.5, most),
		d.between(20, 300), d.between(3, 25), d.between(1, 15))
}

// drawn are scenes that were chosen by chance: an application, its scale, its SLO (0.6 to 2 times
// as long), a load, nodes that take 25 to 120 s, and in a third of them neighbours. A setting that
// is chosen on a few scenes is judged on these.
func drawn() ([]Scene, error) {
	var all []Scene
	for i := range drawnScenes {
		d := draws{rand.New(rand.NewPCG(drawnSeed, uint64(i)))}
		shape := drawnShapes[i%len(drawnShapes)] // each as often
		scale := math.Round(d.between(4, 16))
		s, err := listed{
			app: drawnApps[d.IntN(len(drawnApps))], scale: scale,
			load: Workload{Name: shape.name, Spec: shape.spec(d), Options: workload.Options{Duration: twoHours}}.surprising(),
			pool: fmt.Sprintf("%s,start=%.0fs", []string{"eks-2", "eks-4", "eks-8"}[d.IntN(3)], d.between(25, 120)),
		}.scene()
		if err != nil {
			return nil, err
		}
		s.Workload.Options.Scale = scale * d.between(0.6, 1.4)
		tight := d.between(0.6, 2)
		s.App = withSLO(s.App, tight)
		if d.Float64() < 1./3 {
			shared := s.Cluster
			use := 0.3 + 0.4*d.Float64()
			shared.Neighbours = pool.Neighbours{Use: use, Request: use}
			if shared.CheckApp(s.App.Model) == nil { // its pods fit beside them
				s.Cluster = shared
			}
		}
		s.Name = fmt.Sprintf("%02d: %s %s slo*%.2f %s %.0f%%", i+1, s.App.Name, shape.name, tight, nodesName(s.Cluster),
			100*s.Cluster.Neighbours.Use)
		all = append(all, s)
	}
	return all, nil
}

// withSLO is an application whose SLOs are longer by a factor.
func withSLO(a App, factor float64) App {
	app := *a.Model
	app.Kinds = slices.Clone(app.Kinds)
	for k := range app.Kinds {
		slo := &app.Kinds[k].SLO.Latency
		*slo = time.Duration(factor * float64(*slo)).Round(time.Millisecond)
	}
	return App{Name: a.Name, Model: &app}
}

// plannerSettings are the planner's own, and others that are the same in all scenes or searched on
// earlier data of each. None starts with a history, since a search cannot either.
func plannerSettings() []Policy {
	var all []Policy
	for _, spec := range []string{
		"planner", "at 100 %: planner:utilisation=100", "at 100 %, 0.5 %: planner:utilisation=100,shortfall=0.5", "planner@calibrated",
	} {
		all = append(all, ParsePolicy(spec))
	}
	return all
}
