package bench

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/workload"
)

const none = "none"

// Perturbation is a named fault of the cluster, the metrics or the load.
type Perturbation struct {
	Name, About string

	run  simulate.Perturb // faults throughout the run
	mid  func(app *loadline.App, at time.Duration) ([]sim.Disturbance, error)
	load func(app *loadline.App, w *workload.Workload) (*workload.Workload, error)
	// announced events of a run.
	announced func(duration time.Duration) []loadline.Event
	// neighbours of the run, of those of the scene.
	neighbours func(n pool.Neighbours, duration time.Duration) pool.Neighbours
}

// Perturbations in the order of tables.
func Perturbations() []Perturbation {
	return []Perturbation{
		{Name: none, About: "nothing goes wrong"},
		{Name: "late-1", About: "metrics come one scrape late", run: simulate.Perturb{MetricsLate: 1}},
		{Name: "late-4", About: "metrics come four scrapes late", run: simulate.Perturb{MetricsLate: 4}},
		{Name: "lost-10", About: "one scrape in ten is lost", run: simulate.Perturb{MetricsLoss: 0.1}},
		{Name: "cpu-noise", About: "CPU readings are off by 30 %, either way", run: simulate.Perturb{CPUNoise: 0.3}},
		{Name: "slow-start", About: "pods take four times as long to start", run: simulate.Perturb{SlowStart: 4}},
		{Name: "version-2x", About: "in mid-run the service that uses most CPU gets a version that uses twice as much",
			mid: heavierVersion},
		{Name: "node-lost", About: "in mid-run a node is gone, and its pods with it", mid: loseNode},
		{Name: "flash-5x", About: "five times the load within a minute, for a sixth of the run", load: flashCrowd},
		{Name: "mix-shift", About: "in mid-run the kinds of requests swap their shares, the first with the last", load: shiftMix},
		{Name: "mix-dear", About: "in mid-run the kind of request that needs most CPU becomes half of all", load: dearMix},
		{Name: "sale", About: "in mid-run three times the load within five minutes, for a quarter of the run, as it was announced",
			load: onSale, announced: announceSale},
		{Name: "growth", About: "the load is 22 % above what settings were calibrated with: 5 % a week, four weeks later", load: grow},
		{Name: "neighbours-wake", About: "in mid-run the neighbours use 85 % of the nodes", neighbours: wake},
		{Name: "wrong-twin", About: "the application model that policies have needs half of the CPU time", run: simulate.Perturb{Twin: 0.5}},
		{Name: "retry-storm", About: "clients give up after four times the SLO's latency and retry twice; in mid-run the service that uses " +
			"most CPU needs five times as much for a minute", mid: slowMinute,
			run: simulate.Perturb{Clients: &simulate.Clients{Patience: 4, Retries: loadline.Retries{Attempts: 2, Backoff: 100 * time.Millisecond}}}},
		{Name: "release-week-1", About: "after three sevenths of the run the service that uses most CPU needs 30 % more",
			mid: releases(release{3. / 7, firstRelease})},
		{Name: "release-week-2", About: "after two sevenths of the run the service that uses most CPU needs 25 % more",
			mid: releases(release{2. / 7, secondRelease})},
		{Name: "release-week-2-stale", About: "the same, and 30 % more from the start than at calibration",
			mid: releases(release{0, firstRelease}, release{2. / 7, secondRelease})},
	}
}

// PerturbationNames lists them.
func PerturbationNames() []string {
	var names []string
	for _, p := range Perturbations() {
		names = append(names, p.Name)
	}
	return names
}

func perturbationNamed(name string) (Perturbation, error) {
	for _, p := range Perturbations() {
		if p.Name == name {
			return p, nil
		}
	}
	return Perturbation{}, fmt.Errorf("unknown perturbation %q%s", name, suggest.Hint(name, PerturbationNames()))
}

// onLoad is the workload under the perturbation.
func (p Perturbation) onLoad(app *loadline.App, w *workload.Workload) (*workload.Workload, error) {
	if p.load == nil {
		return w, nil
	}
	return p.load(app, w)
}

// onRun is the perturbation of the metrics and the cluster.
func (p Perturbation) onRun(app *loadline.App, cluster pool.Cluster, duration time.Duration) (simulate.Perturb, error) {
	run := p.run
	if p.neighbours != nil {
		n := p.neighbours(cluster.Neighbours, duration)
		run.Neighbours = &n
	}
	if p.mid != nil {
		var err error
		if run.Disturbances, err = p.mid(app, duration/2); err != nil {
			return run, err
		}
	}
	return run, nil
}

// awake is the share of the nodes that neighbours use after they have woken up.
const awake = 0.85

// wake leaves the neighbours as they are for the first half of the run. What they request stays.
func wake(n pool.Neighbours, duration time.Duration) pool.Neighbours {
	before := n.Use
	n.Use = awake
	n.Shape = pool.Shape{Name: "wake", Step: duration/2 + 1, Factor: []float64{before / awake, 1}}
	return n
}

func heavierVersion(app *loadline.App, at time.Duration) ([]sim.Disturbance, error) {
	s, err := apps.Busiest(app)
	return []sim.Disturbance{{At: at, Version: &sim.VersionChange{Service: s, CPUFactor: 2}}}, err
}

// Releases of a season, as factors on the CPU time of the service that uses most.
const (
	firstRelease  = 1.3
	secondRelease = 1.25
)

// release of the service that uses most CPU, after a share of the run.
type release struct{ after, factor float64 }

