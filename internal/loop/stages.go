package loop

import (
	"time"

	"github.com/loadline/loadline"
)

// Forecaster predicts the rate of visits to each service. A policy whose model
// contains one implements it, and states in Needs.Forecast what it predicts.
type Forecaster interface {
	// Forecast takes the newest observation into account and returns a forecast
	// per service, which is valid until the next call. A service without enough
	// history has an empty one.
	Forecast(now time.Time, window []loadline.Observation) []loadline.Forecast
}

// Splitter splits the end-to-end SLO among the services. A policy whose model
// contains one implements it and sets Needs.PartialSLO.
type Splitter interface {
	// Split returns each service's part of the SLO, which is valid until the next
	// call, or nil if what it depends on was not measured.
	Split(now time.Time, s loadline.Situation) []loadline.SLO
}

// FixedSplit is a split that does not change: one part per service.
type FixedSplit []loadline.SLO

// Split implements Splitter.
func (f FixedSplit) Split(time.Time, loadline.Situation) []loadline.SLO { return f }

// Prepare fills in the forecast and the partial SLOs of a situation, for those
// who ask a policy without a loop.
func Prepare(p loadline.Policy, now time.Time, s *loadline.Situation) {
	forecastFor(p, now, s)
	splitFor(p, now, s)
}

func (l *Loop) forecast(p *Pass) {
	if l.Forecaster != nil {
		p.Situation.Forecast = l.Forecaster.Forecast(p.Decision.At, p.Situation.Window)
	}
	forecastFor(l.Policy, p.Decision.At, &p.Situation)
}

func (l *Loop) split(p *Pass) {
	if l.Splitter != nil {
		p.Situation.PartialSLO = l.Splitter.Split(p.Decision.At, p.Situation)
	}
	splitFor(l.Policy, p.Decision.At, &p.Situation)
}

func forecastFor(p loadline.Policy, now time.Time, s *loadline.Situation) {
	if f, ok := p.(Forecaster); ok && p.Needs().Forecast.Steps > 0 {
		s.Forecast = f.Forecast(now, s.Window)
	}
}

func splitFor(p loadline.Policy, now time.Time, s *loadline.Situation) {
	if f, ok := p.(Splitter); ok && p.Needs().PartialSLO {
		s.PartialSLO = f.Split(now, *s)
	}
}
