package policytest

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/outlook"
	"github.com/loadline/loadline/internal/policy"
)

// figure is an observed or computed figure with its unit.
var figure = regexp.MustCompile(`[0-9] (%|req/s|requests|replicas?|cores|MiB)`)

// Reasons tests the policy of a spec for the application Modelled: every proposal has a reason
// with a figure in its unit, and every change has with a twin the capacity, the latency and the
// cost that are expected, of the runner-up too.
func Reasons(t *testing.T, spec string) {
	p := newPlayerOn(t, spec, Modelled())
	p.present = 100 // a policy that needs every metric of every service decides too
	if oracle, ok := p.policy.(interface {
		SetFuture(time.Time, time.Duration, policy.Rate, []policy.DemandChange)
	}); ok {
		oracle.SetFuture(start, time.Hour, func(_ int, t time.Duration) (float64, time.Duration) {
			minute := t.Truncate(time.Minute)
			return 100 + 100*minute.Minutes(), minute + time.Minute
		}, nil)
	}
	twin := &outlook.Twin{App: p.app}
	changed := 0
	for range 60 {
		s := p.step(false)
		d := &loadline.Decision{At: p.now, Policy: p.policy.Name()}
		d.Proposal, _ = p.policy.Decide(p.now, s)
		for _, of := range d.Proposal.Services {
			setting, reason := guard.Clamp{}.Check(p.now, s, of.Service, of.Setting)
			if setting != of.Setting {
				d.Changed = append(d.Changed, loadline.GuardChange{Guard: "bounds", Service: of.Service, From: of.Setting, To: setting,
					Reason: reason})
			}
			if change := s.InFlight[of.Service].Changes(setting); !change.Empty() {
				d.Plan.Services = append(d.Plan.Services, loadline.ServicePlan{Service: of.Service, Setting: change})
			}
		}
		twin.Foresee(d, s)
		for _, of := range d.Proposal.Services {
			if !figure.MatchString(of.Reason) || strings.Contains(of.Reason, "%!") {
				t.Fatalf("the reason %q has no figure with its unit", of.Reason)
			}
		}
		for _, of := range d.Plan.Services {
			changed++
			checkSentence(t, decisionlog.Why(d, twin.App, of.Service), s.Now().Services[of.Service].Rate.Present())
		}
		p.follow(d.Proposal, s)
	}
	if _, fixed := p.policy.(*policy.Static); changed == 0 && !fixed {
		t.Error("nothing was changed in 60 decisions under a load that varies")
	}
}

func checkSentence(t *testing.T, why string, measured bool) {
	t.Helper()
	parts := []string{"are not estimated without a twin and a measured load"}
	if measured {
		parts = []string{" req/s", "by the twin the capacity of ", " at this SLO", ": expect ", " USD/h", "Runner-up "}
	}
	for _, part := range append(parts, "Guard ") {
		if !strings.Contains(why, part) {
			t.Fatalf("%q is not in %q", part, why)
		}
	}
}
