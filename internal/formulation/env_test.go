package formulation

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/nn"
)

// chain is a front end that calls a store twice as long as itself, in half of the
// requests.
func chain() *loadline.App {
	service := func(name string, cpu time.Duration) loadline.Service {
		return loadline.Service{
			Name: name, CPU: loadline.Dist{Mean: cpu}, Workers: 4, Replicas: 2,
			Size:   loadline.Size{CPURequest: 0.5, CPULimit: 1, MemoryRequest: 100, MemoryLimit: 200},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 10, MinCPU: 0.1, MaxCPU: 2},
		}
	}
	return &loadline.App{
		Name: "chain",
		Services: []loadline.Service{service("front", 10*time.Millisecond), service("store", 40*time.Millisecond),
			service("idle", time.Millisecond)},
		Kinds: []loadline.Kind{{Name: "get", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 300 * time.Millisecond},
			Root: loadline.Call{
				Probability: 1, Times: 1, Work: 1,
				Stages: [][]loadline.Call{{{Service: 1, Probability: 0.5, Times: 1, Work: 1}}},
			}}},
	}
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func seen(v float64) loadline.Sample { return loadline.Sample{Value: v, At: noon} }

// busy is the chain with the store at 60 visits per second.
func busy(app *loadline.App) loadline.Situation {
	now := loadline.Observation{At: noon, Services: make([]loadline.ServiceObservation, 3), Kinds: make([]loadline.KindObservation, 1)}
	s := &now.Services[1]
	s.Rate, s.Errors, s.CPU, s.Memory = seen(60), seen(6), seen(1.5), seen(300)
	s.Queue, s.Concurrency, s.Throttled = seen(4), seen(6), seen(0.25)
	s.Latency = loadline.Latency{Mean: seen(0.1), P50: seen(0.08), P90: seen(0.2), P95: seen(0.3), P99: seen(0.48)}
	s.Pods = []loadline.PodObservation{{Phase: loadline.PodReady}, {Phase: loadline.PodReady}, {Phase: loadline.PodStarting}}
	before := loadline.Observation{At: noon.Add(-time.Minute), Services: make([]loadline.ServiceObservation, 3)}
	before.Services[1].Rate = seen(30)
	desired := make([]loadline.Allocation, 3)
	for i := range desired {
		desired[i] = loadline.Allocation{Replicas: 3, Size: app.Services[i].Size}
	}
	return loadline.Situation{App: app, Window: []loadline.Observation{before, now}, Allocation: desired, InFlight: desired}
}

func TestGround(t *testing.T) {
	g := NewTopology(chain())
	front, store, idle := g.Services[0], g.Services[1], g.Services[2]
	if front.Budget != (loadline.SLO{Percentile: 99, Latency: 300 * time.Millisecond}) {
		t.Errorf("the front end has all of the budget, not %v", front.Budget)
	}
	// A request takes 10 ms + half of 40 ms when nothing waits; a visit to the store 40.
	if want := 400 * time.Millisecond; store.Budget.Latency != want {
		t.Errorf("the store's budget is %v, want %v", store.Budget.Latency, want)
	}
	if front.Depth != 0 || store.Depth != 1 {
		t.Errorf("depths %v and %v", front.Depth, store.Depth)
	}
	if store.Visits[0] != 0.5 || idle.Visits[0] != 0 || math.Abs(front.Below-0.02) > 1e-9 || store.CPU != 0.04 {
		t.Errorf("front %+v, store %+v, idle %+v", front, store, idle)
	}
}

