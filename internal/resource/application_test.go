package resource_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/resource"
)

// read takes YAML of a spec.
func read(t *testing.T, spec string) *v1alpha1.LoadLine {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"namespace": "ns", "name": "shop"}, "spec": fields})
	if err != nil {
		t.Fatal(err)
	}
	var l v1alpha1.LoadLine
	if err := json.Unmarshal(text, &l); err != nil {
		t.Fatal(err)
	}
	return &l
}

const plain = `
objectives: [{latency: 250ms}]
prometheus: {url: http://prometheus}
policy: {baseline: "hpa:target=60"}
services:
- {name: web, targetRef: {name: web}, bounds: {replicas: {max: 9}}}
- {name: ads, targetRef: {name: ads}, optional: {price: "0.2"}, bounds: {replicas: {min: 0, max: 4}}}
`

func TestWithoutATwin(t *testing.T) {
	a, err := resource.Read(read(t, plain), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Name != "ns/shop" || a.Mode != v1alpha1.Recommend || a.Fallback != "hpa" || a.Baseline != "hpa:target=60" ||
		a.RespectManual != time.Hour || a.Needs.Period != 15*time.Second {
		t.Errorf("defaults: %+v", a)
	}
	defaults := guard.Defaults()
	defaults.Brownout.Services = []string{"ads"}
	if !reflect.DeepEqual(a.Guard, defaults) {
		t.Errorf("guard: %+v", a.Guard)
	}
	web, ads := a.App.Services[0], a.App.Services[1]
	if web.Bounds != (loadline.Bounds{MinReplicas: 1, MaxReplicas: 9}) || ads.Bounds != (loadline.Bounds{MaxReplicas: 4}) ||
		ads.OptionalPrice != 0.2 || web.Replicas != 1 {
		t.Errorf("services: %+v", a.App.Services)
	}
	if len(a.App.Kinds) != 1 || a.App.Kinds[0].Name != resource.AllRequests ||
		a.App.Kinds[0].SLO != (loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond}) {
		t.Errorf("kinds: %+v", a.App.Kinds)
	}
	if want := (guard.Axes{{Replicas: true}, {Replicas: true, Brownout: true}}); !reflect.DeepEqual(a.Axes, want) {
		t.Errorf("axes: %+v", a.Axes)
	}
	// This is enough for the guards.
	if _, err := guard.Around(a.Guard, a.App, nil, &mute{}); err != nil {
		t.Error(err)
	}
}

type mute struct{}

func (mute) Name() string          { return "mute" }
func (mute) Needs() loadline.Needs { return loadline.Needs{Period: time.Second} }
func (mute) Decide(time.Time, loadline.Situation) (loadline.Proposal, error) {
	return loadline.Proposal{}, nil
}

