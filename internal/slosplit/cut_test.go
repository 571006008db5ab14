package slosplit

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/profile"
)

// shop has two kinds of requests: get visits front, auth, then cart three times in parallel
// with ads and images; pay visits front and auth.
func shop() *loadline.App {
	service := func(name string, cpu time.Duration, cores float64) loadline.Service {
		size := loadline.Size{CPURequest: cores, CPULimit: 1, MemoryRequest: 1 << 30}
		return loadline.Service{
			Name: name, CPU: loadline.Dist{Mean: cpu, CV: 1}, Workers: 100, Backlog: 1000, Replicas: 1, Size: size,
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 40, MinCPU: 0.1, MaxCPU: 1, MinMemory: 1 << 20, MaxMemory: 1 << 30},
		}
	}
	call := func(service int, stages ...[]loadline.Call) loadline.Call {
		return loadline.Call{Service: service, Probability: 1, Times: 1, Work: 1, Stages: stages}
	}
	cart, ads, never := call(2), call(3, []loadline.Call{call(4)}), call(5)
	cart.Times, ads.Probability, never.Probability = 3, 0.5, 0
	return &loadline.App{
		Name: "shop",
		Services: []loadline.Service{
			service("front", 5*time.Millisecond, 0.5), service("auth", 2*time.Millisecond, 0.2), service("cart", 4*time.Millisecond, 0.4),
			service("ads", 5*time.Millisecond, 0.3), service("images", 5*time.Millisecond, 0.1), service("never", time.Millisecond, 0.1),
		},
		Kinds: []loadline.Kind{
			{Name: "get", Share: 3, SLO: loadline.SLO{Percentile: 99, Latency: 200 * time.Millisecond},
				Root: call(0, []loadline.Call{call(1)}, []loadline.Call{cart, ads, never})},
			{Name: "pay", Share: 1, SLO: loadline.SLO{Percentile: 95, Latency: 100 * time.Millisecond},
				Root: call(0, []loadline.Call{call(1)})},
		},
		Nodes: []loadline.Node{{Name: "node", Cores: 8, Memory: 32 << 30}},
	}
}

// linear profiles: the unloaded time of a visit, and ten times that at a hundred visits per
// second.
func linear(app *loadline.App) Profiles {
	return func(service int, percentile float64) *profile.Profile {
		base := 3 * app.Services[service].CPU.Mean.Seconds()
		return &profile.Profile{Service: app.Services[service].Name, Percentile: percentile,
			Points: []profile.Point{{Load: 1, Latency: base}, {Load: 100, Latency: 10 * base}}}
	}
}

func cutShop(t *testing.T, app *loadline.App) []Chain {
	t.Helper()
	chains, err := Cut(app, []float64{30, 10}, linear(app))
	if err != nil {
		t.Fatal(err)
	}
	return chains
}

