package twin

import (
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
	"github.com/loadline/loadline/internal/sim/pool"
)

// The visits of all services in one simulation, and in all of them, at most: forty services take
// a minute and not an hour.
const (
	sensitiveVisits = 300_000
	sensitiveTotal  = 20_000_000
)

// sensitivity simulates stretches of the held-out part in the event engine, with the recorded
// requests of users and the recorded replicas, once for each end of each range.
func (t *Twin) sensitivity(p *past) {
	picked := p.sensitiveStretches(min(sensitiveVisits, sensitiveTotal/(1+2*len(t.Ranges))))
	if len(picked) == 0 {
		return
	}
	type run struct {
		into    **Effect
		app     *loadline.App
		cluster pool.Cluster
	}
	var likely *Effect
	runs := []run{{&likely, t.App, t.Cluster}}
	for i := range t.Ranges {
		r := &t.Ranges[i]
		for _, end := range []struct {
			value float64
			into  **Effect
		}{{r.Low, &r.AtLow}, {r.High, &r.AtHigh}} {
			if end.value == r.Likely {
				continue // it is the likely run
			}
			app, cluster := t.With(*r, end.value)
			runs = append(runs, run{end.into, app, cluster})
		}
	}
	next := make(chan run)
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(runs)) {
		wait.Go(func() {
			for r := range next {
				*r.into = p.effect(r.app, r.cluster, picked)
			}
		})
	}
	for i, r := range runs {
		next <- r
		progress(p.options, 0.8+0.2*float64(i)/float64(len(runs)))
	}
	close(next)
	wait.Wait()
	for i := range t.Ranges {
		r := &t.Ranges[i]
		r.AtLikely = likely
		if r.AtLow == nil {
			r.AtLow = likely
		}
		if r.AtHigh == nil {
			r.AtHigh = likely
		}
	}
}

// sensitiveStretches are the busiest stretch, the one at three quarters of the loads, and the one
// in which most replicas started, as far as their visits allow; the first in any case.
func (p *past) sensitiveStretches(visits int) []stretch {
	all := p.stretches()
	if len(all) == 0 {
		return nil
	}
	growing, most := all[len(all)-1], 0.0
	for _, s := range all {
		started := 0.0
		for _, t := range p.tracks {
			for i := s.from + 1; i < s.to; i++ {
				if up := t.at(history.Desired, i) - t.at(history.Desired, i-1); up > 0 {
					started += up
				}
			}
		}
		if started > most {
			growing, most = s, started
		}
	}
	var picked []stretch
	left := float64(visits)
	for _, s := range []stretch{all[len(all)-1], growing, all[(len(all)-1)*3/4]} {
		known := false
		for _, other := range picked {
			known = known || other == s
		}
		if left -= s.visits * (StretchSpan + stretchWarm).Seconds(); known || left < 0 && len(picked) > 0 {
			continue
		}
		picked = append(picked, s)
	}
	return picked
}

// effect runs an application over stretches, one after the other.
func (p *past) effect(app *loadline.App, cluster pool.Cluster, picked []stretch) *Effect {
	ended, over, cores, bill, span := 0.0, 0.0, 0.0, 0.0, time.Duration(0)
	for i, s := range picked {
		from := s.from - p.stepsOf(stretchWarm)
		quick, load, counts := p.replayable(app, from, s.to)
		for k := range quick.Services {
			quick.Services[k].Startup = app.Services[k].Startup
		}
		quick.Nodes = app.Nodes
		warm := time.Duration(s.from-from) * p.h.Step
		engine := event.New(sim.Config{App: quick, Load: load, CPU: p.options.CPU, Seed: uint64(i + 1), Cluster: cluster, WarmUp: warm})
		for at := from; at < s.to; at++ {
			engine.Apply(p.wanted(at, counts))
			engine.AdvanceTo(time.Duration(at-from+1) * p.h.Step)
		}
		engine.Finish()
		m := engine.Meter()
		for k := range m.Kinds {
			ended += m.Kinds[k].Ended
			over += m.Kinds[k].Over
		}
		for k := range m.Services {
			cores += m.Services[k].CoreSeconds
		}
		bill += m.Bill
		span += time.Duration(s.to-from) * p.h.Step
	}
	if ended == 0 {
		ended = math.NaN()
	}
	return &Effect{OverSLO: Number(over / ended), Cores: Number(cores / span.Seconds()), Bill: Number(bill / span.Hours())}
}

// wanted is the plan that asks for the replicas that were asked for in a step, or else those that
// served: pods then start as the twin's do.
func (p *past) wanted(step int, counts []int) loadline.Plan {
	var plan loadline.Plan
	for i := range counts {
		n := replicasAt(p, i, step, counts[i])
		if v := p.tracks[i].at(history.Desired, step); v >= 0 {
			n = int(math.Round(v))
		}
		if n == counts[i] {
			continue
		}
		counts[i] = n
		plan.Services = append(plan.Services, loadline.ServicePlan{Service: i, Setting: loadline.Setting{Replicas: loadline.Some(n)}})
	}
	return plan
}