func TestFeatures(t *testing.T) {
	app := chain()
	g, s := NewTopology(app), busy(app)
	s.PartialSLO = []loadline.SLO{{}, {Percentile: 99, Latency: 400 * time.Millisecond}, {}}
	s.Forecast = []loadline.Forecast{{}, {High: []loadline.Sample{seen(70), seen(90)}}, {}}
	little := 0.05 / 0.04
	want := map[string]float64{
		"rate": 60, "replicas": 3, "cpu": 1.5, "cpu_limit": 0.75, "cpu_idle": 0.25, "memory": 0.75, "memory_request": 1.5,
		"memory_free": 0.25,
		"load":        0.8, "load_ahead": 0.8, "need": math.Log2(1 + 2.4), "latency": 1.2, "latency_mean": 0.25, "latency_p50": 0.2,
		"latency_p90": 0.5,
		"latency_p95": 0.75, "latency_p99": 1.2, "queue": 0.5, "concurrency": 0.75, "held": 0, "errors": 0.1, "throughput": 0.9,
		"throttled": 0.25, "starting": 1.0 / 3, "depth": 1, "fill": 0.3, "size": 0.5,
		"trend": math.Log2((60 + little) / (30 + little)), "trend_5m": math.Log2((60 + little) / (30 + little)), "forecast": 1.5,
	}
	v := newView(g, s, 1)
	for _, f := range Features() {
		got, present := f.of(&v)
		if w, known := want[f.Name]; !known || !present || math.Abs(got-w) > 1e-9 {
			t.Errorf("%s is %v (present %v), want %v (known %v)", f.Name, got, present, w, known)
		}
		if f.About == "" {
			t.Errorf("%s says nothing about itself", f.Name)
		}
	}
}

func TestAbsentIsNotZero(t *testing.T) {
	app := chain()
	g, s := NewTopology(app), busy(app)
	needsMetrics := map[string]bool{
		"replicas": false, "starting": false, "depth": false, "fill": false, "size": false, "held": true,
	}
	s.Window = []loadline.Observation{{At: noon, Services: make([]loadline.ServiceObservation, 3)}}
	v := newView(g, s, 1)
	for _, f := range Features() {
		_, present := f.of(&v)
		if needed, listed := needsMetrics[f.Name]; present == (needed || !listed) {
			t.Errorf("%s is present (%v) although nothing was measured", f.Name, present)
		}
	}
	// No visits, so none was late.
	s.Window[0].Services[1].Rate = seen(0)
	v = newView(g, s, 1)
	for _, name := range []string{"latency", "latency_mean", "trend"} {
		f, _ := featuresNamed([]string{name})
		if got, present := f[0].of(&v); !present || got != 0 {
			t.Errorf("%s is %v (present %v) of a service without visits, want 0", name, got, present)
		}
	}
}

func TestMoves(t *testing.T) {
	app := chain()
	g, s := NewTopology(app), busy(app)
	v := newView(g, s, 1)
	for _, c := range []struct {
		move Move
		want loadline.Setting
	}{
		{addReplicas(1), loadline.Setting{Replicas: loadline.Some(4)}},
		{addReplicas(-1), loadline.Setting{Replicas: loadline.Some(2)}},
		{addReplicas(-9), loadline.Setting{Replicas: loadline.Some(1)}},
		{addReplicas(90), loadline.Setting{Replicas: loadline.Some(10)}},
		{fillTo(0.6), loadline.Setting{Replicas: loadline.Some(4)}}, // 2.4 busy ones at 60 %
		{fillTo(0.8), loadline.Setting{Replicas: loadline.Some(3)}},
		{scaleCPU(1.25), loadline.Setting{CPURequest: loadline.Some(1.25), CPULimit: loadline.Some(1.25)}},
		{scaleCPU(0.01), loadline.Setting{CPURequest: loadline.Some(0.1), CPULimit: loadline.Some(0.1)}},
		{leave(), loadline.Setting{Replicas: loadline.Some(3)}},
	} {
		if got := c.move.to(&v); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.move.Name, got, c.want)
		}
	}
	// 2.4 cores of visits on three replicas need 0.8 each; a little below that is 0.68.
	v.follow = true
	if got, want := fillTo(0.8).to(&v), (loadline.Setting{Replicas: loadline.Some(3), CPURequest: loadline.Some(0.68)}); got != want {
		t.Errorf("with the request following: %+v, want %+v", got, want)
	}
	v.desired.Size.CPURequest = 0.65
	if got, want := fillTo(0.8).to(&v), (loadline.Setting{Replicas: loadline.Some(3)}); got != want {
		t.Errorf("with the request near enough: %+v, want %+v", got, want)
	}
	p, err := NewProblem("scaling-ops", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for replicas, want := range map[int]int{1: 0, 2: 0, 3: 1, 4: 2, 9: 2} {
		if got := p.ChoiceOf(g, s, 1, loadline.Allocation{Replicas: replicas, Size: s.InFlight[1].Size}); got != want {
			t.Errorf("from 3 to %d replicas is choice %d, want %d", replicas, got, want)
		}
	}
}