func TestCut(t *testing.T) {
	app := shop()
	chains := cutShop(t, app)
	var got []string
	for i := range chains {
		var steps []string
		for _, s := range chains[i].Steps {
			steps = append(steps, fmt.Sprintf("%gx%s@%g", s.Visits, s.Name, s.Load))
		}
		got = append(got, fmt.Sprintf("%s p%g: %s %v", chains[i].Kind, chains[i].Percentile, strings.Join(steps, " "), chains[i].Calls))
	}
	want := []string{
		"get p99: 1xfront@40 1xauth@40 3xcart@90 [[0 1] [0 2]]",
		"get p99: 1xfront@40 1xauth@40 1xads@15 1ximages@15 [[0 1] [0 2] [2 3]]", // the other of two parallel calls
		"pay p95: 1xfront@40 1xauth@40 [[0 1]]",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if c := chains[0].Steps[0].Cost; math.Abs(c-0.63) > 1e-12 {
		t.Errorf("half a core and a GiB cost %v", c)
	}
	if _, err := Cut(app, []float64{1}, nil); err == nil {
		t.Error("a missing rate is not reported")
	}
}

func TestRepeatedVisitsCount(t *testing.T) {
	app := shop()
	// The front end calls auth twice, at different places.
	app.Kinds[1].Root.Stages = append(app.Kinds[1].Root.Stages, []loadline.Call{{Service: 1, Probability: 1, Times: 2, Work: 4}})
	chains := cutShop(t, app)
	s := chains[len(chains)-1].Steps[1]
	if s.Visits != 3 || math.Abs(s.Unloaded-(0.002+2*0.008)/3) > 1e-12 || s.Load != 60 {
		t.Errorf("%+v", s)
	}
}

// TestProportionalIsTheTopologysBudget: both divide in the same way. The front end's budget
// includes its calls, so only services without calls are compared.
func TestProportionalIsTheTopologysBudget(t *testing.T) {
	app := shop()
	topology := formulation.NewTopology(app)
	plan, err := NewPlan(app, cutShop(t, app), Proportional{})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{1, 2, 4} {
		if want := topology.Services[i].Budget.Latency.Seconds(); math.Abs(plan.Services[i].Share-want) > 1e-8 {
			t.Errorf("%s has %v s, the topology says %v", app.Services[i].Name, plan.Services[i].Share, want)
		}
	}
}

func TestSharedServicesGetTheTightest(t *testing.T) {
	app := shop()
	chains := cutShop(t, app)
	plan, err := NewPlan(app, chains, Even{})
	if err != nil {
		t.Fatal(err)
	}
	// 200 ms over 5 visits, over 4, and 100 ms over 2: front and auth are on all paths.
	for i, want := range []float64{0.04, 0.04, 0.04, 0.05, 0.05, 0} {
		if s := &plan.Services[i]; math.Abs(s.Share-want) > 1e-12 || want > 0 && s.Latency > s.Share+1e-12 {
			t.Errorf("%s: %+v, want %v s", s.Service, s, want)
		}
	}
	partial := plan.Partial()
	if partial[0].Latency != 80*time.Millisecond || partial[3].Latency != 100*time.Millisecond || partial[5] != (loadline.SLO{}) {
		t.Errorf("with their calls: %v", partial)
	}
	if never := plan.Services[5]; never.Instances != 1 || !strings.Contains(never.Reason, "no request") {
		t.Errorf("%+v", never)
	}
}

func TestAShareThatCannotBeMetIsReported(t *testing.T) {
	app := shop()
	app.Kinds[1].SLO.Latency = 20 * time.Millisecond
	plan, err := NewPlan(app, cutShop(t, app), Even{})
	if err != nil {
		t.Fatal(err)
	}
	front := plan.Services[0]
	if front.Kept || front.Instances != 40 || !strings.Contains(front.Reason, "not to be had, a visit takes 15ms at the least") {
		t.Errorf("%+v", front)
	}
}

func TestAbsentProfiles(t *testing.T) {
	app := shop()
	chains, err := Cut(app, []float64{30, 10}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewPlan(app, chains, Parslo{}); err == nil || !strings.Contains(err.Error(), "no load-latency profile of front") {
		t.Errorf("parslo: %v", err)
	}
	if _, err := NewPlan(app, chains, Even{}); err == nil || !strings.Contains(err.Error(), "loadline profile") {
		t.Errorf("even: %v", err)
	}
}

func TestOnlyChangedChainsAreSplitAgain(t *testing.T) {
	app := shop()
	cache := NewCache(Parslo{})
	chains := cutShop(t, app)
	first, err := NewPlan(app, chains, cache)
	if err != nil || cache.Computed() != 3 {
		t.Fatalf("%d computed, %v", cache.Computed(), err)
	}
	again, err := NewPlan(app, cutShop(t, app), cache)
	if err != nil || cache.Computed() != 3 || fmt.Sprint(again.Instances()) != fmt.Sprint(first.Instances()) {
		t.Errorf("the same chains were split again: %d, %v", cache.Computed(), err)
	}
	chains[1].Steps[2].Curve = &profile.Curve{Loads: []float64{1, 50}, Latencies: []float64{0.01, 0.02}}
	if _, err := NewPlan(app, chains, cache); err != nil || cache.Computed() != 4 {
		t.Errorf("one profile changed: %d computed, %v", cache.Computed(), err)
	}
	chains[0].Budget = 1e-9
	for range 2 {
		if _, err := NewPlan(app, chains, cache); err == nil || cache.Computed() != 5 {
			t.Errorf("what cannot be kept is remembered too: %d computed, %v", cache.Computed(), err)
		}
	}
}
