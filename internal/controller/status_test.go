package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/kedascaler"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/resource"
)

// tell makes the view of one pass in which a service is to be set.
func (s *stage) tell(t *testing.T, c *cluster, plan loadline.Plan, err error, with ...func(*loadline.Decision)) *view {
	t.Helper()
	var o loadline.Observation
	if err := c.Observe(context.Background(), &o); err != nil {
		t.Fatal(err)
	}
	o.Kinds[0] = loadline.KindObservation{
		Rate: loadline.Sample{Value: 40, At: s.now}, OverSLO: loadline.Sample{Value: 0.002,
			At: s.now}, AtSLO: loadline.Sample{Value: 0.2, At: s.now},
	}
	d := &loadline.Decision{At: s.now, Plan: plan}
	for _, p := range plan.Services {
		d.Proposal.Services = append(d.Proposal.Services, loadline.ServiceProposal{Service: p.Service, Setting: p.Setting,
			Reason: "CPU is at 90 %"})
	}
	situation := loadline.Situation{App: c.app.App, Window: []loadline.Observation{o}, Allocation: c.Allocation(nil)}
	if err == nil {
		err = c.Apply(context.Background(), plan)
	}
	d.Err = err
	for _, change := range with {
		change(d)
	}
	v := newView(c.app, c, &loop.Pass{Situation: situation, Decision: *d})
	v.ladder, v.policy = guard.State{Rung: guard.Primary, Since: noon}, "hpa"
	return v
}

func setWeb(n int) loadline.Plan {
	return loadline.Plan{Services: []loadline.ServicePlan{{Service: 0, Setting: replicas(n)}}}
}

var sound = decider{policy: observer{}, name: "hpa"}

// TestStatusSaysWhy: the status and the Event have the sentence of the decision log.
func TestStatusSaysWhy(t *testing.T) {
	s, c := newStage(t)
	var want string
	v := s.tell(t, c, setWeb(5), nil, func(d *loadline.Decision) {
		d.Changed = []loadline.GuardChange{{Guard: "step", From: replicas(9), To: replicas(5), Reason: "at most 2 more at a time"}}
		d.Outlook = &loadline.Outlook{Currency: "USD", Services: []loadline.ServiceOutlook{{
			Load: 420, Ahead: time.Minute, Part: loadline.SLO{Percentile: 99, Latency: 80 * time.Millisecond}, Users: -1,
			Before:   loadline.Estimate{Allocation: loadline.Allocation{Replicas: 3}, Capacity: 228, PerHour: 0.03},
			Planned:  loadline.Estimate{Allocation: loadline.Allocation{Replicas: 5}, Capacity: 440, Latency: 40 * time.Millisecond, PerHour: 0.05},
			RunnerUp: loadline.Estimate{Allocation: loadline.Allocation{Replicas: 4}, Capacity: 330, PerHour: 0.04},
		}}}
		want = decisionlog.Why(d, c.app.App, 0)
	})
	web := v.status(s.l, sound, nil).Services[0]
	for _, part := range []string{"CPU is at 90 %. Guard step cut that to 5 replicas: at most 2 more at a time. ",
		"Forecast 420 req/s within 60 s; ",
		"by the twin the capacity of 3 replicas is 228 req/s at this SLO, of 5 replicas 440 req/s: expect p99 of a visit 40 ms of 80 ms",
		" at 0.05 USD/h, 0.02 USD/h more. Runner-up 4 replicas: capacity 330 req/s, too little, 0.01 USD/h less"} {
		if !strings.Contains(web.Why, part) {
			t.Errorf("%q is not in %q", part, web.Why)
		}
	}
	if web.Why != want || v.why(0) != want {
		t.Errorf("the status has %q, the log %q", web.Why, want)
	}
}

