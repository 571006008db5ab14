package fleet

import (
	"context"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// soon is longer than the test binary's timeout, which is the bound: no test depends on
// how fast the machine is.
const soon = 24 * time.Hour

// serve runs a server in a folder; at an address if one is given.
func serve(t *testing.T, folder, address string) *Server {
	t.Helper()
	c := DefaultServer(folder)
	c.Address, c.LazySync = address, true
	s, err := Serve(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// link opens an end of a fleet, with changes to the defaults.
func link(t *testing.T, change func(*Config)) *Link {
	t.Helper()
	c := Default()
	c.Timeout = 20 * time.Second // the machine may be busy
	change(&c)
	l, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// wait waits until a link is usable.
func wait(t *testing.T, l *Link) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if err := l.Wait(ctx); err != nil {
		t.Fatal(err)
	}
}

func experience(service string, epoch, sequence uint64) drpc.Experience {
	return drpc.Experience{Service: service, Epoch: epoch, Sequence: sequence, Version: 1, At: noon, Action: drpc.Action{0, 0, 1}}
}

func publish(t *testing.T, l *Link, e drpc.Experience) drpc.Receipt {
	t.Helper()
	r, err := l.Publish(e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newStudent(t *testing.T, service string, seed uint64) *drpc.Student {
	t.Helper()
	s, err := drpc.NewStudent(service, drpc.StudentConfig(), seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bookinfo is an application and a model with random but fixed weights.
func bookinfo(t *testing.T, seed uint64) (*loadline.App, *drpc.Model) {
	t.Helper()
	loaded, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	app := loaded.App
	encoder, err := drpc.NewEncoder(app)
	if err != nil {
		t.Fatal(err)
	}
	teacher, err := nn.MLP{Inputs: []int{encoder.Width(drpc.Shared) / len(app.Services)}, Hidden: []int{4}, Outputs: drpc.Axes,
		Output: nn.Tanh}.Design().Build(nn.HeUniform, rl.NewRNG(seed, 1).Rand)
	if err != nil {
		t.Fatal(err)
	}
	m := &drpc.Model{
		App: app.Name, Kind: drpc.Continuous, Shape: drpc.Shared, Teacher: teacher, Period: 30 * time.Second, Version: 1,
		Pace:  drpc.DefaultPace(),
		Steps: drpc.DefaultSteps(), Reward: drpc.DefaultReward(), Notifier: drpc.DefaultNotifier(), Visits: drpc.NewVisitCounts(),
	}
	for i := range app.Services {
		m.Services = append(m.Services, app.Services[i].Name)
		m.Students = append(m.Students, newStudent(t, app.Services[i].Name, seed+uint64(i)).Net())
		m.Forecasts = append(m.Forecasts, nil)
	}
	return app, m
}

// act runs an agent for ten minutes of a simulated cluster.
func act(t *testing.T, app *loadline.App, a *Agent) {
	t.Helper()
	w, _, err := workload.Open("constant:rps=20", workload.Options{Duration: 10 * time.Minute, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	load, err := w.For(app)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := simulate.Run(t.Context(), simulate.Spec{
		App: app, Load: load, Workload: w.Name, Policy: "drpc", Decider: a, Engine: "fluid", Duration: w.Duration(), Seed: 1,
	}); err != nil {
		t.Fatal(err)
	}
}

// flush waits until a publisher is empty.
func flush(t *testing.T, c *Publisher) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		waiting, lost := c.Waiting()
		t.Fatalf("%v: %d wait, %d lost; %v", err, waiting, lost, c.link.Err())
	}
}

// background runs a function until the test ends.
func background(t *testing.T, run func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(soon); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it never came to that", what)
		}
	}
}

// pass collects and commits one batch.
func (c *Collector) pass() (counted int, err error) {
	if counted, err = c.Collect(); err != nil {
		return 0, err
	}
	return counted, c.Commit()
}

// start runs an agent in the background until the test ends.
func start(t *testing.T, a *Agent) {
	t.Helper()
	a.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = a.Close(ctx) // the test has checked what was acknowledged
	})
}
