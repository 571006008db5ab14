package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/workload"
)

const none = "none"

// Perturbation is a named fault of the cluster, the metrics or the load.
type Perturbation struct {
	Name, About string

	run  simulate.Perturb // faults throughout the run
	mid  func(app *loadline.App, at time.Duration) (sim.Disturbance, error)
	load func(app *loadline.App, w *workload.Workload) (*workload.Workload, error)
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
func (p Perturbation) onRun(app *loadline.App, duration time.Duration) (simulate.Perturb, error) {
	run := p.run
	if p.mid != nil {
		d, err := p.mid(app, duration/2)
		if err != nil {
			return run, err
		}
		run.Disturbances = []sim.Disturbance{d}
	}
	return run, nil
}

func heavierVersion(app *loadline.App, at time.Duration) (sim.Disturbance, error) {
	busiest, most := -1, 0.0
	for s, seconds := range apps.Mix(app, apps.CPUSeconds(app)) {
		if seconds > most {
			busiest, most = s, seconds
		}
	}
	if busiest < 0 {
		return sim.Disturbance{}, errors.New("no service uses any CPU")
	}
	return sim.Disturbance{At: at, Version: &sim.VersionChange{Service: busiest, CPUFactor: 2}}, nil
}

func loseNode(app *loadline.App, at time.Duration) (sim.Disturbance, error) {
	if len(app.Nodes) < 2 {
		return sim.Disturbance{}, fmt.Errorf("%s has %d nodes: one that can be lost needs another beside it", app.Name, len(app.Nodes))
	}
	first := 0
	return sim.Disturbance{At: at, LoseNode: &first}, nil
}

// flashCrowd begins after two fifths of the run, so that policies have settled and have time to
// recover.
func flashCrowd(_ *loadline.App, w *workload.Workload) (*workload.Workload, error) {
	const factor, finest = 5, 5 * time.Second
	if w.Step > finest {
		fine, err := w.Resample(finest)
		if err != nil {
			return nil, err
		}
		w = fine
	}
	if w.Duration() < 6*time.Minute {
		return nil, fmt.Errorf("a workload of %v is too short for a crowd that rises within a minute", w.Duration())
	}
	begin := w.Duration() * 2 / 5
	high := begin + time.Minute
	sink := high + w.Duration()/6
	gone := sink + w.Duration()/12
	out := *w
	out.Rates = make([]float64, len(w.Rates))
	for i, r := range w.Rates {
		t := time.Duration(i)*w.Step + w.Step/2
		up := 0.0
		switch {
		case t < begin || t >= gone:
		case t < high:
			up = float64(t-begin) / float64(high-begin)
		case t < sink:
			up = 1
		default:
			up = float64(gone-t) / float64(gone-sink)
		}
		out.Rates[i] = r * (1 + up*(factor-1))
	}
	return &out, nil
}

func shiftMix(app *loadline.App, w *workload.Workload) (*workload.Workload, error) {
	n := len(app.Kinds)
	if n < 2 {
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
	for i := range app.Kinds {
		mix.Shares = append(mix.Shares, app.Kinds[n-1-i].Share)
	}
	out := *w
	out.Mix = mix
	return &out, nil
}
