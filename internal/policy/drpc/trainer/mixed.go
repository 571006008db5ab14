package trainer

import (
	"time"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/train"
)

// scenario is the subject with the live mix of requests.
func (s *Trainer) scenario() train.Scenario {
	scenario := s.subject
	if s.live != nil {
		scenario.Load = mixed{s.subject.Load, s.live}
	}
	return scenario
}

// mixed is a load with the same total rate and another mix of kinds.
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
