package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/kedascaler"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// tell makes the view of one pass in which a service is to be set.
func (s *stage) tell(t *testing.T, c *cluster, plan loadline.Plan, err error) *view {
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
	v := newView(c.app, c, &loop.Pass{Situation: situation, Decision: *d})
	v.ladder, v.policy = guard.State{Rung: guard.Primary, Since: noon}, "hpa"
	return v
}

func setWeb(n int) loadline.Plan {
	return loadline.Plan{Services: []loadline.ServicePlan{{Service: 0, Setting: replicas(n)}}}
}

var sound = decider{policy: observer{}, name: "hpa"}

func TestStatusOfAPass(t *testing.T) {
	s, c := newStage(t)
	status := s.tell(t, c, setWeb(5), nil).status(s.l, sound, nil)
	web := status.Services[0]
	if *web.Wanted.Replicas != 5 || *web.Applied.Replicas != 5 || web.State != v1alpha1.ServiceMoved || web.Why != "CPU is at 90 %" ||
		web.LastChangeTime == nil {
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
			v.services[0].hold = hold{v1alpha1.ServiceNotFound, "Deployment web: not found"}
		}, sound, "Ready=False/TargetNotFound"},
		"recommend":       {func(_ *stage, v *view) { v.app.Mode = v1alpha1.Recommend }, sound, "Active=False/Recommending"},
		"observe":         {func(_ *stage, v *view) { v.app.Mode = v1alpha1.Observe }, sound, "Active=False/Observing"},
		"paused":          {func(s *stage, _ *view) { s.l.Spec.Paused = true }, sound, "Active=False/Paused"},
		"some are paused": {func(s *stage, _ *view) { s.l.Spec.Services[0].Paused = true }, sound, "Paused=True/SomeServicesPaused"},
		"and others act":  {func(s *stage, _ *view) { s.l.Spec.Services[0].Paused = true }, sound, "Active=True/Acting"},
		"a workload is": {func(_ *stage, v *view) { v.services[0].hold = hold{v1alpha1.ServicePaused, "annotation"} }, sound,
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
			v.services[0].hold = hold{v1alpha1.ServiceConflict, "HPA web"}
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
	// In the mode Recommend what there is is what is wanted.
	c.app.Mode, c.act = v1alpha1.Recommend, false
	c.desired[2] = desired{}
	v = s.tell(t, c, loadline.Plan{Services: []loadline.ServicePlan{{Service: 2, Setting: replicas(9)}}}, nil)
	v.post(board, s.l, c)
	if d := ask("cart"); d.Replicas != 4 {
		t.Errorf("%+v", d)
	}
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
