package trainer

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/msars"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/sim"
)

// stall has a front end and a cart behind it.
func stall() *loadline.App {
	app := &loadline.App{Name: "stall", Nodes: []loadline.Node{{Name: "a", Cores: 16, Memory: 32 << 30}}}
	for _, name := range []string{"front", "cart"} {
		app.Services = append(app.Services, loadline.Service{
			Name: name, CPU: loadline.Dist{Mean: 5 * time.Millisecond, CV: 1}, Workers: 64, Backlog: 64, Replicas: 2,
			Memory: loadline.Memory{Base: 100 << 20, PerRequest: 1 << 18}, Startup: loadline.Dist{Mean: 5 * time.Second},
			Size:   loadline.Size{CPURequest: 0.25, CPULimit: 0.5, MemoryRequest: 192 << 20, MemoryLimit: 256 << 20},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 20, MinCPU: 0.25, MaxCPU: 1, MinMemory: 64 << 20, MaxMemory: 1 << 30},
		})
	}
	front := loadline.Call{Service: 0, Probability: 1, Times: 1, Work: 1}
	front.Stages = [][]loadline.Call{{{Service: 1, Probability: 1, Times: 1, Work: 1}}}
	app.Kinds = []loadline.Kind{{Name: "buy", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 200 * time.Millisecond},
		Timeout: 2 * time.Second, Root: front}}
	return app
}

// wave is a load that goes up and down every twenty minutes, so that nobody can hold
// still.
type wave struct{}

func (wave) Rate(_ int, t time.Duration) (float64, time.Duration) {
	minute := t.Truncate(time.Minute)
	up := float64(minute%(20*time.Minute)) / float64(20*time.Minute)
	return 30 + 600*min(up, 1-up), minute + time.Minute
}

func subject() train.Scenario {
	return train.Scenario{App: stall(), Load: wave{}, Duration: 6 * time.Hour, Source: "a test"}
}

// known profiles are measured once for all tests.
var known = sync.OnceValues(func() (*profile.Set, error) {
	set := &profile.Set{App: "stall"}
	_, err := Complete(context.Background(), stall(), set, nil)
	return set, err
})

func short(way string) Config {
	c := Default(way)
	c.Agent.Hidden, c.Agent.WarmUp, c.Agent.Batch, c.Agent.Explore.Steps = []int{32, 32}, 80, 16, 600
	c.Episode, c.Most, c.Every, c.Episodes, c.Forecast = 20, 2_400, 200, 3, false
	c.Adjust = Adjust{Runs: 3, Seeds: 1, Requests: 500}
	return c
}

func TestTrainingBeatsNoChange(t *testing.T) {
	set, err := known()
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"parslo", msars.None} {
		model, report, err := Run(t.Context(), subject(), set, short(way), Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		idle, trained := report.Results[0], report.Results[1]
		if trained.Users <= idle.Users || trained.Reward < idle.Reward+0.03 {
			t.Errorf("%s: %+v", way, report.Results)
		}
		if trained.CommonReward == trained.Reward || !(trained.CommonReward > 0 && trained.CommonReward <= 1) {
			t.Errorf("%s: DRPC's reward is %v, its own %v", way, trained.CommonReward, trained.Reward)
		}
		if len(report.Curve) == 0 || report.Parameters == 0 || report.Profiles != 0 {
			t.Errorf("%s: %+v", way, report)
		}
		if divided := report.Divisions > 0 && report.Chains > 0; divided != (way == "parslo") {
			t.Errorf("%s: %d divisions of %d chains", way, report.Divisions, report.Chains)
		}
		if _, err := msars.NewPolicy(model, stall(), 0); err != nil {
			t.Error(err)
		}
	}
}

func TestSameSeedSameModel(t *testing.T) {
	set, err := known()
	if err != nil {
		t.Fatal(err)
	}
	c := short("parslo")
	c.Most, c.Forecast = 200, true
	var files [2]bytes.Buffer
	for i := range files {
		model, _, err := Run(t.Context(), subject(), set, c, Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		file, err := model.File()
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Encode(&files[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Error("two files from one seed differ")
	}
}

func TestOnlyMissingProfilesAreMeasured(t *testing.T) {
	set, err := known()
	if err != nil {
		t.Fatal(err)
	}
	some := &profile.Set{App: set.App}
	for _, p := range set.Profiles {
		if p.Service != "cart" || p.Size.CPULimit != 1 {
			some.Profiles = append(some.Profiles, p)
		}
	}
	c := short("parslo")
	c.Most, c.Adjust.Runs = 20, 0
	var kept *profile.Set
	_, report, err := Run(t.Context(), subject(), some, c, Hooks{Profiles: func(s *profile.Set) error { kept = s; return nil }})
	if err != nil || report.Profiles != 1 || kept == nil || len(kept.Profiles) != len(set.Profiles) {
		t.Errorf("%d measured, %v", report.Profiles, err)
	}
}

func TestSizesStayWithinBounds(t *testing.T) {
	s := stall().Services[0]
	s.Bounds.MinCPU, s.Bounds.MaxCPU, s.IdleCPU = 0.05, 3, 0.03
	var limits []float64
	for _, size := range sizesOf(&s) {
		limits = append(limits, size.CPULimit)
		if size.CPURequest != size.CPULimit/2 {
			t.Errorf("%+v", size)
		}
	}
	// 50m are within the bounds, but it burns 30m without any request.
	if want := []float64{0.125, 0.25, 0.5, 1, 2, 3}; !equal(limits, want) {
		t.Errorf("limits are %v, want %v", limits, want)
	}
	s.Size.CPULimit = 0
	if got := sizesOf(&s); len(got) != 1 || got[0] != s.Size {
		t.Errorf("%+v without a limit", got)
	}
}

func equal(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestAnInfeasibleSLOIsReportedAndTrained(t *testing.T) {
	set, err := known()
	if err != nil {
		t.Fatal(err)
	}
	s := subject()
	s.App.Kinds[0].SLO.Latency = 5 * time.Millisecond
	c := short("parslo")
	c.Most = 40
	_, report, err := Run(t.Context(), s, set, c, Hooks{})
	if err != nil || !strings.Contains(report.Unadjusted, "buy cannot be met within 5ms") || report.Factors != nil {
		t.Errorf("%q, %v, %v", report.Unadjusted, report.Factors, err)
	}
}

func TestAllFaultsAreReported(t *testing.T) {
	c := short("gcn")
	c.Most, c.Episodes, c.Patience = 0, 0, 0
	_, _, err := Run(t.Context(), subject(), nil, c, Hooks{})
	for _, want := range []string{"steps is 0", "episodes is 0", "patience is 0", "way is gcn"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestATrainingCanBeInterrupted(t *testing.T) {
	set, err := known()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err = Run(ctx, subject(), set, short(msars.None), Hooks{Point: func(Point) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

var _ sim.Arrivals = wave{}
