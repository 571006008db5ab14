package controller

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/portfolio"
	"github.com/loadline/loadline/internal/resource"
)

const watchedShop = `
metadata: {name: shop, namespace: ns, generation: 1, uid: "1"}
spec:
  mode: Recommend
  objectives: [{kind: request, latency: 250ms}]
  prometheus: {url: "http://prometheus:9090"}
  policy: {baseline: planner}
  fallback: "hpa:target=40"
  twin: {name: shop-twin, key: twin.yaml}
  services: [{name: server, targetRef: {name: server}, bounds: {replicas: {min: 1, max: 20}}}]
`

const judgedShop = `{"format":1,"app":"single","peak_rate":400,"p99_error":0.05,"services":[{"service":"server","cpu_error":0.02}],
"axes":["Horizontal"],"currency":"USD","deployments":[
{"label":"planner","policy":"planner","fallback":"hpa:target=40","per_month":100,"over_slo_ratio":0.001,"whole_per_month":100,
"whole_over_slo_ratio":0.001},
{"label":"tuned","policy":"hpa:target=60","per_month":104,"over_slo_ratio":0.001,"whole_per_month":104,"whole_over_slo_ratio":0.001},
{"label":"hpa","policy":"hpa:target=30","per_month":200,"over_slo_ratio":0.001,"whole_per_month":200,"whole_over_slo_ratio":0.001}]}`

// twinned is the application single with its twin, of which tests set the CPU of a visit and the
// release.
type twinned struct {
	*stage
	c   *Controller
	r   *runner
	a   *application
	cpu float64 // seconds of a visit; 0 = it is not measured
}

func (s *twinned) Observe(_ context.Context, now time.Time, _ [][]string, into *loadline.Observation) error {
	const perSecond = 200
	sample := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: now} }
	into.Services[0].Rate, into.Kinds[0].Rate = sample(perSecond), sample(perSecond)
	into.Kinds[0].AtSLO, into.Kinds[0].OverSLO = sample(0.1), sample(0)
	if s.cpu > 0 {
		into.Services[0].CPU = sample(perSecond * s.cpu)
	}
	return nil
}

func withTwin(t *testing.T, status v1alpha1.LoadLineStatus) *twinned {
	t.Helper()
	model, err := os.ReadFile("../apps/single.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := &twinned{stage: &stage{l: load(t, watchedShop), now: noon}, cpu: 0.01}
	s.l.Status = status
	twin := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop-twin"},
		Data: map[string]string{"twin.yaml": string(model), portfolio.JudgedFile: judgedShop}}
	s.states = []kube.State{{Replicas: 4, Status: 4, Release: "first", Template: loadline.Size{CPURequest: 1, CPULimit: 1}}}
	for _, name := range []string{"a", "b", "c", "d"} {
		s.states[0].Pods = append(s.states[0].Pods, pod(name, 1))
	}
	s.c = New(t.Context(), Options{Client: server(t, s.l, twin), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return s.now },
		Metrics: NewMetrics(prometheus.NewRegistry())})
	from := named{s.c.Live, "ns"}
	app, err := from.twin(t.Context(), s.l)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := resource.Read(s.l, app)
	if err != nil {
		t.Fatal(err)
	}
	s.a = &application{Application: spec, cluster: s.ends(spec)}
	s.a.cluster.source = func(context.Context, time.Time) (metering, error) { return s, nil }
	s.a.cluster.metrics = s.c.metricsOf(s.l)
	if err := s.a.guardIt(t.Context(), models{from, "", spec}, s.l, s.now); err != nil {
		t.Fatal(err)
	}
	s.a.loop.Clock = &realClock{now: s.c.Now}
	s.a.watchIt(t.Context(), from, s.l)
	s.r = s.c.newRunner(s.l)
	t.Cleanup(s.a.watch.close)
	return s
}

// passes for a while, and the status after them.
func (s *twinned) passes(t *testing.T, span time.Duration) v1alpha1.LoadLineStatus {
	t.Helper()
	for end := s.now.Add(span); s.now.Before(end); s.now = s.now.Add(15 * time.Second) {
		if _, err := s.r.pass(t.Context(), s.a); err != nil {
			t.Fatal(err)
		}
		if s.a.watch.asked != nil { // tests do not depend on how fast it is
			got := <-s.a.watch.asked
			s.a.watch.take(got, s.r.log)
		}
	}
	var l v1alpha1.LoadLine
	if err := s.c.Client.Get(t.Context(), client.ObjectKeyFromObject(s.l), &l); err != nil {
		t.Fatal(err)
	}
	return l.Status
}

