package fluid

import "github.com/loadline/loadline/internal/sim"

// callsMade is what callers measure of their calls. Calls that ended since the distribution of
// their tree last changed are pending: they are counted with its mean when it changes, as the
// latencies of services are.
type callsMade struct {
	made    []sim.CallReading // by edge
	pending []float64         // by node: calls that ended, not yet counted
	below   []float64         // by node: share whose own calls succeed
}

func newCallsMade(p *program) callsMade {
	c := callsMade{
		made:    make([]sim.CallReading, p.edges),
		pending: make([]float64, len(p.nodes)), below: make([]float64, len(p.nodes)),
	}
	for i := range c.below {
		c.below[i] = 1
	}
	return c
}

// countRefused counts refused calls, which take no time.
func (e *Engine) countRefused(n int32, refused float64) {
	if edge := e.p.edgeOf[n]; edge >= 0 {
		m := &e.calls.made[edge]
		m.Count += refused
		m.Failed += refused
	}
}

// flushCalls counts the calls that were served with a call tree's distribution until now.
func (e *Engine) flushCalls(shape int) {
	mean := e.whole[shape].mean
	for _, n := range e.p.withShape[shape] {
		ended := e.calls.pending[n]
		if ended == 0 {
			continue
		}
		e.calls.pending[n] = 0
		if edge := e.p.edgeOf[n]; edge >= 0 {
			m := &e.calls.made[edge]
			m.Count += ended
			m.SumSeconds += ended * mean
		}
	}
}

// countFailed counts those calls of a step that fail because a call of their own failed.
func (e *Engine) countFailed(n int32, left float64) {
	if edge := e.p.edgeOf[n]; edge >= 0 {
		e.calls.made[edge].Failed += left * (1 - e.calls.below[n])
	}
}
