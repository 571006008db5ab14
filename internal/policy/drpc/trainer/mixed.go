package trainer

import (
	"time"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/sim"
)

// load of the world: the subject's, with the mix of requests that is lived with.
func (s *School) load() sim.Arrivals {
	if s.live == nil {
		return s.subject.Load
	}
	return mixed{s.subject.Load, s.live}
}

// mixed is a load with as many requests, of other kinds.
type mixed struct {
	load sim.Arrivals
	mix  drpc.Mix
}

// Rate implements sim.Arrivals.
func (m mixed) Rate(kind int, t time.Duration) (perSecond float64, until time.Duration) {
	until = sim.Never
	for k := range m.mix {
		rate, end := m.load.Rate(k, t)
		perSecond += rate
		until = min(until, end)
	}
	return perSecond * m.mix[kind], until
}
