package twin

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
)

// The fluid engine that replays the whole held-out part is an approximation of its own. To
// separate its errors from the twin's, some stretches are also replayed in the event engine,
// from the quietest to the busiest.
const (
	StretchSpan   = 4 * time.Minute
	stretchWarm   = time.Minute
	mostStretches = 5
	stretchVisits = 1_000_000 // of all services in all stretches, maximum; but at least two stretches
)

// stretch is a part of the held-out steps.
type stretch struct {
	from, to int
	visits   float64 // per second
}

// scoreEvents replays stretches in the event engine.
func (t *Twin) scoreEvents(p *past) {
	picked := p.pickStretches()
	runs := make([]*replayed, len(picked))
	var wait sync.WaitGroup
	for i, s := range picked {
		wait.Go(func() { runs[i] = replayEvents(t.App, p, s, uint64(i+1)) })
	}
	wait.Wait()
	for i, tr := range p.tracks {
		var misses [3]misses
		for k, s := range picked {
			w := p.average(tr, s.from, s.to)
			misses[0].add(runs[k].cpu[i][0], w.cpu, false)
			misses[1].add(runs[k].mean[i][0], w.mean, false)
			misses[2].add(runs[k].p99[i][0], w.quantiles[3], false)
		}
		t.Report.Services[i].Events = scores(misses)
	}
	for k, e := range p.entries {
		var means, tails misses
		for i, s := range picked {
			seen := &track{}
			seen.series[0] = e.rate
			means.add(runs[i].kindMean[k][0], weighed(valuesOf(e.mean, s), seen, s.from), false)
			tails.add(runs[i].kindP99[k][0], weighed(valuesOf(e.p99, s), seen, s.from), false)
		}
		t.Report.Kinds[k].EventMean, t.Report.Kinds[k].EventP99 = means.score().All, tails.score().All
	}
	t.Report.Stretches = len(picked)
}

func valuesOf(series []float32, s stretch) []float64 {
	out := make([]float64, s.to-s.from)
	for i := range out {
		out[i] = value(series, s.from+i)
	}
	return out
}

// stretches of the held-out part without gaps, the quietest first.
func (p *past) stretches() []stretch {
	span, warm := p.stepsOf(StretchSpan), p.stepsOf(stretchWarm)
	var all []stretch
	for from := p.cut + warm; from+span <= p.h.Steps; from += span {
		s := stretch{from: from, to: from + span}
		for _, t := range p.tracks {
			w := p.average(t, from-warm, s.to)
			s.visits += w.rate
			if !(w.ready > 0) {
				s.visits = math.NaN()
			}
		}
		if s.visits > 0 {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b stretch) int { return cmp.Compare(a.visits, b.visits) })
	return all
}

// pickStretches selects stretches evenly over the range of loads: the busiest first, then the
// quietest.
func (p *past) pickStretches() []stretch {
	all := p.stretches()
	var picked []stretch
	left := float64(stretchVisits)
	for _, share := range []float64{1, 0, 0.5, 0.75, 0.25}[:min(mostStretches, len(all))] {
		s := all[int(share*float64(len(all)-1))]
		if left -= s.visits * (StretchSpan + stretchWarm).Seconds(); left < 0 && len(picked) >= 2 {
			break
		}
		picked = append(picked, s)
	}
	return picked
}

func (p *past) stepsOf(d time.Duration) int { return max(1, int(math.Ceil(d.Seconds()/p.step))) }

// replayEvents runs one stretch, after a warm-up, and returns its means: one value each.
func replayEvents(app *loadline.App, p *past, s stretch, seed uint64) *replayed {
	from := s.from - p.stepsOf(stretchWarm)
	quick, load, counts := p.replayable(app, from, s.to)
	engine := event.New(sim.Config{App: quick, Load: load, CPU: p.options.CPU, Seed: seed})
	out := newReplayed(len(app.Services), len(app.Kinds), 1)
	var r sim.Reading
	var before kept
	for i := from; i < s.to; i++ {
		if i == s.from {
			engine.Read(&r)
			before.keep(&r)
		}
		engine.Apply(changes(p, i, counts))
		engine.AdvanceTo(time.Duration(i-from+1) * p.h.Step)
	}
	engine.Read(&r)
	seconds := float64(s.to-s.from) * p.step
	for i := range app.Services {
		out.cpu[i][0] = (r.Services[i].Of[loadline.ServiceCPU] - before.cpu[i]) / seconds
		out.mean[i][0], out.p99[i][0] = before.services[i].since(&r.Services[i].Latency)
	}
	for k := range app.Kinds {
		out.kindMean[k][0], out.kindP99[k][0] = before.kinds[k].since(&r.Kinds[k].Latency)
	}
	return out
}

// kept is a copy of a reading.
type kept struct {
	cpu             []float64
	services, kinds []keptLatency
}

type keptLatency struct {
	count, sum float64
	histogram  *sim.Histogram
}

func (k *kept) keep(r *sim.Reading) {
	for i := range r.Services {
		k.cpu = append(k.cpu, r.Services[i].Of[loadline.ServiceCPU])
		k.services = append(k.services, keepLatency(&r.Services[i].Latency))
	}
	for i := range r.Kinds {
		k.kinds = append(k.kinds, keepLatency(&r.Kinds[i].Latency))
	}
}

func keepLatency(l *sim.LatencyReading) keptLatency {
	h := sim.NewHistogram(sim.ExporterBits)
	h.CopyFrom(l.Histogram)
	return keptLatency{l.Count, l.SumSeconds, h}
}

// since is the mean and the 99th percentile of requests that ended since; NaN = none.
func (k *keptLatency) since(l *sim.LatencyReading) (mean, p99 float64) {
	h := sim.NewHistogram(sim.ExporterBits)
	h.CopyFrom(l.Histogram)
	h.Sub(k.histogram)
	return (l.SumSeconds - k.sum) / (l.Count - k.count), h.Quantile(0.99) / 1e9
}
