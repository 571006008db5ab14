package drpc

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/rl"
)

// untaught is a model of random but reproducible weights.
func untaught(t testing.TB, app *loadline.App, kind Kind) *Model {
	t.Helper()
	encoder, err := NewEncoder(app)
	if err != nil {
		t.Fatal(err)
	}
	n := len(app.Services)
	outputs := Axes
	if kind == Discrete {
		outputs *= Choices
	}
	teacher, err := nn.MLP{Inputs: []int{encoder.Width(Shared) / n}, Hidden: []int{16}, Outputs: outputs,
		Output: nn.Tanh}.Design().Build(nn.HeUniform, rl.NewRNG(1, 1).Rand)
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{
		App: app.Name, Kind: kind, Shape: Shared, Teacher: teacher, Period: 30 * time.Second, Version: 1, Pace: DefaultPace(),
		Steps:  DefaultSteps(),
		Reward: DefaultReward(), Notifier: DefaultNotifier(), Visits: NewVisitCounts(), Mix: Mix{0.75, 0.25},
	}
	for i := range app.Services {
		m.Services = append(m.Services, app.Services[i].Name)
		m.Students = append(m.Students, newStudent(t, app.Services[i].Name, uint64(i)).Net())
		m.Forecasts = append(m.Forecasts, nil)
	}
	return m
}

// eager sets a student's weights so that it always wants the same action.
func eager(m *Model, service int, want Action) {
	net := m.Students[service]
	clear(net.Params())
	for _, tensor := range net.Tensors() {
		if len(tensor.Data) == Axes { // the last biases
			for axis, x := range want {
				tensor.Data[axis] = 3 * x // tanh of it is nearly x
			}
		}
	}
}

func TestStudentsDecideForTheirOwnServices(t *testing.T) {
	app := shop()
	m := untaught(t, app, Continuous)
	eager(m, 0, Action{0, 0, 1})
	eager(m, 1, Action{})
	eager(m, 2, Action{-1, 0, 0})
	p, err := NewPolicy(m, app, Work{Decider: ByStudents})
	if err != nil {
		t.Fatal(err)
	}
	var desired []string
	p.Decided = func(service int, _ time.Time, _ *Local, done Action) {
		desired = append(desired, fmt.Sprintf("%d %.1f", service, done))
	}
	proposal, err := p.Decide(noon, calm(app))
	if err != nil {
		t.Fatal(err)
	}
	if len(proposal.Services) != 2 || proposal.Services[0].Setting.Replicas.Or(0) != 3 ||
		proposal.Services[1].Setting.CPULimit.Or(0) >= 0.5 {
		t.Errorf("%+v", proposal)
	}
	why := proposal.Services[0].Reason
	if !strings.Contains(why, "30 req/s, load at 30 %") || !strings.Contains(why, "the network chose 3 replicas") {
		t.Errorf("the reason is %q", why)
	}
	if fmt.Sprint(desired) != "[0 [0.0 0.0 1.0] 1 [0.0 0.0 0.0] 2 [-1.0 0.0 0.0]]" {
		t.Errorf("desired %v", desired)
	}
	// Students that changed something decide again when the effect is measured, the other
	// later.
	desired = nil
	if _, err := p.Decide(noon.Add(metricsWindow), calm(app)); err != nil {
		t.Fatal(err)
	}
	if len(desired) != 2 || p.Periods()[1] != m.Pace.Most {
		t.Errorf("%v decide a window later, periods are %v", desired, p.Periods())
	}
}

func TestWhatIsNotMeasuredIsLeftAsItIs(t *testing.T) {
	app := shop()
	m := untaught(t, app, Continuous)
	for i := range m.Students {
		eager(m, i, Action{0, 0, 1})
	}
	for _, who := range []Decider{ByStudents, ByTeacher} {
		p, err := NewPolicy(m, app, Work{Decider: who})
		if err != nil {
			t.Fatal(err)
		}
		s := calm(app)
		s.Window[0].Services[1].CPU = loadline.Sample{}
		proposal, err := p.Decide(noon, s)
		switch {
		case who == ByTeacher && !errors.Is(err, loadline.ErrNoData):
			t.Errorf("the teacher decides without knowing everything: %+v, %v", proposal, err)
		case who == ByStudents && (err != nil || len(proposal.Services) != 2):
			t.Errorf("%+v, %v; want two proposals", proposal, err)
		}
		for i := range s.Window[0].Services {
			s.Window[0].Services[i].Rate = loadline.Sample{}
		}
		if _, err := p.Decide(noon.Add(time.Hour), s); !errors.Is(err, loadline.ErrNoData) {
			t.Errorf("%s: %v without any rate, want %v", who, err, loadline.ErrNoData)
		}
	}
}

