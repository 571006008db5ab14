package guard

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/loop"
)

// policyRunner calls a policy at its own period, with as many observations as it needs,
// and checks its proposals. Failures of the policy, including panics, become errors.
type policyRunner struct {
	policy loadline.Policy
	strict bool // refuse what is far out of bounds, too

	last     instant
	answer   answer // the latest
	stages   stages
	window   []loadline.Observation
	mentions []bool // by service
}

// stages are what a policy's own forecaster and splitter returned when it was last
// due, or why they failed.
type stages struct {
	forecast            []loadline.Forecast
	parts               []loadline.SLO
	unforecast, unsplit error
}

// answer of a policy.
type answer struct {
	due      bool // it was asked just now
	proposal loadline.Proposal
	err      error
}

// ok reports whether the policy could decide when it was last asked.
func (a answer) ok() bool { return a.err == nil }

// noData reports whether it could not for lack of data.
func (a answer) noData() bool { return errors.Is(a.err, loadline.ErrNoData) }

// isDue reports whether a policy is asked at a tick of the ladder's clock. Ticks
// come a little early or late.
func (q *policyRunner) isDue(at, tick time.Duration) bool {
	return !q.last.within(at, q.policy.Needs().Period-tick/2)
}

// forecast runs the policy's forecaster, if it brings one.
func (q *policyRunner) forecast(now time.Time, tick time.Duration, window []loadline.Observation) {
	f, ok := q.policy.(loop.Forecaster)
	if needs := q.policy.Needs(); ok && needs.Forecast.Steps > 0 {
		q.stages.unforecast = guarded(func() error {
			q.stages.forecast = f.Forecast(now, q.view(needs, tick, window))
			return nil
		})
	}
}

// split runs the policy's splitter. Without one, a policy that uses partial SLOs
// gets those that the loop has.
func (q *policyRunner) split(now time.Time, tick time.Duration, s loadline.Situation) {
	needs := q.policy.Needs()
	if !needs.PartialSLO {
		return
	}
	f, ok := q.policy.(loop.Splitter)
	if !ok {
		q.stages.parts = s.PartialSLO
		return
	}
	s.Window, s.Forecast = q.view(needs, tick, s.Window), q.stages.forecast
	q.stages.unsplit = guarded(func() error {
		q.stages.parts = f.Split(now, s)
		return nil
	})
}

// ask at a tick of the ladder's clock. A policy that is not due is not asked; its
// latest answer stands, without the proposal.
func (q *policyRunner) ask(at time.Duration, now time.Time, tick time.Duration, s loadline.Situation) answer {
	if !q.isDue(at, tick) {
		q.answer.due, q.answer.proposal = false, loadline.Proposal{}
		return q.answer
	}
	q.last.mark(at)
	needs := q.policy.Needs()
	s.Window = q.view(needs, tick, s.Window)
	s.Forecast, s.PartialSLO = q.stages.forecast, q.stages.parts
	var proposal loadline.Proposal
	err := errors.Join(q.stages.unforecast, q.stages.unsplit)
	if err == nil {
		err = guarded(func() (err error) {
			proposal, err = q.policy.Decide(now, s)
			return err
		})
	}
	if err == nil {
		err = q.inspect(s, proposal)
	}
	if err != nil {
		proposal = loadline.Proposal{} // a proposal with an error is not followed in part
	}
	q.answer = answer{due: true, proposal: proposal, err: err}
	return q.answer
}

// guarded calls code of a policy and turns a panic into an error: the model of one
// application must not stop the process that scales all others.
func guarded(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked: %v", r)
		}
	}()
	return call()
}

// view picks from the ladder's window the observations that the policy would
// have made at its own period.
func (q *policyRunner) view(needs loadline.Needs, tick time.Duration, all []loadline.Observation) []loadline.Observation {
	keep, stride := max(needs.Keep, 1), strideOf(needs.Period, tick)
	if stride == 1 {
		return all[max(0, len(all)-keep):]
	}
	n := min(keep, (len(all)-1)/stride+1)
	q.window = q.window[:0]
	for i := n - 1; i >= 0; i-- {
		q.window = append(q.window, all[len(all)-1-i*stride])
	}
	return q.window
}

// strideOf is how many ticks there are from one decision of a policy to the next.
func strideOf(period, tick time.Duration) int {
	if tick <= 0 {
		return 1
	}
	return max(1, int((period+tick/2)/tick))
}

// inspect rejects proposals that are invalid or implausible.
func (q *policyRunner) inspect(s loadline.Situation, p loadline.Proposal) error {
	if len(q.mentions) != len(s.App.Services) {
		q.mentions = make([]bool, len(s.App.Services))
	}
	clear(q.mentions)
	for i := range p.Services {
		sp := &p.Services[i]
		if sp.Service < 0 || sp.Service >= len(q.mentions) {
			return fmt.Errorf("it proposed something for service %d of %d", sp.Service, len(q.mentions))
		}
		service := &s.App.Services[sp.Service]
		if q.mentions[sp.Service] {
			return fmt.Errorf("it proposed two things for service %s", service.Name)
		}
		q.mentions[sp.Service] = true
		for a := range axes {
			switch v, set := a.raw(&sp.Setting); {
			case !set:
			case a.implausible(v):
				return fmt.Errorf("it proposed %v %v for service %s", a, v, service.Name)
			case q.strict && a.isCount() && v > mostReplicas(service.Bounds, s.InFlight[sp.Service].Replicas):
				return fmt.Errorf("it proposed %.0f replicas for service %s, which has %d and may have %d", v, service.Name,
					s.InFlight[sp.Service].Replicas, service.Bounds.MaxReplicas)
			}
		}
	}
	return nil
}

// mostReplicas is the upper bound of a plausible proposal.
func mostReplicas(b loadline.Bounds, now int) float64 {
	if b.MaxReplicas > 0 {
		return 10 * float64(max(b.MaxReplicas, now))
	}
	return 100 * float64(max(now, 10))
}
