package rivals

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func seen(v float64) loadline.Sample { return loadline.Sample{Value: v, At: noon} }

// chain is an application of a root that asks a and b at once, then c, which asks d;
// b may be left out.
func chain() *loadline.App {
	app := &loadline.App{Name: "chain"}
	for _, name := range []string{"root", "a", "b", "c", "d"} {
		app.Services = append(app.Services, loadline.Service{
			Name: name, Replicas: 2, Workers: 8, OptionalPrice: 1, CPU: loadline.Dist{Mean: 10 * time.Millisecond},
			Size:   loadline.Size{CPURequest: 0.5, CPULimit: 1, MemoryRequest: 1 << 28, MemoryLimit: 1 << 29},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 8, MinCPU: 0.1, MaxCPU: 2, MinMemory: 1 << 26, MaxMemory: 1 << 30},
		})
	}
	call := func(service int, stages ...[]loadline.Call) loadline.Call {
		return loadline.Call{Service: service, Probability: 1, Times: 1, Work: 1, Stages: stages}
	}
	b := call(2)
	b.Optional = true
	app.Kinds = []loadline.Kind{{
		Name: "get", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 200 * time.Millisecond},
		Root: call(0, []loadline.Call{call(1), b}, []loadline.Call{call(3, []loadline.Call{call(4)})}),
	}}
	return app
}

// situation of the chain in which each service's own time is as given, in seconds,
// and users wait so long.
func situation(app *loadline.App, users float64, own ...float64) loadline.Situation {
	o := loadline.Observation{At: noon, Services: make([]loadline.ServiceObservation, len(app.Services)),
		Kinds: make([]loadline.KindObservation, 1)}
	o.Kinds[0] = loadline.KindObservation{Rate: seen(10), AtSLO: seen(users)}
	s := loadline.Situation{App: app}
	for i := range app.Services {
		so := &o.Services[i]
		so.Own = loadline.Latency{Mean: seen(own[i]), P50: seen(own[i]), P99: seen(2 * own[i])}
		so.Latency, so.Rate, so.CPU, so.Memory, so.Concurrency = so.Own, seen(10), seen(0.5), seen(1<<28), seen(1)
		for range app.Services[i].Replicas {
			so.Pods = append(so.Pods, loadline.PodObservation{Phase: loadline.PodReady, Ready: noon, Memory: seen(1 << 27)})
		}
		s.Allocation = append(s.Allocation, loadline.Allocation{Replicas: app.Services[i].Replicas, Size: app.Services[i].Size})
	}
	s.Window, s.InFlight = []loadline.Observation{o}, s.Allocation
	return s
}

func TestCriticalPath(t *testing.T) {
	app := chain()
	for _, c := range []struct {
		name    string
		own     []float64
		brown   bool
		path    []int
		seconds float64
	}{
		{"the slower of two parallel calls, then the chain", []float64{1, 2, 3, 4, 5}, false, []int{0, 2, 3, 4}, 13},
		{"the other one is slower", []float64{1, 4, 3, 4, 5}, false, []int{0, 1, 3, 4}, 14},
		{"what is browned out is not waited for", []float64{1, 2, 3, 4, 5}, true, []int{0, 1, 3, 4}, 12},
		{"what was not measured is not on it", []float64{1, 0, 0, 4, 5}, false, []int{0, 3, 4}, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := situation(app, 0.1, c.own...)
			s.Now().Services[2].Brownout = c.brown
			path, seconds := newPathFinder(app).critical(s.Now(), 0)
			if !slices.Equal(path, c.path) || math.Abs(seconds-c.seconds) > 1e-9 {
				t.Errorf("%v in %v s, want %v in %v s", path, seconds, c.path, c.seconds)
			}
		})
	}
	if got := newPathFinder(app).longestChains(); !slices.Equal(got, []int{3, 2, 2, 3, 3}) {
		t.Errorf("longest chains %v", got)
	}
}