func conditionOf(t *testing.T, s v1alpha1.LoadLineStatus, kind string) metav1.Condition {
	t.Helper()
	c := meta.FindStatusCondition(s.Conditions, kind)
	if c == nil {
		t.Fatalf("there is no condition %s: %+v", kind, s.Conditions)
	}
	return *c
}

// TestAReleaseThatTakesMoreCPUDrifts: the condition is unknown until there is something to compare,
// then false; after a release unknown again, and true with the figures once it is compared. It
// survives a restart.
func TestAReleaseThatTakesMoreCPUDrifts(t *testing.T) {
	s := withTwin(t, v1alpha1.LoadLineStatus{})
	expect := func(status v1alpha1.LoadLineStatus, want metav1.ConditionStatus, reason, text string) {
		t.Helper()
		if c := conditionOf(t, status, v1alpha1.ConditionDrift); c.Status != want || c.Reason != reason || !strings.Contains(c.Message, text) {
			t.Errorf("%s %s: %s; want %s %s: %s", c.Status, c.Reason, c.Message, want, reason, text)
		}
	}
	expect(s.passes(t, 2*time.Minute), metav1.ConditionUnknown, v1alpha1.ReasonNotCompared, "the CPU of a visit to server is measured in")
	expect(s.passes(t, 20*time.Minute), metav1.ConditionFalse, v1alpha1.ReasonAsJudged, "match the twin")
	s.states[0].Release, s.cpu = "second", 0.021
	expect(s.passes(t, time.Minute), metav1.ConditionUnknown, v1alpha1.ReasonReleased, "server was released at 2026-03-01 12:22 UTC")
	status := s.passes(t, 12*time.Minute)
	expect(status, metav1.ConditionTrue, v1alpha1.ReasonDriftCPU,
		"the CPU of a visit to server is 2.1 times the twin's (21 ms, not 10 ms) since 2026-03-01 12:22 UTC; "+
			"it was released at 2026-03-01 12:22 UTC")
	if d := status.Drift; d == nil || len(d.Services) != 1 || d.Services[0].Release != "second" || len(d.Services[0].Deviations) != 1 ||
		d.Services[0].Deviations[0].Measure != "cpu" || d.Services[0].Deviations[0].Ratio != "2.1" {
		t.Errorf("%+v", status.Drift)
	}
	if text := s.a.watch.remark(); !strings.Contains(text, "does not behave as its twin: the CPU of a visit to server is 2.1 times") {
		t.Errorf("the record says %q", text)
	}

	after := withTwin(t, status)
	after.states[0].Release, after.cpu, after.now = "second", 0, s.now // and Prometheus has lost the CPU
	expect(after.passes(t, 5*time.Minute), metav1.ConditionTrue, v1alpha1.ReasonDriftCPU, "is 2.1 times the twin's")
	after.cpu = 0.01
	expect(after.passes(t, 40*time.Minute), metav1.ConditionFalse, v1alpha1.ReasonAsJudged, "match the twin")

	// Another judgement begins anew.
	status.Drift.Judged = "another"
	other := withTwin(t, status)
	other.states[0].Release, other.now = "second", s.now
	expect(other.passes(t, time.Minute), metav1.ConditionUnknown, v1alpha1.ReasonNotCompared, "")
}

