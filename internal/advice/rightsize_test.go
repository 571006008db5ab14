package advice

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/twin"
	"github.com/loadline/loadline/internal/workload"
)

// oversized is a web front with requests far above its use, and a cart with a tight CPU limit.
func oversized(t *testing.T) *loadline.App {
	t.Helper()
	model, err := apps.Parse("shop.yaml", []byte(`
version: 1
name: shop
origins: {round: {kind: assumed, source: "round figures"}}
nodes: !round
  node: {count: 6, cores: 8, memory: 32Gi}
services: !round
  web:
    cpu: {mean: 4ms, cv: 1}
    wait: {mean: 5ms, cv: 1}
    idle: 0.01
    workers: 64
    backlog: 500
    memory: {base: 120Mi, perRequest: 256Ki}
    startup: {mean: 10s, cv: 0.2}
    replicas: 3
    size: {cpu: {request: 1, limit: 2}, memory: {request: 2Gi, limit: 2Gi}}
    bounds: {replicas: [1, 20], cpu: [10m, 4], memory: [64Mi, 4Gi]}
    optionalPrice: 1
  cart:
    cpu: {mean: 3ms, cv: 1}
    wait: {mean: 3ms, cv: 1}
    idle: 0.01
    workers: 64
    backlog: 500
    memory: {base: 100Mi, perRequest: 256Ki}
    startup: {mean: 10s, cv: 0.2}
    replicas: 3
    size: {cpu: {request: 100m, limit: 150m}, memory: {request: 256Mi, limit: 512Mi}}
    bounds: {replicas: [1, 20], cpu: [10m, 4], memory: [64Mi, 2Gi]}
    optionalPrice: 1
kinds: !round
  view:
    share: 1
    slo: {percentile: 99, latency: 250ms}
    timeout: 10s
    call: {service: web, stages: [cart]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return model.App
}

const shopLoad = "diurnal:low=20,high=80,period=90m,peak=45m+noise:cv=0.05"

func shopWorkload(t *testing.T) *workload.Workload {
	t.Helper()
	w, _, err := workload.Open(shopLoad, workload.Options{Duration: 90 * time.Minute, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var recorded struct {
	sync.Mutex
	by map[string]*history.History
}

// record the application under a policy in the event engine; once for all tests.
func record(t *testing.T, policy string) *history.History {
	t.Helper()
	recorded.Lock()
	defer recorded.Unlock()
	if recorded.by == nil {
		recorded.by = map[string]*history.History{}
	}
	if recorded.by[policy] == nil {
		recorded.by[policy] = recordOf(t, oversized(t), policy)
	}
	return recorded.by[policy]
}

func recordOf(t *testing.T, app *loadline.App, policy string) *history.History {
	t.Helper()
	w := shopWorkload(t)
	load, err := w.For(app)
	if err != nil {
		t.Fatal(err)
	}
	h, err := simulate.RecordHistory(context.Background(), simulate.HistorySpec{
		App: app, Load: load, Workload: w.Name, Policy: policy, Engine: "event", Duration: w.Duration(), Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func rightsize(t *testing.T, h *history.History) *Rightsizing {
	t.Helper()
	r, err := Rightsize(context.Background(), h, RightsizeOptions{Name: "shop", Seed: 1,
		Objectives: []twin.Objective{{SLO: loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond}}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *Rightsizing) service(t *testing.T, name string) *ServiceSize {
	t.Helper()
	for i := range r.Services {
		if r.Services[i].Name == name {
			return &r.Services[i]
		}
	}
	t.Fatalf("no service %s", name)
	return nil
}

func TestOversizedRequestsAreLoweredAndTightLimitsLifted(t *testing.T) {
	r := rightsize(t, record(t, "static"))
	web, cart := r.service(t, "web"), r.service(t, "cart")
	// At the peak of 80 requests per second a pod of web has 27 of 4 ms each: about 0.12 cores.
	if c := web.After.CPURequest; c < 0.1 || c > 0.3 {
		t.Errorf("web requests %v cores", c)
	}
	if m := web.After.MemoryRequest >> 20; m < 120 || m > 160 {
		t.Errorf("web requests %d MiB, with 120 in use", m)
	}
	if cart.After.CPULimit != 0 || *cart.Use.Throttled < liftFrom {
		t.Errorf("cart: limit %v with %v of the periods throttled", cart.After.CPULimit, *cart.Use.Throttled)
	}
	if !r.Check.Kept || r.Guessed || r.Policy != "static" {
		t.Errorf("%+v, objective guessed %v, policy %s", r.Check, r.Guessed, r.Policy)
	}
	// Three pods of a core and 2 GiB, and three of 0.1 cores and 256 MiB.
	prices := pool.Prices{}.WithDefaults()
	want := 730 * 3 * (1.1*prices.CoreHour + 2.25*prices.GiBHour)
	if math.Abs(r.Month.Today-want) > 0.03*want || r.Month.After > 0.3*r.Month.Today {
		t.Errorf("%.2f today, want %.2f; %.2f after", r.Month.Today, want, r.Month.After)
	}
	if text := r.Sentence(); !strings.HasPrefix(text, "Saves ") || !strings.Contains(text, "web CPU request 1000m -> ") ||
		!strings.Contains(text, "CPU limit lifted") {
		t.Error(text)
	}
	keepsSLO(t, r, "static")
}

// keepsSLO runs the application itself, not its twin, with the proposed sizes on busy nodes.
func keepsSLO(t *testing.T, r *Rightsizing, policy string) {
	t.Helper()
	app := oversized(t)
	for i := range app.Services {
		app.Services[i].Size = r.service(t, app.Services[i].Name).size
	}
	app.Nodes = roomFor(app, app, []int{6, 6}, 0.7)
	w := shopWorkload(t)
	load, err := w.For(app)
	if err != nil {
		t.Fatal(err)
	}
	out, err := simulate.Run(context.Background(), simulate.Spec{
		App: app, Load: load, Workload: w.Name, Policy: policy, Engine: "event", Duration: w.Duration(), Seed: 77, WarmUp: 5 * time.Minute,
		Cluster: pool.Cluster{Neighbours: pool.Neighbours{Use: 0.7, Request: 0.7}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if over := float64(out.Result.OverSLORatio); over > result.CountsIf {
		t.Errorf("%.2f %% of the requests are over the SLO", 100*over)
	}
}

func TestUnderAnAutoscalerTheRequestFollowsItsTarget(t *testing.T) {
	r := rightsize(t, record(t, "hpa:target=60"))
	if r.Policy != "hpa:target=60" {
		t.Errorf("policy %s", r.Policy)
	}
	// The autoscaler keeps pods of cart at 60 % of their request: sizing by use alone would
	// lower it again and again.
	cart := r.service(t, "cart")
	if c := cart.After.CPURequest; c < 0.08 || c > 0.15 {
		t.Errorf("cart requests %v cores, uses %v", c, *cart.Use.CPU)
	}
	if !r.Check.Kept || r.Month.After >= r.Month.Today {
		t.Errorf("%s", r.Sentence())
	}
	keepsSLO(t, r, "hpa:target=60")

	// With these sizes in use, the proposal is about the same.
	app := oversized(t)
	for i := range app.Services {
		app.Services[i].Size = r.service(t, app.Services[i].Name).size
	}
	again := rightsize(t, recordOf(t, app, "hpa:target=60"))
	for _, s := range again.Services {
		if ratio := s.After.CPURequest / s.Today.CPURequest; ratio < 0.75 || ratio > 1.3 {
			t.Errorf("the CPU request of %s goes on from %v to %v", s.Name, s.Today.CPURequest, s.After.CPURequest)
		}
		if s.After.MemoryRequest != s.Today.MemoryRequest {
			t.Errorf("the memory request of %s goes on from %v to %v", s.Name, s.Today.MemoryRequest, s.After.MemoryRequest)
		}
	}
}

func TestThePatchIsAppliedAsMeant(t *testing.T) {
	r := rightsize(t, record(t, "static"))
	var b bytes.Buffer
	if err := Write(&b, r.Documents(Target{Namespace: "prod"})); err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(b.String(), "---\n")
	if len(documents) != 2 {
		t.Fatalf("%d documents:\n%s", len(documents), b.String())
	}
	d := parse[appsv1.Deployment](t, documents[0])
	_, command, _ := strings.Cut(documents[0], " -p '")
	patch, _, _ := strings.Cut(command, "'\n")
	before := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"proxy","image":"p"},{"name":"cart","image":"x","resources":` +
		`{"requests":{"cpu":"100m","memory":"256Mi"},"limits":{"cpu":"150m","memory":"512Mi"}}}]}}}}`)
	merged, err := strategicpatch.StrategicMergePatch(before, []byte(patch), appsv1.Deployment{})
	if err != nil {
		t.Fatalf("%v of %s", err, patch)
	}
	var after appsv1.Deployment
	if err := json.Unmarshal(merged, &after); err != nil {
		t.Fatal(err)
	}
	all := after.Spec.Template.Spec.Containers
	at := 0
	if all[0].Name != "cart" {
		at = 1
	}
	c := all[at]
	if _, limited := c.Resources.Limits["cpu"]; len(all) != 2 || c.Image != "x" || limited || c.Resources.Limits.Memory().Value() != 512<<20 ||
		c.Resources.Requests.Memory().Value() != r.service(t, "cart").After.MemoryRequest || d.Name != "cart" || d.Namespace != "prod" {
		t.Errorf("%s", merged)
	}
}

func TestWhatWasNotMeasuredIsNotGuessed(t *testing.T) {
	without := func(metrics ...history.ServiceMetric) *history.History {
		h := record(t, "static").Cut(0, record(t, "static").Steps)
		for i := range h.Services {
			for _, m := range metrics {
				h.Services[i].Series[m] = nil
			}
		}
		return h
	}
	r := rightsize(t, without(history.Memory))
	web := r.service(t, "web")
	if len(web.Refuse) != 1 || !strings.Contains(web.Refuse[0], "memory: not measured: memory") || web.After.MemoryRequest != 2<<30 ||
		web.After.CPURequest == 1 {
		t.Errorf("%+v", web)
	}
	if web.Month.Today < 60 {
		t.Errorf("web costs %.2f per month, want that of three cores and more", web.Month.Today)
	}
	unknown := rightsize(t, without(history.CPURequest)).service(t, "web")
	if unknown.Today.CPURequest != 0 || unknown.After.CPURequest != 0 || unknown.Month.Today > 30 ||
		!strings.Contains(strings.Join(unknown.Refuse, ""), "CPU: not measured: cpu_request") {
		t.Errorf("a request that was not measured counts: %+v", unknown)
	}
	h := without(history.Memory, history.CPU)
	if _, err := Rightsize(context.Background(), h, RightsizeOptions{Name: "shop"}); err == nil ||
		!strings.Contains(err.Error(), "everything would be a guess") || !strings.Contains(err.Error(), "web: CPU: not measured: cpu") {
		t.Errorf("%v", err)
	}
}

func TestMemoryIsNeverBelowUse(t *testing.T) {
	series := func(values ...float32) history.Series { return values }
	of := &history.Service{Name: "web"}
	of.Series[history.Ready] = series(2, 2, 2, 2)
	of.Series[history.Memory] = series(100<<20, 100<<20, 100<<20, 600<<20)
	of.Series[history.MemoryRequest] = series(1<<30, 1<<30, 1<<30, 1<<30)
	p := &ServiceSize{size: loadline.Size{MemoryRequest: 1 << 30, MemoryLimit: 1 << 30}}
	p.proposeMemory(of)
	if p.size.MemoryRequest < 300<<20 || p.size.MemoryRequest > 400<<20 || p.size.MemoryLimit != 1<<30 {
		t.Errorf("request %d MiB, limit %d MiB, with 300 in use", p.size.MemoryRequest>>20, p.size.MemoryLimit>>20)
	}
	// Killed at the limit: more than the limit was.
	of.Series[history.Restarts] = series(0, 0, 0, 3)
	p = &ServiceSize{size: loadline.Size{MemoryRequest: 128 << 20, MemoryLimit: 310 << 20}}
	p.proposeMemory(of)
	if want := int64(372 << 20); p.size.MemoryRequest != want || p.size.MemoryLimit != want {
		t.Errorf("request %d MiB, limit %d MiB after kills at 310", p.size.MemoryRequest>>20, p.size.MemoryLimit>>20)
	}
}

func TestTheBusiestStretch(t *testing.T) {
	w := &workload.Workload{Name: "w", Step: time.Minute, Rates: make([]float64, 300)}
	for i := 200; i < 230; i++ {
		w.Rates[i] = 50
	}
	b, err := busiest(w)
	if err != nil || b.Duration() != checkLength+checkLead || b.Requests() != 30*60*50 {
		t.Errorf("%v with %v requests: %v", b.Duration(), b.Requests(), err)
	}
	hourly := &workload.Workload{Name: "w", Step: time.Hour, Rates: []float64{1, 2, 9, 3}}
	if b, err := busiest(hourly); err != nil || b.Max() != 9 {
		t.Errorf("%+v: %v", b, err)
	}
}

func TestQuantilesAndBusyTime(t *testing.T) {
	if q := quantile([]float64{5, 1, 3, 2, 4}, 0.8); q != 4 {
		t.Errorf("quantile %v", q)
	}
	if q := quantile([]float64{7}, 0.95); q != 7 {
		t.Errorf("quantile %v", q)
	}
	if m, known := busyMean(history.Series{0, 0, 0.2, 0.4}); !known || math.Abs(m-0.3) > 1e-6 {
		t.Errorf("busy mean %v (%v)", m, known)
	}
	if _, known := busyMean(nil); known {
		t.Error("nothing is a mean")
	}
}