func TestPearson(t *testing.T) {
	up := []float64{1, 2, 3, 4, 5}
	for _, c := range []struct {
		name string
		b    []float64
		want float64
	}{
		{"together", []float64{2, 4, 6, 8, 10}, 1}, {"against each other", []float64{5, 4, 3, 2, 1}, -1}, {"one does not move",
			[]float64{1, 1, 1, 1, 1}, 0},
		{"by hand", []float64{2, 1, 4, 3, 5}, 0.8},
	} {
		if got := Pearson(up, c.b); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if Pearson(up[:3], up[:3]) != 0 {
		t.Error("three looks are too few")
	}
}

func TestSVMSeparatesWhatCanBeSeparated(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var examples []Example
	for range 400 {
		x := []float64{100 * rng.Float64(), rng.Float64()} // of different sizes
		margin := x[0]/100 + x[1] - 1
		if math.Abs(margin) > 0.1 && (margin < 0 || rng.IntN(4) == 0) { // with few of one side
			examples = append(examples, Example{x, margin > 0})
		}
	}
	svm, err := TrainSVM(DefaultSVM(), examples, rng)
	if err != nil {
		t.Fatal(err)
	}
	if got := svm.Accuracy(examples); got < 0.99 {
		t.Errorf("accuracy %v", got)
	}
	if _, err := TrainSVM(DefaultSVM(), []Example{{[]float64{1, 2}, true}}, rng); err == nil {
		t.Error("examples of one side only were accepted")
	}
}

func TestTableTakesWhatWasTried(t *testing.T) {
	l := Levels{2, 3}
	table := NewTable(l.States(), 4)
	at := []float32{1, 2} // the last state
	if got := table.best(l, at); got != 0 {
		t.Errorf("untried: %d, want to keep", got)
	}
	copy(table.Values[5*4:], []float32{-3, -2, 0, 0})
	table.Note(l, at, 0)
	table.Note(l, at, 1)
	if got := table.best(l, at); got != 1 {
		t.Errorf("%d, want the better one of those tried", got)
	}
	table.Note(l, []float32{0, 0}, 3)
	for _, c := range []struct {
		seen []float32
		want int
	}{{[]float32{1, 1}, 1}, {[]float32{0, 1}, 3}} {
		if got := table.best(l, c.seen); got != c.want {
			t.Errorf("never seen %v: %d, want %d, as in the nearest state", c.seen, got, c.want)
		}
	}
	if got := l.Edges(); len(got) != 2 || !slices.Equal(got[1], []float32{1, 2}) {
		t.Errorf("edges %v", got)
	}
}

func TestReplicasOfChoices(t *testing.T) {
	for choice := range ASARSAChoices {
		if n := ReplicasOf(choice); choiceOf(n) != choice || n < -10 || n > 10 {
			t.Errorf("choice %d is %d replicas, which is choice %d", choice, n, choiceOf(n))
		}
	}
}

// model of the chain that knows one thing only.
func model(name Name, app *loadline.App) *Model {
	m := &Model{Rival: name, App: app.Name, Period: time.Minute}
	for i := range app.Services {
		m.Services = append(m.Services, app.Services[i].Name)
	}
	return m
}

func TestCoScal(t *testing.T) {
	app := chain()
	m := model(CoScalName, app)
	m.Table = NewTable(CoScalLevels().States(), len(CoScalMoves))
	p, err := New(m, app, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := situation(app, 0.1, 0.01, 0.01, 0.01, 0.01, 0.01)
	// Half a core of two replicas that ask for half a core each: 50 %. Memory is half
	// of what is asked for. Twice the visits are expected of the root.
	s.Forecast = make([]loadline.Forecast, len(app.Services))
	s.Forecast[0].Median = []loadline.Sample{seen(20)}
	if _, err := p.Decide(noon, s); err != nil {
		t.Fatal(err)
	}
	if got := p.Observed(0); !slices.Equal(got, []float32{2, 3, 2, 0}) {
		t.Errorf("root seen as %v", got)
	}
	if got := p.Observed(1); !slices.Equal(got, []float32{2, 2, 2, 0}) {
		t.Errorf("a seen as %v", got)
	}
	if len(p.Taken()) != len(app.Services) || p.Taken()[0].Action.Choice != coscalKeep {
		t.Errorf("an empty table did %v", p.Taken())
	}
	for _, c := range []struct {
		choice, service int
		want            loadline.Setting
		applied         int
	}{
		{coscalOut, 0, loadline.Setting{Replicas: loadline.Some(3)}, coscalOut},
		{coscalCPUUp, 0, loadline.Setting{CPULimit: loadline.Some(1.25), CPURequest: loadline.Some(0.625)}, coscalCPUUp},
		{coscalMemoryDown, 0, loadline.Setting{MemoryLimit: loadline.Some(int64(409 << 20)),
			MemoryRequest: loadline.Some(int64(204 << 20))}, coscalMemoryDown},
		{coscalBrownout, 0, loadline.Setting{}, coscalKeep}, // it is needed
		{coscalBrownout, 2, loadline.Setting{Brownout: loadline.Some(true)}, coscalBrownout},
	} {
		m.Table = NewTable(CoScalLevels().States(), len(CoScalMoves))
		if p, err = New(m, app, 0); err != nil {
			t.Fatal(err)
		}
		state := CoScalLevels().state([]float32{2, 2, 2, 0})
		m.Table.Values[state*len(CoScalMoves)+c.choice], m.Table.Tried[state*len(CoScalMoves)+c.choice] = 1, 1
		s.Forecast[0].Median = nil
		proposal, err := p.Decide(noon, s)
		if err != nil {
			t.Fatal(err)
		}
		got := loadline.Setting{}
		for _, sp := range proposal.Services {
			if sp.Service == c.service {
				got = sp.Setting
			}
		}
		if got != c.want || p.Taken()[c.service].Action.Choice != c.applied {
			t.Errorf("%s of service %d: %+v, %v; want %+v", CoScalMoves[c.choice], c.service, got, p.Taken()[c.service], c.want)
		}
	}
	// At 50 % CPU and memory, SLO met: 1/(1 + 0.1^3 + 0.25^3).
	if got, known := p.Reward(s, 0); !known || math.Abs(got-1/(1+0.001+0.015625)) > 1e-6 {
		t.Errorf("reward %v", got)
	}
	s.Now().Services[2].Dropped = seen(10) // as many as came
	if got, _ := p.Reward(s, 2); math.Abs(got-(1/(1+0.001+0.015625)-1.5)) > 1e-6 {
		t.Errorf("reward with half of the calls dropped %v", got)
	}
}

// TestCoScalsForecastIsAStage: the loop asks its forecasters before it decides, so that
// the forecasts are in the situation, and in the decision log.
func TestCoScalsForecastIsAStage(t *testing.T) {
	app := chain()
	m := model(CoScalName, app)
	m.Table = NewTable(CoScalLevels().States(), len(CoScalMoves))
	m.GRUs = make([]*forecast.GRU, len(app.Services))
	var err error
	if m.GRUs[0], err = forecast.NewGRU(GRUTask(), forecast.GRUConfig{Window: 3, Hidden: 4, Members: 1, Epochs: 5, Patience: 2,
		Seed: 1}); err != nil {
		t.Fatal(err)
	}
	past := make([]float64, 120)
	for i := range past {
		past[i] = 10 + float64(i%12)
	}
	if err := m.GRUs[0].Fit(t.Context(), forecast.NewFrame("visits", noon.Add(-2*time.Hour), m.Period, past)); err != nil {
		t.Fatal(err)
	}
	p, err := New(m, app, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		now := noon.Add(time.Duration(i) * m.Period)
		s := situation(app, 0.1, 0.01, 0.01, 0.01, 0.01, 0.01)
		loop.Prepare(p, now, &s)
		if len(s.Forecast) != len(app.Services) || len(s.Forecast[1].Median) != 0 || !slices.Equal(s.PartialSLO, p.Split(now, s)) {
			t.Fatalf("decision %d: forecasts %+v, parts %v", i, s.Forecast, s.PartialSLO)
		}
		if known := len(s.Forecast[0].Median) == 1; known != (i >= 2) {
			t.Fatalf("decision %d: a window of 3 gives the forecast %+v", i, s.Forecast[0])
		}
		if _, err := p.Decide(now, s); err != nil {
			t.Fatal(err)
		}
		growth := 1.0
		if i >= 2 {
			growth = s.Forecast[0].Median[0].Value / s.Now().Services[0].Rate.Value
		}
		if got, want := p.Observed(0)[1], level(0.5*growth, quarters...); got != want {
			t.Errorf("decision %d: expected CPU in quarter %v, want %v with a growth of %v", i, got, want, growth)
		}
	}
}

func TestASARSA(t *testing.T) {
	app := chain()
	m := model(ASARSAName, app)
	m.Table = NewTable(ASARSALevels().States(), ASARSAChoices)
	m.ARIMA = make([]Fits, len(app.Services))
	m.ARIMA[0].CPU = &forecast.ARIMAFit{AR: []float64{1}, D: 1} // it goes on as it went
	p, err := New(m, app, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := situation(app, 0.1, 0.01, 0.01, 0.01, 0.01, 0.01)
	for _, cores := range []float64{0.5, 0.9} {
		s.Now().Services[0].CPU = seen(cores)
		if _, err := p.Decide(noon, s); err != nil {
			t.Fatal(err)
		}
	}
	// 1.3 cores are expected of two replicas of one core: 65 %.
	if got := p.Observed(0)[0]; got != 6 {
		t.Errorf("expected CPU in bin %v, want 6", got)
	}
	if got := p.Observed(1)[0]; got != 2 {
		t.Errorf("CPU of another in bin %v, want 2", got)
	}
	// The reward is of what was observed.
	if got, known := p.Reward(s, 0); !known || math.Abs(got-0.45) > 1e-6 {
		t.Errorf("reward %v, want the utilisation", got)
	}
	s.Now().Services[0].Latency.P99 = seen(9)
	if got, _ := p.Reward(s, 0); got != -worstOver {
		t.Errorf("reward of a late service %v", got)
	}
	// Ten more than two are as many as are allowed: six more are learned from.
	state := ASARSALevels().state(p.Observed(1))
	m.Table.Values[state*ASARSAChoices+choiceOf(10)], m.Table.Tried[state*ASARSAChoices+choiceOf(10)] = 1, 1
	if _, err := p.Decide(noon, s); err != nil {
		t.Fatal(err)
	}
	if got := ReplicasOf(p.Taken()[1].Action.Choice); got != 6 {
		t.Errorf("%+d replicas, want +6", got)
	}
}

func firm(t testing.TB, app *loadline.App, bias ...float32) (*Model, Rival) {
	t.Helper()
	m := model(FIRMName, app)
	m.Kinds = len(app.Kinds)
	m.SVM = &SVM{Mean: []float64{0, 0}, Spread: []float64{1, 1}, Weight: []float64{1, 1}}
	for range app.Services {
		net, err := nn.MLP{Inputs: []int{FIRMWidth(m.Kinds)}, Outputs: FIRMAxes, Output: nn.Tanh}.Design().Build(nn.HeUniform,
			rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		params := net.Params()
		clear(params)
		copy(params[len(params)-FIRMAxes:], bias) // always the same
		m.Actors = append(m.Actors, net)
	}
	p, err := New(m, app, 0)
	if err != nil {
		t.Fatal(err)
	}
	return m, p
}

func TestFIRMActsOnTheCulprit(t *testing.T) {
	app := chain()
	_, p := firm(t, app, 0.5, -2, 1)
	// Users wait too long, and c is the one that is congested.
	s := situation(app, 0.5, 0.01, 0.01, 0.01, 0.2, 0.01)
	s.Now().Services[3].Own.P99 = seen(2)
	proposal, err := p.Decide(noon, s)
	if err != nil {
		t.Fatal(err)
	}
	if len(proposal.Services) != 1 || proposal.Services[0].Service != 3 {
		t.Fatalf("%+v, want c", proposal)
	}
	// Memory is what the actor wants most: by 1.5^tanh(-2) down.
	if got := proposal.Services[0].Setting; got.Replicas.Set || got.CPULimit.Set || got.MemoryLimit.Value != 346<<20 {
		t.Errorf("%+v", got)
	}
	if got := p.Taken()[0].Action.Values; got[0] != 0 || got[2] != 0 || math.Abs(float64(got[1])-math.Tanh(-2)) > 1e-6 {
		t.Errorf("taken %v", got)
	}
	// Where that is not possible, what it wants next: a replica more.
	for i := range s.Now().Services[3].Pods {
		s.Now().Services[3].Pods[i].Memory = loadline.Sample{}
	}
	if proposal, err = p.Decide(noon, s); err != nil || proposal.Services[0].Setting != (loadline.Setting{Replicas: loadline.Some(3)}) {
		t.Errorf("%+v, %v", proposal, err)
	}
	// 5 * 0.2/0.5, a quarter of the CPU, a quarter of the memory, 1 of 16 workers.
	if got, known := p.Reward(s, 0); !known || math.Abs(got-(2+0.25+0.25+1.0/16)) > 1e-6 {
		t.Errorf("reward %v", got)
	}
}

func TestFIRMTakesTurns(t *testing.T) {
	app := chain()
	_, p := firm(t, app, 1, 0, 0)
	s := situation(app, 0.1, 0.01, 0.01, 0.01, 0.01, 0.01)
	var turns []int
	for range 6 {
		proposal, err := p.Decide(noon, s)
		if err != nil || len(proposal.Services) != 1 {
			t.Fatalf("%+v, %v", proposal, err)
		}
		turns = append(turns, proposal.Services[0].Service)
	}
	if !slices.Equal(turns, []int{0, 3, 4, 1, 2, 0}) { // the longest chain first
		t.Errorf("turns %v", turns)
	}
}

func TestFilesComeBack(t *testing.T) {
	app := chain()
	m, _ := firm(t, app, 1, 0, 0)
	file, err := m.File()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := file.Encode(&b); err != nil {
		t.Fatal(err)
	}
	again, err := modelfile.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	back, err := FromFile(FIRMName, again)
	if err != nil {
		t.Fatal(err)
	}
	if back.Parameters() != m.Parameters() || !slices.Equal(back.Services, m.Services) || back.Period != m.Period ||
		back.SVM.Weight[0] != 1 {
		t.Errorf("%+v", back)
	}
	if _, err := FromFile(CoScalName, again); err == nil || !strings.Contains(err.Error(), "--formulation coscal") {
		t.Errorf("another rival's file: %v", err)
	}
	m.SVM, m.Actors = nil, m.Actors[:2]
	if _, err := New(m, app, 0); err == nil || !strings.Contains(err.Error(), "2 actors, must have 5") || !strings.Contains(err.Error(),
		"support vector machine is missing") {
		t.Errorf("a model with missing parts: %v", err)
	}
	other := chain()
	for i := range other.Services {
		other.Services[i].Name += "x"
	}
	m, _ = firm(t, app, 1, 0, 0)
	if _, err := New(m, other, 0); err == nil || !strings.Contains(err.Error(), "train one for it") {
		t.Errorf("another application: %v", err)
	}
}
