package papers

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/workload"
)

// tiny is an experiment small enough for a test: its figures are meaningless, but everything is
// run.
func tiny(t *testing.T, workers int) Options {
	t.Helper()
	trace, err := workload.Parse("diurnal:low=0.2,high=1,period=6h,peak=3h", 36*time.Hour, 5*time.Minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Seeds: 2, Seed: 1, Workers: workers, Trace: trace, Steps: 240, Length: 5 * minute, Models: t.TempDir()}
}

// sound checks what every report must have.
func sound(t *testing.T, r *Report, mayLack ...string) {
	t.Helper()
	if r.Name == "" || r.Title == "" || len(r.Setup) == 0 || len(r.Tables) == 0 || len(r.Findings) == 0 {
		t.Fatalf("incomplete: %+v", r)
	}
	missing := map[string]bool{}
	for _, m := range mayLack {
		missing[m] = true
	}
	for _, table := range r.Tables {
		for _, row := range table.Rows {
			if len(row.Ours) == 0 && len(row.Paper) > 0 {
				continue // a rival that is not implemented
			}
			if len(row.Ours) != len(table.Measures) {
				t.Fatalf("%s, %s: %d figures for %d measures", table.Name, row.Name, len(row.Ours), len(table.Measures))
			}
			for i, m := range table.Measures {
				if v := float64(row.Ours[i].Mean); math.IsInf(v, 0) || math.IsNaN(v) && !missing[m.Name] {
					t.Errorf("%s, %s: %s is %v", table.Name, row.Name, m.Name, v)
				}
			}
		}
	}
	for _, f := range r.Findings {
		if f.Claim == "" || f.Verdict == "" || f.Because == "" {
			t.Errorf("finding %+v", f)
		}
	}
}

func TestStudiesAreSoundAndRepeat(t *testing.T) {
	for _, e := range Studies() {
		t.Run(e.Name, func(t *testing.T) {
			var texts [2]bytes.Buffer
			for i := range texts {
				r, err := e.Run(context.Background(), tiny(t, 1+3*i))
				if err != nil {
					t.Fatal(err)
				}
				sound(t, r, "steps to convergence", "final return", "loss")
				if err := r.WriteJSON(&texts[i]); err != nil {
					t.Fatal(err)
				}
				if e.Name != "gamma" && e.Name != "data-size" {
					return // the others are built in the same way
				}
			}
			if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
				t.Error("the same seeds gave other figures with another number of runs at a time")
			}
		})
	}
}