func TestTeachersAtWork(t *testing.T) {
	app := shop()
	for _, kind := range Kinds() {
		p, err := NewPolicy(untaught(t, app, kind), app, Work{Decider: ByTeacher})
		if err != nil {
			t.Fatal(err)
		}
		if n := p.Needs(); n.Period != 30*time.Second {
			t.Errorf("%s decides every %v, want 30s", kind, n.Period)
		}
		if _, err := p.Decide(noon, calm(app)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestModelsAreOfTheirServices(t *testing.T) {
	app := shop()
	m := untaught(t, app, Continuous)
	other := shop()
	other.Services[1].Name = "basket"
	p, err := NewPolicy(m, other, Work{Decider: ByStudents})
	if err != nil || p.Student(0) == nil || p.Student(1) != nil {
		t.Errorf("a service without a student is to be left: %v", err)
	}
	if _, err := NewPolicy(m, other, Work{Decider: ByTeacher}); err == nil {
		t.Error("a teacher decides for unknown services")
	}
	for i := range other.Services {
		other.Services[i].Name = fmt.Sprint("other", i)
	}
	if _, err := NewPolicy(m, other, Work{}); err == nil || !strings.Contains(err.Error(), "front, cart, ads") {
		t.Errorf("%v, want an error that names what it was trained for", err)
	}
}

// decide runs the policy's stages first, as the loop does.
func decide(p *Policy, now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	loop.Prepare(p, now, &s)
	return p.Decide(now, s)
}

func TestModelsKeepEverything(t *testing.T) {
	app := shop()
	m := untaught(t, app, Continuous)
	visits := make([]float64, 200)
	for i := range visits {
		visits[i] = 30 + float64(i%17)
	}
	gru, err := forecast.NewGRU(ForecastTask(), forecast.GRUConfig{Window: 5, Hidden: 4, Members: 1, Epochs: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := gru.Fit(t.Context(), forecast.NewFrame("visits", noon, ForecastStep, visits)); err != nil {
		t.Fatal(err)
	}
	m.Forecasts[1] = gru
	m.Visits.Add(&Local{1, 1, 1, 1, 1})
	m.Results = []modelfile.Result{{Name: "mean reward, students", On: "nothing", Value: 0.9}}
	path := filepath.Join(t.TempDir(), "drpc.safetensors")
	if err := m.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Visits.Cells() != 1 || got.Forecasts[1] == nil || got.Forecasts[0] != nil || got.Pace != m.Pace ||
		got.Results[0] != m.Results[0] || got.Mix[0] != 0.75 {
		t.Errorf("%+v", got)
	}
	// Both decide the same, forecasts included.
	a, err := NewPolicy(m, app, Work{Decider: ByStudents})
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewPolicy(got, app, Work{Decider: ByStudents})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		now := noon.Add(time.Duration(i) * 20 * time.Second)
		s := calm(app)
		s.Window[0].At = now
		for k := range s.Window[0].Services {
			s.Window[0].Services[k].Rate = loadline.Sample{Value: visits[i], At: now}
		}
		pa, errA := decide(a, now, s)
		pb, errB := decide(b, now, s)
		if fmt.Sprint(pa) != fmt.Sprint(pb) || errA != nil || errB != nil {
			t.Fatalf("step %d: %v (%v) and %v (%v)", i, pa, errA, pb, errB)
		}
	}
	if n := len(a.Forecast(noon, calm(app).Window)[1].Median); n != 5 {
		t.Errorf("%d medians after twenty minutes, want 5", n)
	}
	if _, err := FromFile(modelfile.New(modelfile.Card{Kind: "policy/dqn"})); err == nil || !strings.Contains(err.Error(),
		"--formulation drpc") {
		t.Errorf("a foreign model: %v", err)
	}
}

// crowd is an application of many services.
func crowd(n int) *loadline.App {
	one := shop()
	app := &loadline.App{Name: "crowd", Nodes: one.Nodes, Kinds: one.Kinds[1:]}
	for i := range n {
		s := one.Services[0]
		s.Name = fmt.Sprint("s", i)
		app.Services = append(app.Services, s)
	}
	return app
}

// BenchmarkThousandStudents is one second in which a thousand students decide: observing,
// deciding, scaling and explaining. The figure is the share of a core.
func BenchmarkThousandStudents(b *testing.B) {
	app := crowd(1000)
	m := untaught(b, app, Continuous)
	m.Pace.Least, m.Pace.Most = time.Second, time.Second
	p, err := NewPolicy(m, app, Work{Decider: ByStudents})
	if err != nil {
		b.Fatal(err)
	}
	s := calm(app)
	now := noon
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		if _, err := p.Decide(now, s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*b.Elapsed().Seconds()/float64(b.N), "%core")
}