func TestRewards(t *testing.T) {
	app := chain()
	g, s := NewTopology(app), busy(app)
	paid := Spend{Replicas: 3, CPU: 0.5, Memory: 1 << 30, Changed: true, Reference: 2}
	for _, c := range []struct {
		formulation string
		params      map[string]float64
		want        float64
	}{
		// CPU 1.5 of the request, 100 ms of 400: 1/(1 + 0.25), 3 replicas.
		{"scaling-ops", nil, 1.5 + 0.8 - 0.9},
		{"scaling-ops", map[string]float64{"weight": 1}, 1.5 + 0.8 - 3},
		{"elastic-dqn", map[string]float64{"cost": 2}, -0.25 - 2*0.3},
		// 480 ms of 400: late.
		{"serverless-horizontal", nil, -1 - 1.5/20},
		{"serverless-vertical", map[string]float64{"cpu": 0}, -1},
		// The budget is broken: as bad as it gets, for 60 visits of 40 ms.
		{"loadline-dqn", map[string]float64{"over": 0.5}, (-1.5-3*0.13-0.5*10*2.4)/2 - 0.1},
	} {
		p, err := NewProblem(c.formulation, 0, c.params)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Reward(g, s, 1, paid); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s %v: %v, want %v", c.formulation, c.params, got, c.want)
		}
	}
	if got := ScalingOpsReward(0.5, 0.25, 0.25, 2, 0.3, -2); math.Abs(got-(0.5-2-0.6)) > 1e-9 {
		t.Errorf("a delay of the SLA is over it: %v", got)
	}
}

