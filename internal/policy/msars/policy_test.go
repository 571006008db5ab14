package msars

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy/drpc"
)

func policy(t *testing.T, m *Model, app *loadline.App) *Policy {
	t.Helper()
	p, err := NewPolicy(m, app, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// decide runs the policy's stages first, as the loop does.
func decide(p *Policy, now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	loop.Prepare(p, now, &s)
	return p.Decide(now, s)
}

func TestEveryProposalSaysByWhichPart(t *testing.T) {
	app := shop()
	p := policy(t, single(t, app, drpc.Action{0, 0, 1}), app)
	s := calm(app)
	for at, want := range []string{"split anew since it is the first", "as split at 12:00:00 since it is the first"} {
		now, s := later(s, at)
		proposal, err := decide(p, now, s)
		if err != nil || len(proposal.Services) != 3 {
			t.Fatalf("%+v, %v", proposal, err)
		}
		for _, of := range proposal.Services {
			for _, part := range []string{"req/s, load at", "% of its part p99", "by parslo", want, "the network chose 3 replicas"} {
				if !strings.Contains(of.Reason, part) {
					t.Errorf("%q does not say %q", of.Reason, part)
				}
			}
			if of.Setting.Replicas.Or(0) != 3 {
				t.Errorf("%+v", of.Setting)
			}
		}
	}
}

func TestAVerticalMoveSplitsAnewAtOnce(t *testing.T) {
	app := shop()
	p := policy(t, single(t, app, drpc.Action{1, 0, 0}), app)
	s := calm(app)
	s.InFlight[0].Size.CPULimit, s.InFlight[2].Size.CPULimit = 2, 2 // at the maximum
	s.InFlight[0].Size.CPURequest, s.InFlight[2].Size.CPURequest = 2, 2
	proposal, err := decide(p, noon, s)
	if err != nil || len(proposal.Services) != 1 || proposal.Services[0].Service != 1 {
		t.Fatalf("%+v, %v", proposal, err)
	}
	limit := proposal.Services[0].Setting.CPULimit.Or(0)
	if divisions, _ := p.Divider().Divisions(); divisions != 2 || !(limit > 0.5) {
		t.Errorf("%d divisions, limit %v", divisions, limit)
	}
	for _, want := range []string{"the network chose a CPU request of 0.699 cores",
		"split anew since cart was resized from 0.5 to 0.699 cores: its part becomes "} {
		if !strings.Contains(proposal.Services[0].Reason, want) {
			t.Errorf("%q does not say %q", proposal.Services[0].Reason, want)
		}
	}
	// The proposal was applied: nothing is left to split. What was rejected was not.
	now, next := later(s, 1)
	next.InFlight[1] = next.InFlight[1].With(proposal.Services[0].Setting)
	before := p.Divider().Parts()[1].Own
	if anew, err := p.divider.Update(now, next.Now(), next.InFlight); err != nil || anew {
		t.Errorf("split again: %v, %v", anew, err)
	}
	next.InFlight[1] = s.Allocation[1]
	if anew, err := p.divider.Update(now, next.Now(), next.InFlight); err != nil || !anew || p.Divider().Parts()[1].Own == before {
		t.Errorf("not split again for what was refused: %v, %v", anew, err)
	}
}

func TestTheMonitorsAlarmSplitsAnew(t *testing.T) {
	app := shop()
	p := policy(t, single(t, app, drpc.Action{0, 0, 0}), app)
	s := calm(app)
	for i := range s.Window[0].Services { // many visits, so that every window is significant
		s.Window[0].Services[i].Rate.Value *= 1.5
		each := s.Window[0].Services[i].Rate.Value / 2
		s.Window[0].Services[i].Own.P99.Value = fits(&app.Services[i], each)
	}
	windows := 0
	for range 20 {
		now, s := later(s, windows)
		if _, err := decide(p, now, s); err != nil {
			t.Fatal(err)
		}
		windows++
	}
	if divisions, _ := p.Divider().Divisions(); divisions != 1 {
		t.Fatalf("%d divisions while nothing changed", divisions)
	}
	before := p.Divider().Parts()[1].Own
	// A release of the cart: visits take twice the work.
	each := s.Window[0].Services[1].Rate.Value / 2
	s.Window[0].Services[1].Own.P99.Value = 2 * fits(&app.Services[1], 2*each)
	noticed := 0
	for after := 1; after <= 10 && noticed == 0; after++ {
		now, s := later(s, windows)
		if _, err := decide(p, now, s); err != nil {
			t.Fatal(err)
		}
		windows++
		if divisions, _ := p.Divider().Divisions(); divisions > 1 {
			noticed = after
		}
	}
	why, _ := p.Divider().Why()
	if noticed == 0 || !strings.Contains(why, "the profile of cart changed") || p.Divider().Parts()[1].Own == before {
		t.Errorf("noticed after %d windows: %q", noticed, why)
	}
	if work := p.divider.work[1]; work < 1.7 || work > 2.3 {
		t.Errorf("a visit takes %.2f times the work, want 2", work)
	}
}

func TestWhatIsNotMeasuredHolds(t *testing.T) {
	app := shop()
	m := single(t, app, drpc.Action{0, 0, 1})
	for name, hide := range map[string]func(o *loadline.Observation){
		"a rate":     func(o *loadline.Observation) { o.Services[1].Rate = loadline.Sample{} },
		"CPU":        func(o *loadline.Observation) { o.Services[0].CPU = loadline.Sample{} },
		"memory":     func(o *loadline.Observation) { o.Services[2].Memory = loadline.Sample{} },
		"everything": func(o *loadline.Observation) { clear(o.Services) },
	} {
		p := policy(t, m, app)
		s := calm(app)
		hide(&s.Window[0])
		if proposal, err := decide(p, noon, s); !errors.Is(err, loadline.ErrNoData) || len(proposal.Services) > 0 {
			t.Errorf("without %s: %+v, %v", name, proposal, err)
		}
	}
	// Without its own latency, the latency with calls is used.
	p := policy(t, m, app)
	s := calm(app)
	s.Window[0].Services[0].Own = loadline.Latency{}
	if _, err := decide(p, noon, s); err != nil {
		t.Error(err)
	}
	want := s.Window[0].Services[0].Latency.P99.Value / p.Divider().Parts()[0].WithCalls
	if got := p.steering.encoder.over[0]; got != want {
		t.Errorf("%v of its part, want %v", got, want)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	app := shop()
	m := single(t, app, drpc.Action{0, 0, 1})
	m.Training = modelfile.Training{Data: "a test", Seed: 3}
	path := filepath.Join(t.TempDir(), "msars.safetensors")
	if err := m.Write(path); err != nil {
		t.Fatal(err)
	}
	back, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var proposals [2]loadline.Proposal
	for i, m := range []*Model{m, back} {
		if proposals[i], err = decide(policy(t, m, app), noon, calm(app)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range proposals[0].Services {
		if proposals[0].Services[i] != proposals[1].Services[i] {
			t.Errorf("%+v, was %+v", proposals[1].Services[i], proposals[0].Services[i])
		}
	}
	if back.Division.Factors["buy"] != 1.2 || back.Period != m.Period || back.Training.Seed != 3 {
		t.Errorf("%+v", back)
	}
}

func TestUnfitModelsAreRefused(t *testing.T) {
	app := shop()
	foreign := modelfile.New(modelfile.Card{Kind: "policy/drpc"})
	if _, err := FromFile(foreign); err == nil || !strings.Contains(err.Error(), "loadline train --formulation msars") {
		t.Errorf("%v", err)
	}
	m := single(t, app, drpc.Action{})
	m.Division.Way, m.Period, m.Division.Factors = "guess", time.Millisecond, map[string]float64{"buy": -1}
	file, err := m.File()
	if err != nil {
		t.Fatal(err)
	}
	_, err = FromFile(file)
	for _, want := range []string{`unknown way to split "guess"`, "its period is 1ms", "buy may sum to -1", "train it again"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
