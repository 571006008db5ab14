package guard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/loop"
)

// staged is a policy that brings a forecaster and a splitter, and keeps what it was
// shown.
type staged struct {
	period    time.Duration
	forecasts int // calls
	panics    string
	seen      loadline.Situation
}

func (p *staged) Name() string { return "staged" }
func (p *staged) Needs() loadline.Needs {
	return loadline.Needs{Period: p.period, Forecast: loadline.Horizon{Step: time.Minute, Steps: 1}, PartialSLO: true}
}

func (p *staged) Forecast(now time.Time, window []loadline.Observation) []loadline.Forecast {
	if p.panics == "forecast" {
		panic("no weights")
	}
	p.forecasts++
	rate := window[len(window)-1].Services[0].Rate
	return []loadline.Forecast{{Step: time.Minute, Median: []loadline.Sample{{Value: 2 * rate.Value, At: now}}}}
}

func (p *staged) Split(time.Time, loadline.Situation) []loadline.SLO {
	if p.panics == "split" {
		panic("no profiles")
	}
	return []loadline.SLO{{Percentile: 99, Latency: time.Second}}
}

func (p *staged) Decide(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
	p.seen = s
	return loadline.Proposal{}, nil
}

// plain is a policy without stages.
type plain struct{ seen loadline.Situation }

func (p *plain) Name() string          { return "plain" }
func (p *plain) Needs() loadline.Needs { return loadline.Needs{Period: 15 * time.Second} }
func (p *plain) Decide(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
	p.seen = s
	return loadline.Proposal{}, nil
}

// tick prepares and asks the ladder as the loop does.
func tick(sc *fixture, l *guard.Ladder) loadline.Situation {
	sc.observe(100, 5, 0)
	s := sc.Situation
	loop.Prepare(l, sc.now, &s)
	_, _ = l.Decide(sc.now, s)
	sc.later(15 * time.Second)
	return s
}

func TestStagesRunWhenTheirPolicyIsDue(t *testing.T) {
	model, rule := &staged{period: time.Minute}, &plain{}
	l := guard.NewLadder(guard.Defaults(), webApp(), model, rule)
	sc := newFixture()
	for range 8 {
		s := tick(sc, l)
		if len(s.Forecast) != 1 || len(s.PartialSLO) != 1 {
			t.Fatalf("the record has forecast %+v and parts %+v", s.Forecast, s.PartialSLO)
		}
	}
	if model.forecasts != 2 {
		t.Errorf("forecast %d times in two minutes, want once a minute", model.forecasts)
	}
	if len(model.seen.Forecast) != 1 || model.seen.Forecast[0].Median[0].Value != 200 || len(model.seen.PartialSLO) != 1 {
		t.Errorf("the model sees %+v and %+v", model.seen.Forecast, model.seen.PartialSLO)
	}
	if rule.seen.Forecast != nil || rule.seen.PartialSLO != nil {
		t.Errorf("the rule sees the model's forecast %+v and parts %+v", rule.seen.Forecast, rule.seen.PartialSLO)
	}
}

func TestAStageThatPanicsIsTheModelsFault(t *testing.T) {
	for _, stage := range []string{"forecast", "split"} {
		model := &staged{period: 15 * time.Second, panics: stage}
		l := guard.NewLadder(guard.Defaults(), webApp(), model, &plain{})
		sc := newFixture()
		for range 3 {
			tick(sc, l)
		}
		if s := l.State(); s.Rung != guard.Rule || !strings.Contains(s.Why, "failed 3 times") || !strings.Contains(s.Why, "it panicked") {
			t.Errorf("%s: %v, %s", stage, s.Rung, s.Why)
		}
		model.panics = ""
		for range 50 {
			tick(sc, l)
		}
		if s := l.State(); s.Rung != guard.Primary {
			t.Errorf("%s: still %v after twelve minutes: %s", stage, s.Rung, s.Why)
		}
	}
}