func TestProblemRefusesWhatIsUnknown(t *testing.T) {
	for _, c := range []struct {
		formulation string
		period      time.Duration
		params      map[string]float64
		want        string
	}{
		{"scaling-opps", 0, nil, `did you mean "scaling-ops"`},
		{"elastic-dqn", 0, map[string]float64{"latensy": 1}, `did you mean "latency"`},
		{"loadline-dqn", time.Millisecond, nil, "at least 1s"},
	} {
		if _, err := NewProblem(c.formulation, c.period, c.params); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func untrained(t *testing.T, formulation string) *Model {
	p, err := NewProblem(formulation, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	spaces := p.Spaces()
	net, err := nn.MLP{Inputs: []int{spaces.Observation}, Hidden: []int{8}, Outputs: spaces.Choices}.Design().Build(nn.PyTorchUniform,
		rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	scales := make([]Scale, spaces.Observation)
	for i := range scales {
		scales[i] = Scale{Mean: 0.5, Spread: 2}
	}
	return &Model{Problem: p, Networks: []Network{{Service: "store", Scales: scales, Net: net}}}
}

func TestModelComesBackAsItWas(t *testing.T) {
	for _, f := range FormulationNames() {
		path := filepath.Join(t.TempDir(), "m.safetensors")
		m := untrained(t, f)
		if err := m.Write(path); err != nil {
			t.Fatal(err)
		}
		back, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		app := chain()
		s := busy(app)
		for i := range s.Window[1].Services {
			s.Window[1].Services[i] = s.Window[1].Services[1]
		}
		first, err := NewPolicy(m, app)
		if err != nil {
			t.Fatal(err)
		}
		second, err := NewPolicy(back, app)
		if err != nil {
			t.Fatal(err)
		}
		a, err := first.Decide(noon, s)
		if err != nil {
			t.Fatal(err)
		}
		b, err := second.Decide(noon, s)
		if err != nil || len(a.Services) != 1 || a.Services[0].Service != 1 {
			t.Fatalf("%s: proposal %+v, %v", f, a, err)
		}
		if a.Services[0].Reason != b.Services[0].Reason || a.Services[0].Setting != b.Services[0].Setting {
			t.Errorf("%s: %+v became %+v", f, a, b)
		}
		if up := a.Services[0].RunnerUp; up == nil || up.Setting == a.Services[0].Setting {
			t.Errorf("%s: the runner-up %+v does the same", f, up)
		}
	}
}

func TestModelOfAnotherApplicationIsRefused(t *testing.T) {
	app := chain()
	app.Services = app.Services[:1]
	app.Kinds[0].Root.Stages = nil
	if _, err := NewPolicy(untrained(t, "loadline-dqn"), app); err == nil || !strings.Contains(err.Error(), "trained for store") {
		t.Errorf("got %v", err)
	}
}

// TestModelWithAFormerNameIsRead: loadline-dqn was called loadline.
func TestModelWithAFormerNameIsRead(t *testing.T) {
	m := untrained(t, "loadline-dqn")
	m.Problem.Formulation = "loadline"
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := m.Write(path); err != nil {
		t.Fatal(err)
	}
	back, err := Open(path)
	if err != nil || back.Problem.Formulation != "loadline-dqn" {
		t.Errorf("%+v, %v", back, err)
	}
	if _, err := NewProblem("loadline", 0, nil); err == nil {
		t.Error("the former name is taken for a new model")
	}
}

func TestModelOfAnotherVersionIsRefused(t *testing.T) {
	for what, damage := range map[string]func(*Model){
		"unknown formulation": func(m *Model) { m.Problem.Formulation = "scaling-oops" },
		"unknown constant":    func(m *Model) { m.Problem.Params["weigth"] = 1 },
		"too few scales":      func(m *Model) { m.Networks[0].Scales = m.Networks[0].Scales[:2] },
		"spread of nothing":   func(m *Model) { m.Networks[0].Scales[1].Spread = 0 },
	} {
		m := untrained(t, "scaling-ops")
		m.Networks = append(m.Networks, m.Networks[0]) // scales of several are in the settings alone
		damage(m)
		path := filepath.Join(t.TempDir(), "m.safetensors")
		if err := m.Write(path); err != nil {
			t.Fatal(what, err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "train it again") {
			t.Errorf("%s: %v", what, err)
		}
	}
	path := filepath.Join(t.TempDir(), "foreign")
	if err := os.WriteFile(path, []byte("not a model at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil {
		t.Error("a foreign file was taken")
	}
}

func TestPolicyHoldsWithoutData(t *testing.T) {
	app := chain()
	p, err := NewPolicy(untrained(t, "elastic-dqn"), app)
	if err != nil {
		t.Fatal(err)
	}
	s := busy(app)
	s.Window[1].Services[1].Memory = loadline.Sample{}
	if _, err := p.Decide(noon, s); err == nil || !strings.Contains(err.Error(), "memory of store") {
		t.Errorf("got %v", err)
	}
}

func TestTheDocumentHasEveryName(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "formulations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(FeatureNames(), FormulationNames()...) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/formulations.md does not name %s", name)
		}
	}
	for _, f := range Features() {
		if !strings.Contains(string(text), f.About) {
			t.Errorf("docs/formulations.md says something else of %s than %q", f.Name, f.About)
		}
	}
}