func TestStatusOfAPass(t *testing.T) {
	s, c := newStage(t)
	status := s.tell(t, c, setWeb(5), nil).status(s.l, sound, nil)
	web := status.Services[0]
	if *web.Wanted.Replicas != 5 || *web.Applied.Replicas != 5 || web.State != v1alpha1.ServiceMoved || web.LastChangeTime == nil ||
		web.Why != "CPU is at 90 %. Guard allows it. Capacity, latency and cost are not estimated without a twin and a measured load" {
		t.Errorf("web: %+v", web)
	}
	if web.Seen.Rate != "10" || *web.Seen.ReadyReplicas != 3 || web.Seen.CPU != nil {
		t.Errorf("seen: %+v", web.Seen)
	}
	if status.SLOMet != "True" || status.Objectives[0].OverSLO != "0.8" || !*status.Objectives[0].Met {
		t.Errorf("objectives: %s %+v", status.SLOMet, status.Objectives)
	}
	if status.ServicesMoved != "3/3" || status.Policy != "hpa" || status.Ladder.Rung != v1alpha1.RungPrimary {
		t.Errorf("%+v", status)
	}
	expectConditions(t, status, "Ready=True/Deciding", "Active=True/Acting", "Fallback=False/Following", "Paused=False/NotPaused",
		"Conflict=False/NoConflict", "Stale=False/Fresh")
}

func expectConditions(t *testing.T, status v1alpha1.LoadLineStatus, want ...string) {
	t.Helper()
	for _, w := range want {
		kind, rest, _ := strings.Cut(w, "=")
		state, reason, _ := strings.Cut(rest, "/")
		c := meta.FindStatusCondition(status.Conditions, kind)
		if c == nil || string(c.Status) != state || c.Reason != reason {
			t.Errorf("%s is %+v, want %s", kind, c, w)
		}
	}
}

func TestConditionsSayWhatIsWrong(t *testing.T) {
	forbidden := errors.New("not allowed")
	for name, c := range map[string]struct {
		change func(*stage, *view)
		model  decider
		want   string
	}{
		"prometheus is away": {func(_ *stage, v *view) { v.blind = errors.New("connection refused") }, sound,
			"Ready=False/PrometheusUnreachable"},
		"nothing to measure": {func(_ *stage, v *view) { v.blind = prom.ErrNothing }, sound, "Ready=False/NoPresetFits"},
		"a secret is away": {func(_ *stage, v *view) { v.blind = missingError{errors.New("Secret")} }, sound,
			"Ready=False/SecretNotFound"},
		"a target is away": {func(_ *stage, v *view) {
			v.services[0].hold = hold{state: v1alpha1.ServiceNotFound, why: "Deployment web: not found"}
		}, sound, "Ready=False/TargetNotFound"},
		"recommend":       {func(_ *stage, v *view) { v.app.Mode = v1alpha1.Recommend }, sound, "Active=False/Recommending"},
		"observe":         {func(_ *stage, v *view) { v.app.Mode = v1alpha1.Observe }, sound, "Active=False/Observing"},
		"paused":          {func(s *stage, _ *view) { s.l.Spec.Paused = true }, sound, "Active=False/Paused"},
		"some are paused": {func(s *stage, _ *view) { s.l.Spec.Services[0].Paused = true }, sound, "Paused=True/SomeServicesPaused"},
		"and others act":  {func(s *stage, _ *view) { s.l.Spec.Services[0].Paused = true }, sound, "Active=True/Acting"},
		"a workload is": {func(_ *stage, v *view) { v.services[0].hold = hold{state: v1alpha1.ServicePaused, why: "annotation"} }, sound,
			"Paused=True/SomeServicesPaused"},
		"no model": {func(_ *stage, v *view) { v.ladder.Rung = guard.Rule }, decider{reason: v1alpha1.ReasonNoModel},
			"Fallback=True/NoModel"},
		"a torn model": {func(_ *stage, v *view) { v.ladder.Rung = guard.Rule }, decider{reason: v1alpha1.ReasonModelInvalid},
			"Fallback=True/ModelInvalid"},
		"burned": {func(_ *stage, v *view) { v.ladder.Rung, v.ladder.Distrust = guard.Rule, true }, sound, "Fallback=True/Burned"},
		"model has no data": {func(_ *stage, v *view) {
			v.ladder.Rung, v.ladder.Why = guard.Rule, "the model has had no data for 1m0s"
		}, sound, "Fallback=True/ModelNoData"},
		"hold":  {func(_ *stage, v *view) { v.ladder.Rung = guard.Hold }, sound, "Fallback=True/Holding"},
		"floor": {func(_ *stage, v *view) { v.ladder.Rung = guard.Floor }, sound, "Fallback=True/RaisedToFloor"},
		"a conflict": {func(_ *stage, v *view) {
			v.services[0].hold = hold{state: v1alpha1.ServiceConflict, why: "HPA web"}
			v.services[0].conflicts = []kube.Conflict{{Reason: v1alpha1.ReasonHorizontalPodAutoscaler}}
		}, sound, "Conflict=True/HorizontalPodAutoscaler"},
		"unseen": {func(_ *stage, v *view) { v.services[0].observed.Rate = loadline.Sample{} }, sound, "Stale=True/MetricsAbsent"},
		"late": {func(_ *stage, v *view) {
			v.services[0].observed.Rate, v.late = loadline.Sample{}, time.Hour
		}, sound, "Stale=True/MetricsLate"},
		"objectives unseen": {func(_ *stage, v *view) { v.kinds[0] = loadline.KindObservation{} }, sound, "Stale=True/ObjectivesUnseen"},
		"no requests": {func(s *stage, v *view) { v.kinds[0] = loadline.KindObservation{Rate: loadline.Sample{At: s.now}} },
			sound, "Stale=False/Fresh"},
		"no observation": {func(_ *stage, v *view) { v.seen, v.err = false, forbidden }, sound, "Stale=True/NoDecision"},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := newStage(t)
			v := s.tell(t, e, loadline.Plan{}, nil)
			c.change(s, v)
			expectConditions(t, v.status(s.l, c.model, nil), c.want)
		})
	}
}

