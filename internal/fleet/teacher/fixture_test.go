package teacher

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
)

// soon is longer than the test binary's timeout, which is the bound: no test depends on
// how fast the machine is.
const soon = 24 * time.Hour

// serve runs an embedded server.
func serve(t *testing.T) *fleet.Server {
	t.Helper()
	c := fleet.DefaultServer(t.TempDir())
	c.LazySync = true
	s, err := fleet.Serve(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// link opens an end of a fleet.
func link(t *testing.T, s *fleet.Server, name string) *fleet.Link {
	t.Helper()
	c := fleet.Default()
	c.Server, c.Name, c.Timeout = s, name, 20*time.Second
	l, err := fleet.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if err := l.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return l
}

// shop is bookinfo with a second kind of requests, which visits details only.
func shop(t testing.TB) *loadline.App {
	t.Helper()
	loaded, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	app := loaded.App
	look := app.Kinds[0]
	look.Name, look.Root = "look", loadline.Call{Service: app.ServiceIndex("details"), Probability: 1, Times: 1, Work: 1}
	app.Kinds = append(slices.Clone(app.Kinds), look)
	app.Kinds[0].Share, app.Kinds[1].Share = 0.9, 0.1
	return app
}

// load is a constant rate, with one share of the first kind until the mix changes, and another
// share after.
type load struct {
	rate          float64
	before, after float64
	change        time.Duration
}

// Rate implements sim.Arrivals.
func (l load) Rate(kind int, at time.Duration) (float64, time.Duration) {
	share, until := l.before, l.change
	if at >= l.change {
		share, until = l.after, sim.Never
	}
	if kind > 0 {
		share = 1 - share
	}
	return l.rate * share, until
}

// steady is a constant load.
var steady = load{rate: 60, before: 0.9, change: sim.Never}

func scenario(app *loadline.App) *train.Scenario {
	return &train.Scenario{App: app, Load: steady, Duration: time.Hour, Source: "a test"}
}

// ignorant is a model with random but fixed weights.
func ignorant(t testing.TB, app *loadline.App) *drpc.Model {
	t.Helper()
	encoder, err := drpc.NewEncoder(app)
	if err != nil {
		t.Fatal(err)
	}
	inputs := encoder.Width(drpc.Shared) / len(app.Services)
	teacher, err := nn.MLP{Inputs: []int{inputs}, Hidden: []int{32, 32}, Outputs: drpc.Axes,
		Output: nn.Tanh}.Design().Build(nn.PyTorchUniform, rl.NewRNG(1, 1).Rand)
	if err != nil {
		t.Fatal(err)
	}
	m := &drpc.Model{
		App: app.Name, Kind: drpc.Continuous, Shape: drpc.Shared, Teacher: teacher, Period: 30 * time.Second, Version: 1,
		Pace:  drpc.DefaultPace(),
		Steps: drpc.DefaultSteps(), Reward: drpc.DefaultReward(), Visits: drpc.NewVisitCounts(), Mix: drpc.Mix{0.9, 0.1},
		Notifier: drpc.NotifierConfig{Rewards: 10, Threshold: -10},
	}
	for i := range app.Services {
		student, err := drpc.NewStudent(app.Services[i].Name, drpc.StudentConfig(), uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		m.Services, m.Students, m.Forecasts = append(m.Services, app.Services[i].Name), append(m.Students,
			student.Net()), append(m.Forecasts, nil)
	}
	return m
}

// small is the smallest configuration that has everything.
func small(m *drpc.Model) Config {
	c := Default(m)
	s := &c.Training
	s.Teacher.WarmUp, s.Teacher.Batch, s.Teacher.Explore.Steps = 80, 16, 600
	s.Episode = 20
	s.Stage1 = trainer.Stage1{Steps: 200, Every: 100, Episodes: 2, Patience: 3, Gain: 0.01, Imitation: 0.3, Refresh: 100}
	s.Distil = trainer.Distillation{Episodes: 8, Batches: 300}
	c.WarmUp, c.EvaluateEvery, c.SaveEvery, c.PollEvery = 120, 1000, 0, 5*time.Millisecond
	return c
}

// field is an agent of all services with an AppObserver, in a simulated cluster.
type field struct {
	*fleet.Agent
	reward drpc.Reward
	sum, n float64
}

func (f *field) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	if worth, known := f.reward.Of(s.App, s.Now()); known {
		f.sum += worth.Reward
		f.n++
	}
	return f.Agent.Decide(now, s)
}

// act runs students until everything they did has arrived, and returns their mean reward.
func act(t *testing.T, l *fleet.Link, app *loadline.App, m *drpc.Model, epoch uint64, version uint64, with load,
	lasting time.Duration) float64 {
	t.Helper()
	agent, err := fleet.NewAgent(l, m, app, drpc.Work{}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.AddAppObserver(m, app); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	agent.Start()
	for _, service := range m.Services {
		for ; agent.Weights.Latest(service).Weights.Version < version; time.Sleep(5 * time.Millisecond) {
			if ctx.Err() != nil {
				t.Fatalf("weights %d of %s never came", version, service)
			}
		}
	}
	f := &field{Agent: agent, reward: m.Reward}
	if _, err := simulate.Run(ctx, simulate.Spec{
		App: app, Load: with, Workload: "a test", Policy: "drpc", Decider: f, Engine: "fluid", Duration: lasting, Seed: 1,
	}); err != nil {
		t.Fatal(err)
	}
	if err := agent.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if st := agent.AppObserver.Status(); st.Snapshots == 0 || st.Waiting+st.Lost > 0 {
		t.Fatalf("%+v", st)
	}
	return f.sum / f.n
}

// until runs a teacher until a condition is met.
func until(t *testing.T, c *Teacher, what string, so func(Status) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	for !so(c.Status()) {
		if err := c.pass(ctx); err != nil {
			t.Fatalf("%s: %v; %+v", what, err, c.Status())
		}
		c.updateStatus(c.Status().Doing)
	}
	if err := c.commit(true); err != nil {
		t.Fatal(err)
	}
}