// TestTheRunnerUpIsShown: an hour of load, then one estimate an hour, labelled as the twin's. After
// three in a row that a rule is better the condition says so, with the commands that prove it.
func TestTheRunnerUpIsShown(t *testing.T) {
	s := withTwin(t, v1alpha1.LoadLineStatus{})
	status := s.passes(t, 30*time.Minute)
	if c := conditionOf(t, status, v1alpha1.ConditionRunnerUpAhead); c.Status != metav1.ConditionUnknown ||
		c.Reason != v1alpha1.ReasonNotEstimated || !strings.Contains(c.Message, "the load is not known for 1h0m0s yet") {
		t.Errorf("%+v", c)
	}
	status = s.passes(t, 45*time.Minute)
	p := status.Portfolio
	if p == nil || p.Basis != "estimated on the twin" || p.Current.Name != "planner" || len(p.Others) != 2 || p.Others[0].Name != "tuned" ||
		p.Others[0].Error != "0.02" || p.Currency != "USD" || p.MeanRate != "200" {
		t.Fatalf("%+v", p)
	}
	if c := conditionOf(t, status, v1alpha1.ConditionRunnerUpAhead); c.Status != metav1.ConditionFalse ||
		!strings.Contains(c.Message, "estimated on the twin: planner costs "+money(p.Current.PerMonth)+" and ") {
		t.Errorf("%+v", c)
	}
	// The current one is made to look as expensive as the loosest rule.
	s.a.watch.judged.Deployments[0].Policy = "hpa:target=15"
	s.a.Baseline = "hpa:target=15"
	for n := range portfolio.InARow {
		status = s.passes(t, time.Hour+time.Minute)
		if status.Portfolio.Ahead != "tuned" || int(status.Portfolio.InARow) != n+1 {
			t.Fatalf("estimate %d: %+v", n, status.Portfolio)
		}
	}
	if c := conditionOf(t, status, v1alpha1.ConditionRunnerUpAhead); c.Status != metav1.ConditionTrue ||
		c.Reason != v1alpha1.ReasonEstimatedBetter || !strings.Contains(c.Message, "in 3 estimates in a row") ||
		!strings.Contains(c.Message, "loadline evaluate RUN --history past2") {
		t.Errorf("%+v", c)
	}
	if s.a.model.name != s.a.Baseline {
		t.Errorf("%s runs and the spec names %s: an estimate switches nothing", s.a.model.name, s.a.Baseline)
	}
	// A restarted process goes on counting.
	after := withTwin(t, status)
	if w := after.a.watch; w.standing == nil || w.standing.InARow != 3 || !w.due.Equal(status.Portfolio.Time.Add(estimateEvery)) {
		t.Errorf("%+v, due %v", w.standing, w.due)
	}
}

// TestAnEstimateDelaysNoPass: only one runs in the process, and what takes long is done less often.
func TestAnEstimateDelaysNoPass(t *testing.T) {
	s := withTwin(t, v1alpha1.LoadLineStatus{})
	s.c.estimates <- struct{}{} // of another application
	if status := s.passes(t, 2*time.Hour); status.Portfolio != nil || s.a.watch.asked != nil {
		t.Errorf("%+v", status.Portfolio)
	}
	<-s.c.estimates
	cpu := time.Duration(0)
	s.c.CPUTime = func() time.Duration { cpu += 100 * time.Microsecond; return cpu }
	s.passes(t, time.Minute)
	w := s.a.watch
	if took := cpu.Seconds(); w.standing == nil || took < 0.2 {
		t.Fatalf("%+v after %v of CPU", w.standing, cpu)
	}
	w.stop = func() {}
	w.take(answer{at: noon, cpu: 5 * time.Second, err: errors.New("no")}, s.r.log)
	if !w.due.Equal(noon.Add(5*time.Hour)) || w.idle != "no" {
		t.Errorf("after 5 s of CPU the next one is due at %v, %s", w.due, w.idle)
	}
	s.c.CPUTime = func() time.Duration { cpu += time.Second; return cpu }
	w.due = time.Time{}
	s.passes(t, 15*time.Second)
	if !strings.Contains(w.idle, "too much CPU time: 20s") {
		t.Errorf("an estimate that takes too long: %s", w.idle)
	}
}

// TestATwinThatIsReplacedIsTakenUp without an error of the LoadLine.
func TestATwinThatIsReplacedIsTakenUp(t *testing.T) {
	s := withTwin(t, v1alpha1.LoadLineStatus{})
	s.passes(t, 10*time.Minute)
	var m corev1.ConfigMap
	if err := s.c.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "shop-twin"}, &m); err != nil {
		t.Fatal(err)
	}
	m.Data[portfolio.JudgedFile] = strings.Replace(judgedShop, `"peak_rate":400`, `"peak_rate":500`, 1)
	if err := s.c.Client.Update(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	var err error
	for n := 0; err == nil && n < 40; n++ {
		_, err = s.r.pass(t.Context(), s.a)
		s.now = s.now.Add(15 * time.Second)
	}
	if !errors.Is(err, errTwinChanged) {
		t.Error(err)
	}
}