// What was last seen stays in the status when nothing can be.
func TestStatusWithoutAnObservation(t *testing.T) {
	s, c := newStage(t)
	s.l.Status = s.tell(t, c, setWeb(5), nil).status(s.l, sound, nil)
	v := &view{app: c.app, at: s.now.Add(time.Minute), err: errors.New("list pods: timeout")}
	status := v.status(s.l, sound, nil)
	if *status.Services[0].Applied.Replicas != 5 || !status.LastDecisionTime.Time.Equal(noon) {
		t.Errorf("%+v", status)
	}
}

// A status in which only figures changed is written now and then only.
func TestCalm(t *testing.T) {
	s, c := newStage(t)
	was := s.tell(t, c, loadline.Plan{}, nil).status(s.l, sound, nil)
	s.now, s.rate = s.now.Add(15*time.Second), loadline.Sample{Value: 12, At: s.now}
	s.l.Status = was
	v := s.tell(t, c, loadline.Plan{}, nil)
	if now := v.status(s.l, sound, nil); !equalCalm(was, now) {
		t.Error("figures alone are no news")
	}
	v.ladder.Rung = guard.Rule
	if now := v.status(s.l, decider{reason: v1alpha1.ReasonNoModel}, nil); equalCalm(was, now) {
		t.Error("another rung is news")
	}
}

