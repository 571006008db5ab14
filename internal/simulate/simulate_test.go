package simulate

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
)

// steady is a constant load that doubles at half time.
type steady struct{ rate, until float64 }

func (s steady) Rate(_ int, t time.Duration) (float64, time.Duration) {
	half := time.Duration(s.until / 2 * float64(time.Second))
	if t < half {
		return s.rate, half
	}
	return 2 * s.rate, sim.Never
}

func smallApp() *loadline.App {
	return &loadline.App{
		Name: "small",
		Services: []loadline.Service{{
			Name: "web", CPU: loadline.Dist{Mean: 10 * time.Millisecond, CV: 1}, Workers: 32, Backlog: 64,
			Memory: loadline.Memory{Base: 50 << 20}, Startup: loadline.Dist{Mean: 5 * time.Second}, Replicas: 2,
			Size:   loadline.Size{CPURequest: 0.2, CPULimit: 0.5, MemoryRequest: 64 << 20, MemoryLimit: 128 << 20},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 10, MinCPU: 0.1, MaxCPU: 1, MinMemory: 32 << 20, MaxMemory: 1 << 30},
		}},
		Kinds: []loadline.Kind{{
			Name: "get", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond},
			Root: loadline.Call{Service: 0, Probability: 1, Times: 1, Work: 1},
		}},
		Nodes: []loadline.Node{{Name: "n", Cores: 8, Memory: 16 << 30}},
	}
}

func smallSpec() Spec {
	return Spec{
		App: smallApp(), Load: steady{30, 600}, Workload: "steady", Policy: "hpa", Engine: Engines()[0],
		Duration: 10 * time.Minute, Seed: 3,
	}
}

// TestAnAnnouncedEventIsScaledForBeforeItBegins: the load doubles at half time.
func TestAnAnnouncedEventIsScaledForBeforeItBegins(t *testing.T) {
	ready := func(announced ...loadline.Event) float64 {
		t.Helper()
		spec := smallSpec()
		spec.Policy, spec.Load, spec.Duration, spec.Announced = "planner:vertical=off,forecast=on", steady{60, 1800}, 30*time.Minute, announced
		out, err := Run(context.Background(), spec)
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range out.Timeline.At {
			if at >= 15*time.Minute-10*time.Second {
				return out.Timeline.Ready[0][i]
			}
		}
		return 0
	}
	half := sim.Time(15 * time.Minute)
	without, with := ready(), ready(loadline.Event{Name: "sale", Start: half, End: half.Add(15 * time.Minute), Factor: 2})
	if with < without+2 {
		t.Errorf("%v pods ready before an announced event, %v without it", with, without)
	}
	spec := smallSpec()
	spec.Announced = []loadline.Event{{Start: half, End: half, Factor: 2}, {Start: sim.Time(0), End: half, Factor: -1}}
	if err := spec.Validate(); err == nil || strings.Count(err.Error(), "announced event") != 2 {
		t.Errorf("%v: want both events named", err)
	}
}

func TestEveryEngineRunsUnderTheLoop(t *testing.T) {
	for _, engine := range Engines() {
		t.Run(engine, func(t *testing.T) {
			spec := smallSpec()
			spec.Engine = engine
			out, err := Run(context.Background(), spec)
			if err != nil {
				t.Fatal(err)
			}
			r := out.Result
			if got := float64(r.Requests); math.Abs(got-27000) > 600 {
				t.Errorf("%v requests, want about 27000", got)
			}
			if r.Changes < 1 || r.Services[0].MeanReplicas <= 2 {
				t.Errorf("%v changes, %v replicas: the autoscaler did not follow the load", r.Changes, r.MeanReplicas)
			}
			if used := float64(r.Services[0].UsedCoreHours); math.Abs(used-27000*0.01/3600) > 0.1*used {
				t.Errorf("%v core-hours used, want the requests' work", used)
			}
			if out.Effort.Decisions != 40 {
				t.Errorf("%d decisions, want one each 15 s", out.Effort.Decisions)
			}
			checkStory(t, out.Timeline)
		})
	}
}