func releases(all ...release) func(*loadline.App, time.Duration) ([]sim.Disturbance, error) {
	return func(app *loadline.App, middle time.Duration) ([]sim.Disturbance, error) {
		s, err := apps.Busiest(app)
		var list []sim.Disturbance
		for _, r := range all {
			at := time.Duration(r.after * 2 * float64(middle))
			list = append(list, sim.Disturbance{At: at, Version: &sim.VersionChange{Service: s, CPUFactor: r.factor}})
		}
		return list, err
	}
}

// slowMinute is what a cold cache or a lock does to a service.
func slowMinute(app *loadline.App, at time.Duration) ([]sim.Disturbance, error) {
	const factor = 5
	s, err := apps.Busiest(app)
	return []sim.Disturbance{
		{At: at, Version: &sim.VersionChange{Service: s, CPUFactor: factor}},
		{At: at + time.Minute, Version: &sim.VersionChange{Service: s, CPUFactor: 1. / factor}},
	}, err
}

// saleFactor is on the load while a sale lasts.
const saleFactor = 3

// onSale begins in mid-run.
func onSale(_ *loadline.App, w *workload.Workload) (*workload.Workload, error) {
	return crowd(w, w.Duration()/2, saleFactor, 5*time.Minute, w.Duration()/4, 5*time.Minute)
}

// announceSale gives the time from its begin to the end of its height.
func announceSale(duration time.Duration) []loadline.Event {
	begin := duration / 2
	return []loadline.Event{{
		Name: "sale", Start: sim.Time(begin), End: sim.Time(begin + 5*time.Minute + duration/4), Factor: saleFactor,
	}}
}

// grow by 5 % a week for four weeks.
func grow(_ *loadline.App, w *workload.Workload) (*workload.Workload, error) {
	factor := math.Pow(1.05, 4)
	out := *w
	out.Rates = make([]float64, len(w.Rates))
	for i, r := range w.Rates {
		out.Rates[i] = r * factor
	}
	return &out, nil
}

func loseNode(app *loadline.App, at time.Duration) ([]sim.Disturbance, error) {
	if len(app.Nodes) < 2 {
		return nil, fmt.Errorf("%s has %d nodes: one that can be lost needs another beside it", app.Name, len(app.Nodes))
	}
	first := 0
	return []sim.Disturbance{{At: at, LoseNode: &first}}, nil
}

// flashCrowd begins after two fifths of the run, so that policies have settled and have time to
// recover.
func flashCrowd(_ *loadline.App, w *workload.Workload) (*workload.Workload, error) {
	return crowd(w, w.Duration()*2/5, 5, time.Minute, w.Duration()/6, w.Duration()/12)
}

// crowd multiplies the load from an instant on: it rises to the factor, holds it and falls.
func crowd(w *workload.Workload, begin time.Duration, factor float64, rise, hold, fall time.Duration) (*workload.Workload, error) {
	const finest = 5 * time.Second
	if w.Step > finest {
		fine, err := w.Resample(finest)
		if err != nil {
			return nil, err
		}
		w = fine
	}
	if w.Duration() < 6*rise {
		return nil, fmt.Errorf("a workload of %v is too short for a crowd that rises within %v", w.Duration(), rise)
	}
	high := begin + rise
	sink := high + hold
	gone := sink + fall
	out := *w
	out.Rates = make([]float64, len(w.Rates))
	for i, r := range w.Rates {
		t := time.Duration(i)*w.Step + w.Step/2
		up := 0.0
		switch {
		case t < begin || t >= gone:
		case t < high:
			up = float64(t-begin) / float64(rise)
		case t < sink:
			up = 1
		default:
			up = float64(gone-t) / float64(fall)
		}
		out.Rates[i] = r * (1 + up*(factor-1))
	}
	return &out, nil
}

func shiftMix(app *loadline.App, w *workload.Workload) (*workload.Workload, error) {
	n := len(app.Kinds)
	later := make([]float64, n)
	for i := range app.Kinds {
		later[i] = app.Kinds[n-1-i].Share
	}
	return mixLater(app, w, later)
}

// dearMix gives the kind with most CPU time of a request as many requests as all others together.
func dearMix(app *loadline.App, w *workload.Workload) (*workload.Workload, error) {
	later := make([]float64, len(app.Kinds))
	sum, dearest, most := 0.0, 0, 0.0
	for k, byService := range apps.CPUSeconds(app) {
		later[k] = app.Kinds[k].Share
		sum += later[k]
		seconds := 0.0
		for _, s := range byService {
			seconds += s
		}
		if seconds > most {
			dearest, most = k, seconds
		}
	}
	later[dearest] = sum - later[dearest]
	return mixLater(app, w, later)
}

// mixLater changes the shares of the kinds in mid-run.
func mixLater(app *loadline.App, w *workload.Workload, later []float64) (*workload.Workload, error) {
	if len(app.Kinds) < 2 {
		return nil, fmt.Errorf("%s has one kind of request: there is no mix to shift", app.Name)
	}
	if w.Mix != nil {
		return nil, fmt.Errorf("workload %s has a mix of its own: there is no telling what a shifted one would be", w.Name)
	}
	mix := &workload.Mix{Step: w.Duration()/2 + 1}
	for _, k := range app.Kinds {
		mix.Kinds = append(mix.Kinds, k.Name)
		mix.Shares = append(mix.Shares, k.Share)
	}
	mix.Shares = append(mix.Shares, later...)
	out := *w
	out.Mix = mix
	return &out, nil
}