func TestKEDAGetsTheDesiredReplicas(t *testing.T) {
	s, c := newStage(t)
	board := kedascaler.NewBoard()
	board.SetReady(true)
	ask := func(service string) kedascaler.Decision {
		t.Helper()
		d, err := board.Decision(kedascaler.Target{LoadLine: kedascaler.Name{Namespace: "ns", Name: "shop"}, Service: service,
			ScaledObject: kedascaler.Name{Namespace: "ns", Name: service}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	v := s.tell(t, c, loadline.Plan{Services: []loadline.ServicePlan{{Service: 2, Setting: replicas(7)}}}, nil)
	v.post(board, s.l, c)
	if d := ask("cart"); d.Replicas != 7 || d.Current.Value != 4 || !d.Made.Equal(noon) || d.GoodFor != time.Minute {
		t.Errorf("%+v", d)
	}
	// A standby reads the same from the status.
	s.l.Status = v.status(s.l, sound, nil)
	other := kedascaler.NewBoard()
	other.SetReady(true)
	postStatus(other, s.l)
	board = other
	if d := ask("cart"); d.Replicas != 7 || !d.FromStatus {
		t.Errorf("%+v", d)
	}
}

// In modes that do not act, and for services that others scale, KEDA gets an error:
// the present replicas would pin the service, and keep its fallback from starting.
func TestKEDAGetsNoReplicas(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(s *stage, c *cluster)
		want   string // in the error; empty = the present replicas are the answer
	}{
		{"in mode Recommend", func(_ *stage, c *cluster) { c.app.Mode, c.act = v1alpha1.Recommend, false }, "mode Recommend"},
		{"in mode Observe", func(_ *stage, c *cluster) { c.app.Mode, c.act = v1alpha1.Observe, false }, "mode Observe"},
		{"in a dry run", func(_ *stage, c *cluster) { c.act = false }, "dry run"},
		{"in a conflict", func(s *stage, _ *cluster) {
			s.states[2].Conflicts = []kube.Conflict{{Reason: v1alpha1.ReasonHorizontalPodAutoscaler, Message: "an HPA also scales it"}}
		}, "an HPA also scales it"},
		{"without its workload", func(s *stage, _ *cluster) { s.states[2].Err = kube.ErrNotFound }, "not found"},
		{"while paused: the replicas stay", func(s *stage, _ *cluster) { s.states[2].Paused = true }, ""},
		{"during a roll-out: the replicas stay", func(s *stage, _ *cluster) { s.states[2].RollingOut = "1 of 4" }, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, c := newStage(t)
			row.change(s, c)
			v := s.tell(t, c, loadline.Plan{}, nil)
			leader := kedascaler.NewBoard()
			v.post(leader, s.l, c)
			s.l.Spec.Mode = c.app.Mode
			s.l.Status = v.status(s.l, sound, nil)
			standby := kedascaler.NewBoard()
			postStatus(standby, s.l)
			for who, board := range map[string]*kedascaler.Board{"leader": leader, "standby": standby} {
				if who == "standby" && row.want == "dry run" {
					continue // a dry run writes no status
				}
				board.SetReady(true)
				d, err := board.Decision(kedascaler.Target{LoadLine: kedascaler.Name{Namespace: "ns", Name: "shop"}, Service: "cart"})
				switch {
				case row.want == "" && (err != nil || d.Replicas != 4):
					t.Errorf("%s: %+v, %v, want the present replicas", who, d, err)
				case row.want != "" && (!errors.Is(err, kedascaler.ErrWithheld) || !strings.Contains(err.Error(), row.want)):
					t.Errorf("%s: %+v, %v, want an error with %q", who, d, err, row.want)
				}
			}
		})
	}
}

// A service that neither Loadline nor KEDA scales is reported.
func TestAServiceThatNothingScales(t *testing.T) {
	s, c := newStage(t)
	s.states[2].ScaledObject, s.states[2].ScaledObjectAlone = "cart", true
	if v := s.tell(t, c, loadline.Plan{}, nil); v.services[2].unscaled != "" {
		t.Errorf("in mode Act: %q", v.services[2].unscaled)
	}
	c.app.Mode, c.act = v1alpha1.Recommend, false
	v := s.tell(t, c, loadline.Plan{}, nil)
	want := "ScaledObject cart has neither a fallback nor another trigger"
	got := meta.FindStatusCondition(v.status(s.l, sound, nil).Conditions, v1alpha1.ConditionActive)
	if got.Reason != v1alpha1.ReasonRecommending || !strings.Contains(got.Message, want) {
		t.Errorf("Active is %+v", got)
	}
	recorder := &eventList{}
	w := eventWriter{events: recorder}
	w.pass(s.l, v)
	w.pass(s.l, v)
	if len(recorder.all) != 1 || !strings.Contains(recorder.all[0], "Warning NotScaled") || !strings.Contains(recorder.all[0], want) {
		t.Errorf("events: %q", recorder.all)
	}
}

// TestAChangeWithoutDataIsReported: where no policy has data, guards still raise: a floor, the end
// of a brownout. That is applied, and so it is said.
func TestAChangeWithoutDataIsReported(t *testing.T) {
	for _, applied := range []bool{true, false} {
		s, c := newStage(t)
		v := s.tell(t, c, setWeb(5), nil, func(d *loadline.Decision) {
			d.Err = fmt.Errorf("hold: %w", loadline.ErrNoData)
			if applied {
				d.Applied = s.now
			}
		})
		recorder := &eventList{}
		w := eventWriter{events: recorder}
		w.pass(s.l, v)
		if v.applied != applied || strings.Contains(recorder.list(), "Normal Changed web: 3 to 5 replicas") != applied {
			t.Errorf("applied %v: the view says %v, events: %q", applied, v.applied, recorder.list())
		}
		if v.outcome() != "held" {
			t.Errorf("the outcome is %s", v.outcome())
		}
	}
}

// eventList keeps Events.
type eventList struct {
	mu  sync.Mutex
	all []string
}

func (e *eventList) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, kind+" "+reason+" "+fmt.Sprintf(note, args...))
}