func checkStory(t *testing.T, s *Timeline) {
	t.Helper()
	n := len(s.At)
	if n < 30 || len(s.Load) != n || len(s.Used) != n || len(s.Asked) != n || len(s.Ready[0]) != n || len(s.Latency[0]) != n {
		t.Fatalf("%d steps, and not all of one length", n)
	}
	if first, last := s.Load[2], s.Load[n-1]; math.Abs(first-30) > 8 || math.Abs(last-60) > 12 {
		t.Errorf("load from %v to %v, want 30 to 60", first, last)
	}
	if s.Ready[0][n-1] <= s.Ready[0][0] || s.Used[n-1] <= s.Used[0] || s.Asked[n-1] <= s.Asked[0] {
		t.Error("replicas and CPU do not follow the load")
	}
	if l := s.Latency[0][n-1]; !(l > 0.01 && l < 5) {
		t.Errorf("latency %v", l)
	}
	if len(s.Changes) == 0 {
		t.Error("no change noted")
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	print := func(seed uint64) string {
		spec := smallSpec()
		spec.Seed, spec.Duration = seed, 3*time.Minute
		spec.Perturb = Perturb{MetricsLoss: 0.2, CPUNoise: 0.1, MetricsLate: 1, SlowStart: 2}
		out, err := Run(context.Background(), spec)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := out.Result.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	first, again := print(5), print(5)
	if first != again {
		t.Error("one seed, two results")
	}
	if first == print(6) {
		t.Error("two seeds, one result")
	}
}

func TestPerturbationsReachThePolicy(t *testing.T) {
	spec := smallSpec()
	spec.Perturb.MetricsLoss = 1
	out, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if out.Effort.Held != out.Effort.Decisions || out.Result.Changes != 0 {
		t.Errorf("%d of %d decisions held, %v changes, with all metrics lost", out.Effort.Held, out.Effort.Decisions, out.Result.Changes)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	spec := smallSpec()
	spec.Duration, spec.Engine, spec.Policy = 0, "events", "hpa:target=x"
	spec.Perturb = Perturb{MetricsLoss: 2, CPUNoise: -1, MetricsLate: -1, SlowStart: math.NaN()}
	_, err := Run(context.Background(), spec)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"duration", `did you mean "event"`, "target=x", "loss 2", "noise -1", "late by -1", "slow start NaN"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestInterruptEndsARun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	spec := smallSpec()
	spec.Duration = 1000 * time.Hour
	spec.Hooks.Progress = func(at time.Duration) {
		if at >= time.Minute {
			cancel()
		}
	}
	if _, err := Run(ctx, spec); !errors.Is(err, context.Canceled) {
		t.Errorf("err %v", err)
	}
}

// partialPolicy records the partial SLOs that it gets.
type partialPolicy struct {
	loadline.Policy
	trained, shown []loadline.SLO
}

func (p *partialPolicy) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	p.shown = s.PartialSLO
	return p.Policy.Decide(now, s)
}

// trainedPolicy has budgets of its own.
type trainedPolicy struct{ *partialPolicy }

func (p trainedPolicy) Partial() []loadline.SLO { return p.trained }

func TestPartsOfTheSLOReachThePolicy(t *testing.T) {
	parts := []loadline.SLO{{Percentile: 99, Latency: 70 * time.Millisecond}}
	spec := smallSpec()
	spec.Duration, spec.Partial = time.Minute, parts
	sound, err := policy.New(spec.Policy, spec.App)
	if err != nil {
		t.Fatal(err)
	}
	seen := &partialPolicy{Policy: sound}
	spec.Decider = seen
	if _, err := Run(context.Background(), spec); err != nil || !slices.Equal(seen.shown, parts) {
		t.Errorf("it was shown %v: %v", seen.shown, err)
	}
	spec.Decider = trainedPolicy{&partialPolicy{Policy: sound, trained: parts}}
	if err := spec.Validate(); err != nil {
		t.Errorf("trained with the same: %v", err)
	}
	spec.Decider = trainedPolicy{&partialPolicy{Policy: sound, trained: []loadline.SLO{{Percentile: 99, Latency: time.Second}}}}
	if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), "trained with other shares") {
		t.Errorf("trained with others: %v", err)
	}
	spec.Decider, spec.Partial = seen, parts[:0:0]
	if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), "0 parts of the SLO for 1 services") {
		t.Errorf("too few parts: %v", err)
	}
}

func TestTheFluidEngineNamesClientsThatItDoesNotSimulate(t *testing.T) {
	app := smallApp()
	app.Services = append(app.Services, app.Services[0])
	app.Services[1].Name = "back"
	kind := &app.Kinds[0]
	kind.Root.Stages = [][]loadline.Call{{{Service: 1, Probability: 1, Times: 1, Work: 1}}}
	spec := Spec{App: app, Load: steady{10, 60}, Policy: "static", Engine: "fluid", Duration: time.Minute}
	if err := spec.Validate(); err != nil {
		t.Fatal(err)
	}
	app.Routing, app.KeepAlive = loadline.RouteKeepAlive, loadline.KeepAlive{Connections: 1, Users: 1}
	kind.Retries.Attempts = 1
	kind.Users.Requests = 2
	kind.Root.Stages[0][0].Timeout = time.Second
	kind.Root.Stages[0][0].Retries.Attempts = 1
	err := spec.Validate()
	for _, want := range []string{"application small: routing keep-alive", "kind get: retries", "kind get: users",
		"kind get, call to back: timeout", "kind get, call to back: retries", "use the event engine"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if spec.Engine = "event"; spec.Validate() != nil {
		t.Errorf("event engine: %v", spec.Validate())
	}
}

// TestFloorsFollowTheClock: a run that begins at another time of day has the floors of that time,
// also those of the rule behind a guard.
func TestFloorsFollowTheClock(t *testing.T) {
	for _, guarded := range []bool{false, true} {
		replicas := map[int]float64{}
		for _, hour := range []int{8, 12} {
			spec := smallSpec()
			spec.Policy, spec.Begin = "hpa:floor=Wed/08:00-09:00:6", time.Date(2026, 3, 4, hour, 0, 0, 0, time.UTC)
			if guarded {
				spec.Guard, spec.Policy, spec.Decider = spec.Policy, "blind", blind{}
			}
			out, err := Run(context.Background(), spec)
			if err != nil {
				t.Fatal(err)
			}
			replicas[hour] = float64(out.Result.MeanReplicas)
		}
		if replicas[8] < 5 || replicas[12] > 4.5 {
			t.Errorf("guarded %v: %v replicas on the mean", guarded, replicas)
		}
	}
}

// blind has never any data: the guard falls back to its rule.
type blind struct{}

func (blind) Name() string { return "blind" }
func (blind) Needs() loadline.Needs {
	return loadline.Needs{Period: 15 * time.Second, Scrape: 15 * time.Second, Window: 15 * time.Second}
}
func (blind) Decide(time.Time, loadline.Situation) (loadline.Proposal, error) {
	return loadline.Proposal{}, errors.New("broken")
}
