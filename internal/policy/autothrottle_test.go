package policy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// The estimate that replaces 100 ms samples, compared with such samples: the captain gets only
// 1 s means of independent ones.
func TestCaptainEstimatesPeaksOf100Milliseconds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var estimated, true50 float64
	const rounds = 2000
	for range rounds {
		c := newCaptain(0.1)
		largest := 0.0
		for second := range 5 {
			mean := 0.0
			for range samplesPerReading {
				u := max(0, 0.5+0.1*rng.NormFloat64())
				largest = max(largest, u)
				mean += u / samplesPerReading
			}
			c.note(scenarioStart.Add(time.Duration(second)*time.Second), []loadline.PodObservation{
				{Phase: loadline.PodReady, CPU: sampleAt(mean, 0)},
			})
		}
		mean, deviation := c.spread()
		estimated += c.peak(1, mean, deviation) / rounds
		true50 += largest / rounds
	}
	if math.Abs(estimated-true50) > 0.02 {
		t.Errorf("peaks of %v on average, want %v", estimated, true50)
	}
}

func TestCaptainMarginFollowsTheTarget(t *testing.T) {
	c := newCaptain(0.1)
	for second := range 100 {
		c.note(scenarioStart.Add(time.Duration(second)*time.Second), []loadline.PodObservation{{Phase: loadline.PodReady,
			CPU: sampleAt(0.5, 0)}})
		c.decide(0.5, 0)
	}
	if c.margin != 0 {
		t.Errorf("margin %v after a hundred quiet seconds", c.margin)
	}
	c.decide(0.5, 0.25)
	if math.Abs(c.margin-0.15) > 1e-9 {
		t.Errorf("margin %v, want the share above the target", c.margin)
	}
}

func TestTowerGroupsByUse(t *testing.T) {
	for _, c := range []struct {
		name string
		use  []float64
		busy []bool
	}{
		{"two clear groups", []float64{0.1, 2, 0.2, 2.2}, []bool{false, true, false, true}},
		{"one giant", []float64{0.1, 0.3, 5, 0.2}, []bool{false, false, true, false}},
		{"a single service is busy", []float64{1}, []bool{true}},
		{"none", nil, []bool{}},
	} {
		if got := split(c.use); !slices.Equal(got, c.busy) {
			t.Errorf("%s: %v, want %v", c.name, got, c.busy)
		}
	}
}

func TestTowerCosts(t *testing.T) {
	costs := costsOf([]TowerSample{
		{Met: true, Allocation: 10}, {Met: true, Allocation: 20}, {Met: true, Allocation: 15},
		{OverSLO: 1.5, Allocation: 5}, {OverSLO: 3.5, Allocation: 5}, {OverSLO: 2, Allocation: 5},
	})
	if want := []float64{0, 1, 0.5, 2, 3, 2.25}; !slices.Equal(costs, want) {
		t.Errorf("costs %v, want %v", costs, want)
	}
	if costs := costsOf([]TowerSample{{Met: true, Allocation: 7}, {OverSLO: 2}}); !slices.Equal(costs, []float64{0.5, 2.5}) {
		t.Errorf("costs %v of one sample each, want the middle", costs)
	}
}

func TestTowerWandersToNeighboursOnly(t *testing.T) {
	tw := newTower(towerConfig{explore: 0.5}, rand.New(rand.NewPCG(1, 1)), 1)
	corner, moved := action{0, len(throttleTargets) - 1}, 0
	for range 1000 {
		a := tw.wander(corner)
		steps := math.Abs(float64(a.busy-corner.busy)) + math.Abs(float64(a.quiet-corner.quiet))
		if !a.onLadder() || steps > 1 {
			t.Fatalf("from %v to %v", corner, a)
		}
		if steps == 1 {
			moved++
		}
	}
	if moved < 400 || moved > 600 {
		t.Errorf("moved %d times of 1000, want about half", moved)
	}
}

// An environment with a cliff: more throttling saves CPU, until the SLO is violated, earlier at
// higher load. The tower must end near the edge and not beyond.
func TestTowerFindsTheEdge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	tw := newTower(towerConfig{start: action{2, 2}, learns: true, explore: 0.1, bin: 20}, rng, 2)
	holds := func(a action, rps float64) bool { return a.busy <= 6-int(rps/100) && a.quiet <= 4 }
	cores := func(a action, rps float64) float64 {
		return rps * (1 - 0.04*float64(a.busy) - 0.02*float64(a.quiet)) * (1 + 0.02*rng.NormFloat64())
	}
	broken, saved := 0, 0.0
	const minutes = 1200
	for m := range minutes {
		rps := 150 + 100*math.Sin(float64(m)/30)
		a := tw.wander(tw.best(rps))
		tw.now = a
		tw.remember(TowerSample{
			RPS: rps, Busy: throttleTargets[a.busy], Quiet: throttleTargets[a.quiet],
			Met: holds(a, rps), Allocation: cores(a, rps), OverSLO: 2,
		})
		if m >= minutes/2 {
			saved += (0.04*float64(a.busy) + 0.02*float64(a.quiet)) / (minutes / 2)
			if !holds(a, rps) {
				broken++
			}
		}
	}
	// The best that holds saves 0.04*(5 or so) + 0.02*4 = 0.28; the start 0.12.
	if share := float64(broken) / (minutes / 2); share > 0.1 {
		t.Errorf("the SLO broke in %v of the minutes", share)
	}
	if saved < 0.2 {
		t.Errorf("saves %v, could save 0.28", saved)
	}
}

// A tower that gets its samples back continues where it was.
func TestTowerRemembersWhatItIsGiven(t *testing.T) {
	app := &loadline.App{Name: "shop", Services: []loadline.Service{{
		Name: "web", Replicas: 2, Workers: 8, Size: loadline.Size{CPURequest: 0.5, CPULimit: 1}, Bounds: loadline.Bounds{MinReplicas: 1,
			MaxReplicas: 20, MinCPU: 0.1, MaxCPU: 4},
	}}}
	trained, _ := New("autothrottle", app)
	samples := []TowerSample{
		{RPS: 50, Busy: 0.2, Quiet: 0.3, Met: true, Allocation: 2},
		{RPS: 50, Busy: 0.1, Quiet: 0.1, Met: true, Allocation: 4},
	}
	p := trained.(*Autothrottle)
	p.Learn(samples)
	if got := p.tower.best(50); throttleTargets[got.busy] != 0.2 || throttleTargets[got.quiet] != 0.3 {
		t.Errorf("best is %v", got)
	}
	if !slices.Equal(p.Samples(), samples) {
		t.Errorf("samples %v", p.Samples())
	}
}