func (e *eventList) list() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.all, "\n")
}

func TestConditionTimesChangeWithThem(t *testing.T) {
	var status v1alpha1.LoadLineStatus
	set := func(at time.Time, v verdict) metav1.Time {
		setConditions(&status, 1, at, map[string]verdict{v1alpha1.ConditionReady: v})
		return meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady).LastTransitionTime
	}
	first := set(noon, yes("Deciding", ""))
	if again := set(noon.Add(time.Hour), yes("Deciding", "")); !again.Equal(&first) {
		t.Errorf("%v, want %v", again, first)
	}
	if turned := set(noon.Add(time.Hour), no("InvalidSpec", "")); turned.Equal(&first) {
		t.Error("it turned")
	}
	if len(status.Conditions) != 6 {
		t.Errorf("%d conditions, want all six", len(status.Conditions))
	}
}

// TestARecordedShareDecidesWhetherAnObjectiveIsMet: before the latency, and without one.
func TestARecordedShareDecidesWhetherAnObjectiveIsMet(t *testing.T) {
	at := time.Unix(1e9, 0)
	sample := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: at} }
	app := &resource.Application{
		App: &loadline.App{Kinds: []loadline.Kind{{Name: "buy", SLO: loadline.SLO{Percentile: 99.9, Latency: time.Second}}}},
	}
	for _, row := range []struct {
		name                string
		over                string
		share, latency      loadline.Sample
		met, known          bool
		wantLatency, sloMet string
	}{
		{"by latency", "", sample(0.5), sample(0.2), true, true, "200ms", "True"},
		{"the share is above", "slo:ratio", sample(0.002), sample(0.2), false, true, "200ms", "False"},
		{"the share is exactly what is allowed", "slo:ratio", sample(0.001), sample(2), true, true, "2s", "True"},
		{"no latency", "slo:ratio", sample(0.002), loadline.Sample{}, false, true, "", "False"},
		{"the rule has no result", "slo:ratio", loadline.Sample{}, sample(0.2), false, false, "", "Unknown"},
	} {
		t.Run(row.name, func(t *testing.T) {
			app.Sources = []resource.Source{{Over: row.over}}
			v := &view{app: app, at: at, kinds: []loadline.KindObservation{{Rate: sample(1), OverSLO: row.share, AtSLO: row.latency}}}
			if met, known := v.met(0); known != row.known || known && met != row.met {
				t.Errorf("met %v, known %v", met, known)
			}
			var status v1alpha1.LoadLineStatus
			v.objectives(&status)
			got := ""
			if l := status.Objectives[0].Latency; l != nil {
				got = l.Duration.String()
			}
			if status.SLOMet != row.sloMet || got != row.wantLatency {
				t.Errorf("SLO met: %s, latency %q", status.SLOMet, got)
			}
		})
	}
}