func TestPapersAreSound(t *testing.T) {
	for _, e := range Papers() {
		t.Run(e.Name, func(t *testing.T) {
			last := 0.0
			o := tiny(t, 2)
			o.Seeds, o.few = 1, true
			o.Progress = func(share float64) {
				if share < last-1e-9 || share > 1+1e-9 {
					t.Errorf("progress goes from %v to %v", last, share)
				}
				last = share
			}
			r, err := e.Run(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			missing := []string{"pods in ENV2", "pods, eq. 7 as printed", "delay in ENV2 ms", "p90 over objective at the end", "p90 ms"}
			if e.Name == "drpc" {
				missing = drpcMayLack()
			}
			sound(t, r, missing...)
			if last < 0.999 {
				t.Errorf("progress ended at %v", last)
			}
		})
	}
}

func TestExperimentsRefuseBadOptionsAndStop(t *testing.T) {
	for _, e := range append(Papers(), Studies()...) {
		if _, err := e.Run(context.Background(), Options{Seeds: 0, Workers: 1}); err == nil {
			t.Errorf("%s took no seeds", e.Name)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := e.Run(ctx, tiny(t, 2)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, asked to stop: %v", e.Name, err)
		}
	}
}

// TestOnlinePolicyLearnsLive checks the trail: one step every 10 s, moves of one container,
// rewards that the problem can give, and nothing before it begins.
func TestOnlinePolicyLearnsLive(t *testing.T) {
	setup, err := newFunctionSetup(false, 1, "adservice")
	if err != nil {
		t.Fatal(err)
	}
	training, test, err := setup.settleLoads(0.3, 5*minute)
	if err != nil {
		t.Fatal(err)
	}
	online, err := setup.learners(training, scratch(), nil, false, 1)
	if err != nil {
		t.Fatal(err)
	}
	one := online.agents[setup.service(setup.kinds[0])]
	if _, err := (trial{app: setup.app, load: test, policy: "novice", decider: online, seed: 1}).run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(one.trail) < 25 {
		t.Fatalf("%d turns in five minutes", len(one.trail))
	}
	moves := 0
	for i, m := range one.trail[1:] {
		before := one.trail[i]
		if d := math.Abs(m.replicas - before.replicas); d > 1 || m.replicas < 0 || m.replicas > 10 {
			t.Errorf("from %v to %v containers", before.replicas, m.replicas)
		} else if d == 1 {
			moves++
		}
		if !math.IsNaN(m.reward) && (m.reward > 1 || m.reward < -2) {
			t.Errorf("a reward of %v", m.reward)
		}
	}
	if moves == 0 {
		t.Error("it never tried anything")
	}
}

// TestPresenceShapesTheLoad: an absent function has no requests, and the others' do not change.
func TestPresenceShapesTheLoad(t *testing.T) {
	setup, err := newFunctionSetup(false, 1, someFunctions...)
	if err != nil {
		t.Fatal(err)
	}
	shape, err := shapeOf("constant:rps=1", 10*minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	last := setup.kinds[2]
	w, err := setup.load("comes", 0.5, shape, func(kind int, at time.Duration) bool { return kind != last || at >= 5*minute })
	if err != nil {
		t.Fatal(err)
	}
	load, err := w.For(setup.app)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[time.Duration][]float64{minute: {0.5, 0.5, 0}, 6 * minute: {0.5, 0.5, 0.5}} {
		for i, k := range setup.kinds {
			rate, _ := load.Rate(k, at)
			if cores := rate * formulation.NewTopology(setup.app).Services[setup.service(k)].CPU; math.Abs(cores-want[i]) > 1e-9 {
				t.Errorf("at %v kind %d asks for %v cores, want %v", at, k, cores, want[i])
			}
		}
	}
}

func TestLivelyIsNotTheWildest(t *testing.T) {
	w := &workload.Workload{Name: "x", Step: time.Minute}
	for i := range 100 { // increasing variation
		w.Rates = append(w.Rates, float64(i%2*i))
	}
	got, err := lively(w, 10*minute)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rates) != 10 || got.Max() < 80 || got.Max() > 95 {
		t.Errorf("%d bins up to %v", len(got.Rates), got.Max())
	}
	if whole, err := lively(w, 3*time.Hour); err != nil || len(whole.Rates) != 100 {
		t.Errorf("a load that is shorter than the stretch: %v, %v", whole, err)
	}
}

func TestMSARSIsSoundAndRepeats(t *testing.T) {
	stage, err := newMSARSStage(true) // profiles are measured once
	if err != nil {
		t.Fatal(err)
	}
	var texts [2]bytes.Buffer
	for i := range texts {
		o := tiny(t, 1+2*i)
		o.Steps = 20
		r, err := stage.run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		sound(t, r)
		if err := r.WriteJSON(&texts[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
		t.Error("the same seeds gave other figures with another number of runs at a time")
	}
}

func TestRecoversAfter(t *testing.T) {
	for _, c := range []struct {
		name   string
		errors []float64
		want   float64
	}{
		{"there from the start", []float64{1, 1, 1, 1}, 0},
		{"down after two steps", []float64{9, 5, 2, 2, 1}, 2},
		{"down for a moment only", []float64{9, 2, 9, 2, 2}, 5},
		{"never", []float64{9, 9, 9}, 3},
	} {
		if got := recoversAfter(c.errors, 2); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
