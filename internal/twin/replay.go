package twin

import (
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// smoothRequests is how many requests a rate is averaged over before it drives the engine, at
// most two minutes of them: the randomness of counts in short steps is part of the engine's
// queueing already and would count twice.
const smoothRequests = 400

// replayed is the twin's metrics for a stretch of history: by service, one value per step. NaN
// = nothing ended.
type replayed struct {
	cpu, mean, p99 [][]float64
	kindMean       [][]float64 // by kind
	kindP99        [][]float64
}

// replay runs the twin in the fluid engine over the steps [from, to), with the users' requests
// and the replicas of the history, without scaling.
func replay(app *loadline.App, p *past, from, to int) *replayed {
	quick, load, counts := p.replayable(app, from, to)
	engine := fluid.New(sim.Config{App: quick, Load: load, CPU: p.options.CPU}, p.h.Step)
	out := newReplayed(len(app.Services), len(app.Kinds), to-from)
	var before, after sim.Reading
	engine.Read(&before)
	for i := from; i < to; i++ {
		engine.Apply(changes(p, i, counts))
		engine.AdvanceTo(time.Duration(i-from+1) * p.h.Step)
		engine.Read(&after)
		out.take(i-from, &before, &after, p.step)
		before, after = after, before
	}
	return out
}

// replayable is the twin prepared to follow a history: it begins with the replicas of a step,
// and pods start without delay.
func (p *past) replayable(app *loadline.App, from, to int) (*loadline.App, driven, []int) {
	quick := *app
	quick.Nodes = nil // no placement limits: the recorded pods did run
	quick.Services = append([]loadline.Service(nil), app.Services...)
	counts := make([]int, len(quick.Services))
	for i := range quick.Services {
		s := &quick.Services[i]
		s.Startup = loadline.Dist{}
		s.Size.MemoryLimit = 0
		s.Replicas = replicasAt(p, i, from, s.Replicas)
		counts[i] = s.Replicas
	}
	load := driven{step: p.h.Step}
	for _, e := range p.entries {
		load.rates = append(load.rates, smooth(e.rate, from, to, p.step))
	}
	return &quick, load, counts
}

func newReplayed(services, kinds, steps int) *replayed {
	table := func(n int) [][]float64 {
		t := make([][]float64, n)
		for i := range t {
			t[i] = make([]float64, steps)
		}
		return t
	}
	return &replayed{table(services), table(services), table(services), table(kinds), table(kinds)}
}

func (r *replayed) take(i int, before, after *sim.Reading, step float64) {
	for s := range r.cpu {
		a, b := &before.Services[s], &after.Services[s]
		r.cpu[s][i] = (b.Of[loadline.ServiceCPU] - a.Of[loadline.ServiceCPU]) / step
		r.mean[s][i] = (b.Latency.SumSeconds - a.Latency.SumSeconds) / (b.Latency.Count - a.Latency.Count)
		r.p99[s][i] = b.Latency.P99
	}
	for k := range r.kindMean {
		a, b := &before.Kinds[k].Latency, &after.Kinds[k].Latency
		r.kindMean[k][i] = (b.SumSeconds - a.SumSeconds) / (b.Count - a.Count)
		r.kindP99[k][i] = b.P99
	}
}

func replicasAt(p *past, service, step, otherwise int) int {
	if v := value(p.tracks[service].ready, step); v >= 0 {
		return int(math.Round(v))
	}
	return otherwise
}

// changes is the plan that sets every service to the replicas of a step.
func changes(p *past, step int, counts []int) loadline.Plan {
	var plan loadline.Plan
	for i := range counts {
		n := replicasAt(p, i, step, counts[i])
		if n == counts[i] {
			continue
		}
		counts[i] = n
		plan.Services = append(plan.Services, loadline.ServicePlan{Service: i, Setting: loadline.Setting{Replicas: loadline.Some(n)}})
	}
	return plan
}

// driven is a load given step by step.
type driven struct {
	step  time.Duration
	rates [][]float64 // by kind
}

func (d driven) Rate(kind int, t time.Duration) (float64, time.Duration) {
	i := int(t / d.step)
	if i >= len(d.rates[kind]) {
		return 0, sim.Never
	}
	return d.rates[kind][i], time.Duration(i+1) * d.step
}

// smooth averages a rate over enough requests; absent values keep the one before.
func smooth(s history.Series, from, to int, step float64) []float64 {
	out := make([]float64, to-from)
	held := 0.0
	for i := from; i < to; i++ {
		if v := value(s, i); !math.IsNaN(v) {
			held = v
		}
		out[i-from] = held
	}
	usual := mean(out)
	most := int(max(120/step, 1))
	n := most
	if usual > 0 {
		n = min(most, int(math.Ceil(smoothRequests/(usual*step))))
	}
	if n <= 1 {
		return out
	}
	sums := make([]float64, len(out)+1)
	for i, v := range out {
		sums[i+1] = sums[i] + v
	}
	for i := range out {
		a, b := max(0, i-n/2), min(len(out), i-n/2+n)
		out[i] = (sums[b] - sums[a]) / float64(b-a)
	}
	return out
}