func TestUsersArriveWhereNothingIsMoved(t *testing.T) {
	l := read(t, strings.Replace(plain, "{latency: 250ms}",
		`{kind: buy, latency: 250ms, percentile: "99.9", service: gateway, operation: POST /buy}`, 1))
	a, err := resource.Read(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := a.App.ServiceIndex("gateway")
	if i != 2 || a.Targets[i] != nil || a.Axes[i] != (guard.AllowedAxes{}) || a.App.Kinds[0].Root.Service != i {
		t.Errorf("gateway is service %d: %+v", i, a)
	}
	if a.Sources[0] != (resource.Source{Service: "gateway", Operation: "POST /buy"}) || a.App.Kinds[0].SLO.Percentile != 99.9 {
		t.Errorf("%+v, %+v", a.Sources, a.App.Kinds)
	}
}

// TestQueuesAndRecordedShares: an objective names a worker, whose queue has no operations.
func TestQueuesAndRecordedShares(t *testing.T) {
	text := strings.Replace(plain, "{latency: 250ms}",
		`{kind: mails, latency: 30s, service: mailer, recordedOverRatio: 'slo:ratio{a="b"}'}`, 1) +
		"- {name: mailer, targetRef: {name: mailer}, queue: {type: Kafka, name: mails, consumerGroup: g}, bounds: {replicas: {max: 9}}}\n"
	l := read(t, text)
	a, err := resource.Read(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := a.App.ServiceIndex("mailer")
	if i < 0 || a.Targets[i].Queue == nil || *a.Targets[i].Queue != (v1alpha1.Queue{Type: v1alpha1.Kafka, Name: "mails", ConsumerGroup: "g"}) {
		t.Errorf("mailer is service %d: %+v", i, a.Targets)
	}
	if want := (resource.Source{Service: "mailer", Over: `slo:ratio{a="b"}`}); a.Sources[0] != want || a.App.Kinds[0].Root.Service != i {
		t.Errorf("%+v, want %+v", a.Sources, want)
	}
	l.Spec.Objectives[0].Operation = "send"
	if _, err := resource.Read(l, nil); err == nil || !strings.Contains(err.Error(),
		`spec.objectives[0].operation: "send" does not exist, service mailer takes messages from a queue: leave operation out`) {
		t.Error(err)
	}
}

func TestWithATwin(t *testing.T) {
	m, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	twin := m.App
	before, err := json.Marshal(twin)
	if err != nil {
		t.Fatal(err)
	}
	last := twin.Services[len(twin.Services)-1].Name
	l := read(t, `
objectives: [{latency: 300ms, percentile: 95}]
prometheus: {url: http://prometheus, scrapeInterval: 30s}
interval: 1m
mode: Act
respectManualChangesFor: 0s
policy: {model: {folder: registry}}
fallback: hpa:target=70
guard:
  without: [gray]
  data: {maxAge: 1m, holdFor: 0s}
  burn: {windows: [{short: 1m, long: 5m, rate: "14.4"}], minOver: 0, unmeasured: true}
  step: {sizeDown: "0.5", upPods: 8}
  disagreement: {low: 0, slack: 0}
services:
- name: reviews
  targetRef: {name: reviews}
  axes: [Horizontal, VerticalRequests]
  bounds: {replicas: {min: 2, max: 7}, cpu: {min: 100m, max: "1.5"}}
  floor: {cpu: 500m}
- {name: `+last+`, targetRef: {name: x}, optional: {}, bounds: {replicas: {min: 0, max: 3}}}
`)
	a, err := resource.Read(l, twin)
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(twin); string(after) != string(before) {
		t.Error("the twin was changed")
	}
	i := a.App.ServiceIndex("reviews")
	was, is := twin.Services[i], a.App.Services[i]
	if is.Bounds != (loadline.Bounds{MinReplicas: 2, MaxReplicas: 7, MinCPU: 0.1, MaxCPU: 1.5, MinMemory: was.Bounds.MinMemory,
		MaxMemory: was.Bounds.MaxMemory}) {
		t.Errorf("bounds: %+v", is.Bounds)
	}
	if is.CPU != was.CPU || a.Targets[i] == nil || a.Axes[i] != (guard.AllowedAxes{Replicas: true, CPURequest: true}) {
		t.Errorf("reviews: %+v %+v", is, a.Axes[i])
	}
	for j, target := range a.Targets {
		if name := a.App.Services[j].Name; target == nil != (name != "reviews" && name != last) {
			t.Errorf("%s is ours: %v", name, target != nil)
		}
	}
	for _, k := range a.App.Kinds {
		if k.SLO != (loadline.SLO{Percentile: 95, Latency: 300 * time.Millisecond}) {
			t.Errorf("kind %s: %+v", k.Name, k.SLO)
		}
	}
	if !allOptional(a.App, len(a.App.Services)-1) {
		t.Errorf("calls to %s are not optional", last)
	}

	want := guard.Defaults()
	want.Off = []string{"gray"}
	want.Data.MaxAge, want.Data.HoldFor = time.Minute, 0
	want.Burn.Windows = []guard.BurnWindows{{Short: time.Minute, Long: 5 * time.Minute, Rate: 14.4}}
	want.Burn.MinOver, want.Burn.Unmeasured = 0, true
	want.Step.SizeDown, want.Step.UpPods = 0.5, 8
	want.Disagreement.Low, want.Disagreement.Slack = 0, 0
	want.Brownout.Services = []string{"ratings"}
	want.Floor = map[string]guard.Safe{"reviews": {Replicas: was.Replicas, CPU: 0.5}}
	if !reflect.DeepEqual(a.Guard, want) {
		t.Errorf("guard: %+v, want %+v", a.Guard, want)
	}
	if a.Mode != v1alpha1.Act || a.RespectManual != 0 || a.Needs != (loadline.Needs{Period: time.Minute, Scrape: 30 * time.Second}) {
		t.Errorf("%+v", a)
	}
}

func allOptional(app *loadline.App, service int) bool {
	found, all := false, true
	var look func(stages [][]loadline.Call)
	look = func(stages [][]loadline.Call) {
		for _, calls := range stages {
			for _, c := range calls {
				if c.Service == service {
					found, all = true, all && c.Optional
				}
				look(c.Stages)
			}
		}
	}
	for k := range app.Kinds {
		look(app.Kinds[k].Root.Stages)
	}
	return found && all
}

func TestFaultsNameTheirFields(t *testing.T) {
	twin := &loadline.App{
		Services: []loadline.Service{{Name: "web"}, {Name: "ads"}},
		Kinds:    []loadline.Kind{{Name: "buy"}, {Name: "browse"}},
	}
	for _, row := range []struct {
		name, old, new string
		twin           *loadline.App
		want           string
	}{
		{"a service that the twin does not have", "name: ads, targetRef", "name: adds, targetRef", twin,
			`spec.services[1].name: the twin has no service "adds"; did you mean "ads"`},
		{"a kind that the twin does not have", "{latency: 250ms}", "{latency: 250ms}, {kind: bu, latency: 1s}", twin,
			`spec.objectives[1].kind: the twin has no kind of request "bu"`},
		{"a kind without an objective", "{latency: 250ms}", "{kind: buy, latency: 250ms}", twin,
			`spec.objectives: the twin's kind of request "browse" has none: add one`},
		{"a service twice", "name: ads, targetRef", "name: web, targetRef", nil, `spec.services[1].name: service "web" occurs twice`},
		{"a kind twice", "{latency: 250ms}", "{latency: 250ms}, {latency: 1s}", nil,
			`spec.objectives[1].kind: "all requests" occurs twice`},
		{"bounds upside down", "{min: 0, max: 4}", "{min: 5, max: 4}", nil,
			`spec.services[1].bounds.replicas: min (5) and max (4) must be in this order`},
		{"a percentile of 100", "{latency: 250ms}", "{latency: 250ms, percentile: 100}", nil,
			`spec.objectives[0].percentile 100 must be above 0 and below 100`},
		{"a setting that the baseline does not have", "hpa:target=60", "hpa:targt=60", nil, `spec.policy.baseline: policy hpa: `},
		{"no such baseline", "hpa:target=60", "hbo", nil, `spec.policy.baseline: unknown policy "hbo"`},
		{"settings of the fallback", "services:", "fallback: hpa:target=x\nservices:", nil, `spec.fallback: policy hpa: `},
		{"a guard's setting", "services:", "guard: {data: {holdFor: 20m}}\nservices:", nil,
			`spec.guard: data.floorAfter 15m0s must be longer than data.holdFor 20m0s`},
		{"a number that is none", "services:", "guard: {gray: {part: half}}\nservices:", nil,
			`spec.guard.gray.part: "half" must be a number`},
		{"samples that are always late", "url: http://prometheus", "url: http://prometheus, scrapeInterval: 5m", nil,
			`spec.prometheus.scrapeInterval 5m0s must be shorter than guard.data.maxAge 2m0s`},
		{"two policies", `baseline: "hpa:target=60"`, `baseline: hpa, model: {folder: registry}`, nil,
			`spec.policy: give either model or baseline`},
	} {
		t.Run(row.name, func(t *testing.T) {
			spec := strings.Replace(plain, row.old, row.new, 1)
			if spec == plain {
				t.Fatal("the row changes nothing")
			}
			_, err := resource.Read(read(t, spec), row.twin)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

// The API server stores the default; a resource that it has not seen gets the same.
func TestThePlannerIsTheDefaultPolicy(t *testing.T) {
	a, err := resource.Read(read(t, strings.Replace(plain, `policy: {baseline: "hpa:target=60"}`, "", 1)), nil)
	if err != nil || a.Baseline != "planner" {
		t.Errorf("%+v, %v", a, err)
	}
}
