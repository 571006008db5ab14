package nodestudy

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
)

// Values are the figures of one run that was played or measured.
type Values map[Figure]float64

// Figure of a run: of a kind of request, or of a service.
type Figure struct{ Of, Name string }

// Names of figures.
const (
	MeanMs, P50Ms, P99Ms, Failed = "mean_ms", "p50_ms", "p99_ms", "failed" // of a kind of request
	CPUSeconds                   = "cpu_s"                                 // of a service, from here on
	Periods, Throttled           = "periods", "throttled"
	NewShare                     = "new_share" // of the work that new pods get, over a window since the change
	ReadyMean, ReadyMax          = "ready_mean_s", "ready_max_s"
	DelayMean, DelayMax          = "delay_mean_s", "delay_max_s"
	Killed                       = "restarts"
)

// ShareWindows end so long after the change of a NewPods run.
var ShareWindows = []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, 40 * time.Second}

// tick at which a run is watched.
const tick = 50 * time.Millisecond

// play is a run in the event engine.
type play struct {
	run    *Run
	engine *event.Engine
	out    Values

	next    int // change
	oldPods int64
	reading sim.Reading
	begun   []readingOf // at WarmUp
	waiting map[int]time.Duration
	delays  []time.Duration
	window  int
	shares  [2]float64 // CPU of new pods and of all, at the last window's end
}

// readingOf a service.
type readingOf struct{ cpu, periods, throttled float64 }

// Play plays a run in the event engine.
func Play(run *Run, seed uint64) Values {
	cfg := sim.Config{App: Measured.With(run.App), CPU: sim.Quota, Seed: seed, WarmUp: run.WarmUp, Load: run, PodStart: sim.MeasuredPodStart()}
	cfg.PodStart.Pull = loadline.Dist{} // images are on the node
	p := &play{run: run, engine: event.New(cfg), out: Values{}, waiting: map[int]time.Duration{}}
	for at := time.Duration(0); at <= run.Length; at += tick {
		p.engine.AdvanceTo(at)
		p.watch(at)
		for p.next < len(run.Changes) && run.Changes[p.next].At <= at {
			p.change(at)
		}
		if at == run.WarmUp {
			p.begun = p.counters()
		}
	}
	p.finish()
	return p.out
}

func (p *play) counters() []readingOf {
	p.engine.Read(&p.reading)
	all := make([]readingOf, len(p.run.App.Services))
	for i := range all {
		of := &p.reading.Services[i].Of
		all[i] = readingOf{of[loadline.ServiceCPU], of[loadline.ServiceQuotaPeriods], of[loadline.ServiceThrottled]}
	}
	return all
}

func (p *play) change(now time.Duration) {
	c := p.run.Changes[p.next]
	if p.next == 0 {
		p.oldPods = p.newestPod()
	}
	p.next++
	p.engine.Apply(loadline.Plan{Services: []loadline.ServicePlan{{Service: c.Service, Setting: c.Setting}}})
	if c.Setting.CPULimit.Set {
		p.waiting[c.Service] = now
	}
}

func (p *play) newestPod() int64 {
	newest := int64(-1)
	cp := p.engine.ControlPlane()
	for _, slot := range cp.Slots(0) {
		newest = max(newest, cp.Pod(slot).ID)
	}
	return newest
}

// finish writes the figures of requests and services. Requests that have not ended with the load are
// followed to their end, as in the measurement.
func (p *play) finish() {
	ended := p.counters()
	restarts := p.engine.Meter().Services[0].Restarts
	p.engine.AdvanceTo(3 * p.run.Length)
	p.engine.Finish()
	for i := range p.run.App.Kinds {
		k := &p.engine.Meter().Kinds[i]
		name := p.run.App.Kinds[i].Name
		p.out[Figure{name, MeanMs}] = k.Latency.Mean() / 1e6
		p.out[Figure{name, P50Ms}] = k.Latency.Quantile(0.5) / 1e6
		p.out[Figure{name, P99Ms}] = k.Latency.Quantile(0.99) / 1e6
		p.out[Figure{name, Failed}] = k.Failed
	}
	for i := range p.run.App.Services {
		s := &p.run.App.Services[i]
		if p.run.Extra == Restarts {
			break // counters end with their container
		}
		p.out[Figure{s.Name, CPUSeconds}] = ended[i].cpu - p.begun[i].cpu
		if s.Size.CPULimit > 0 {
			p.out[Figure{s.Name, Periods}] = ended[i].periods - p.begun[i].periods
			p.out[Figure{s.Name, Throttled}] = ended[i].throttled - p.begun[i].throttled
		}
	}
	first := p.run.App.Services[0].Name
	switch p.run.Extra {
	case Starts:
		p.starts(first)
	case Resizes:
		p.out[Figure{first, DelayMean}], p.out[Figure{first, DelayMax}] = meanAndMax(p.delays)
	case Restarts:
		p.out[Figure{first, Killed}] = restarts
	}
}

// seeds of a prediction: runs of the engine.
const seeds = 15

// Prediction of a figure: the median over runs of the engine, and their central 90 %.
type Prediction struct {
	Question, Run string
	Figure
	Median, Low, High float64
}

// Predict plays a run with several seeds. Figures that no seed has are left out.
func Predict(run *Run) []Prediction {
	all := map[Figure][]float64{}
	for seed := range uint64(seeds) {
		for figure, v := range Play(run, seed) {
			if !math.IsNaN(v) {
				all[figure] = append(all[figure], v)
			}
		}
	}
	var out []Prediction
	for figure, values := range all {
		slices.Sort(values)
		at := func(q float64) float64 { return values[int(math.Round(q*float64(len(values)-1)))] }
		out = append(out, Prediction{run.Question, run.Name, figure, at(0.5), at(0.05), at(0.95)})
	}
	slices.SortFunc(out, func(a, b Prediction) int {
		return cmp.Or(strings.Compare(a.Of, b.Of), strings.Compare(a.Name, b.Name))
	})
	return out
}
