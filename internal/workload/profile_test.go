package workload

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

func TestProfileIsExactOnCleanData(t *testing.T) {
	p, err := FitProfile([]Pair{{0.8, 300}, {0.1, 0}, {0.5, 200}})
	if err != nil {
		t.Fatal(err)
	}
	for u, want := range map[float64]float64{0: 0, 0.1: 0, 0.3: 100, 0.5: 200, 0.65: 250, 0.8: 300, 1: 300} {
		if got := p.Rate(u); math.Abs(got-want) > 1e-9 {
			t.Errorf("at %v: %v, want %v", u, got, want)
		}
	}
}

// Pooling must agree with its definition: the fit at i is the maximum over
// a<=i of the minimum over b>=i of the mean of a..b.
func TestIsotonicAgainstItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		points := make([]profilePoint, 1+rng.IntN(12))
		for i := range points {
			points[i] = profilePoint{float64(i), rng.Float64(), float64(1 + rng.IntN(3))}
		}
		want := make([]float64, len(points))
		for i := range points {
			want[i] = math.Inf(-1)
			for a := range i + 1 {
				low := math.Inf(1)
				for b := i; b < len(points); b++ {
					sum, weight := 0.0, 0.0
					for _, p := range points[a : b+1] {
						sum, weight = sum+p.rate*p.weight, weight+p.weight
					}
					low = min(low, sum/weight)
				}
				want[i] = max(want[i], low)
			}
		}
		isotonic(points)
		for i := range points {
			if math.Abs(points[i].rate-want[i]) > 1e-12 {
				t.Fatalf("point %d: %v, want %v", i, points[i].rate, want[i])
			}
		}
	}
}

func TestProfileOfNoisyData(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var pairs []Pair
	for range 2000 {
		rate := 500 * rng.Float64()
		pairs = append(pairs, Pair{min(1, 0.05+rate/600+0.01*rng.NormFloat64()), rate})
	}
	p, err := FitProfile(pairs)
	if err != nil {
		t.Fatal(err)
	}
	last := 0.0
	for u := 0.1; u < 0.85; u += 0.01 {
		if got, want := p.Rate(u), (u-0.05)*600; math.Abs(got-want) > 15 {
			t.Errorf("at %.2f: %v, want %v", u, got, want)
		}
		if p.Rate(u) < last {
			t.Errorf("falls at %v", u)
		}
		last = p.Rate(u)
	}
}

func TestProfileFaults(t *testing.T) {
	if _, err := FitProfile([]Pair{{math.NaN(), 1}, {0.5, -1}}); err == nil || !strings.Contains(err.Error(), "pair 1") ||
		!strings.Contains(err.Error(), "pair 2") {
		t.Errorf("%v", err)
	}
	if _, err := FitProfile([]Pair{{0.5, 1}, {0.5, 2}}); err == nil {
		t.Error("one utilisation was enough")
	}
	for _, text := range []string{"", "u,rps\n1,2\n", "utilisation,rps\n0,x\n", "utilisation,rps\n0,1\n"} {
		if _, err := ReadProfile(strings.NewReader(text), "p.csv"); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
	p, err := ReadProfile(strings.NewReader("utilisation,rps\n0,0\n0.5,100\n"), "p.csv")
	if err != nil || p.Rate(0.25) != 50 {
		t.Errorf("%v", err)
	}
}

func TestProfileFromApp(t *testing.T) {
	app := &loadline.App{
		Name: "two",
		Services: []loadline.Service{
			{Name: "front", CPU: loadline.Dist{Mean: 10 * time.Millisecond}, Replicas: 2, IdleCPU: 0.1, Size: loadline.Size{CPULimit: 1},
				Versions: []loadline.Version{{Weight: 1, CPU: 1}, {Weight: 1, CPU: 3}}},
			{Name: "back", CPU: loadline.Dist{Mean: 20 * time.Millisecond}, Replicas: 1, Size: loadline.Size{CPURequest: 2}},
		},
		Kinds: []loadline.Kind{{Share: 1, Root: loadline.Call{Service: 0, Probability: 1, Times: 1, Work: 1, Stages: [][]loadline.Call{{
			{Service: 1, Probability: 0.5, Times: 2, Work: 1, Versions: []int{1}}}}}}},
	}
	p, err := ProfileFromApp(app)
	if err != nil {
		t.Fatal(err)
	}
	// 20 ms in front (versions 1 and 3 evenly), then half of the visits make
	// 0.5 * 2 calls of 20 ms: 30 ms. Of 4 cores 0.2 idle.
	if got, want := p.Rate(1), 3.8/0.030; math.Abs(got-want) > 1e-9 {
		t.Errorf("at full %v, want %v", got, want)
	}
	if got := p.Rate(0.05); got != 0 {
		t.Errorf("idle is %v requests/s", got)
	}
	if _, err := ProfileFromApp(&loadline.App{Name: "none"}); err == nil {
		t.Error("an application without services has a profile")
	}
}
