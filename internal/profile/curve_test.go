package profile

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loadline/loadline"
)

func points(pairs ...float64) *Profile {
	p := &Profile{Service: "s", Percentile: 99}
	for i := 0; i < len(pairs); i += 2 {
		p.Points = append(p.Points, Point{Load: pairs[i], Latency: pairs[i+1]})
	}
	return p
}

func TestCurve(t *testing.T) {
	saturated := points(10, 0.01, 20, 0.03, 30, 0)
	saturated.Points[2].Saturated = true
	for _, c := range []struct {
		name       string
		profile    *Profile
		load, want float64 // latency at a load
		within     float64 // a latency
		most       float64 // the load at it; NaN = none
	}{
		{"between two points", points(10, 0.01, 20, 0.03), 15, 0.02, 0.02, 15},
		{"below the first point it is as fast", points(10, 0.01, 20, 0.03), 1, 0.01, 0.01, 10},
		{"beyond the last point nothing is known", points(10, 0.01, 20, 0.03), 21, math.Inf(1), 1, 20},
		{"less than the least cannot be had", points(10, 0.01, 20, 0.03), 20, 0.03, 0.009, math.NaN()},
		{"a flat profile bears all its load at once", points(10, 0.01, 20, 0.01, 40, 0.01), 30, 0.01, 0.01, 40},
		{"a flat stretch ends at its end", points(10, 0.01, 20, 0.01, 40, 0.03), 20, 0.01, 0.01, 20},
		{"what falls is pooled", points(10, 0.01, 20, 0.04, 30, 0.02, 40, 0.06), 25, 0.02*0.8 + 0.04*0.2, 0.02*0.8 + 0.04*0.2, 30},
		{"a saturated point ends it", saturated, 25, math.Inf(1), 1, 20},
		{"one point is a curve", points(10, 0.01), 10, 0.01, 0.02, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			curve, err := c.profile.Curve()
			if err != nil {
				t.Fatal(err)
			}
			if got := curve.At(c.load); got != c.want && !(math.Abs(got-c.want) < 1e-12) {
				t.Errorf("at %v/s %v s, want %v", c.load, got, c.want)
			}
			got, can := curve.LoadAt(c.within)
			if math.IsNaN(c.most) == can || can && math.Abs(got-c.most) > 1e-9 {
				t.Errorf("within %v s: %v/s, %v; want %v", c.within, got, can, c.most)
			}
		})
	}
	if sat, known := saturated.Saturation(); !known || sat != 30 {
		t.Errorf("saturated at %v, %v", sat, known)
	}
}

func TestNoCurve(t *testing.T) {
	var absent *Profile
	full := points(10, 0)
	full.Points[0].Saturated = true
	if _, err := absent.Curve(); !errors.Is(err, ErrAbsent) {
		t.Errorf("absent: %v", err)
	}
	if _, err := points().Curve(); !errors.Is(err, ErrAbsent) {
		t.Errorf("empty: %v", err)
	}
	if _, err := full.Curve(); err == nil || errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), "saturated at the lowest load") {
		t.Errorf("saturated: %v", err)
	}
	_, err := points(10, math.NaN(), 10, 0.1).Curve()
	if err == nil || !strings.Contains(err.Error(), "points[0].latency_seconds") || !strings.Contains(err.Error(), "points[1].load 10") {
		t.Errorf("not every fault is reported: %v", err)
	}
}

// TestIsotonic compares pooling with the definition: the fit at i is the largest over starts of
// the smallest over ends of the weighted mean between.
func TestIsotonic(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		n := 1 + rng.IntN(12)
		values, weights := make([]float64, n), make([]float64, n)
		for i := range values {
			values[i], weights[i] = rng.Float64(), 0.1+rng.Float64()
		}
		want := make([]float64, n)
		for i := range want {
			want[i] = math.Inf(-1)
			for from := 0; from <= i; from++ {
				least := math.Inf(1)
				for to := i; to < n; to++ {
					sum, w := 0.0, 0.0
					for j := from; j <= to; j++ {
						sum += values[j] * weights[j]
						w += weights[j]
					}
					least = min(least, sum/w)
				}
				want[i] = max(want[i], least)
			}
		}
		isotonic(values, weights)
		for i := range want {
			if math.Abs(values[i]-want[i]) > 1e-9 {
				t.Fatalf("fit %v, want %v", values, want)
			}
		}
	}
}

func TestSetIsReadAsWritten(t *testing.T) {
	p := points(10, 0.01, 20, 0.03)
	p.Size = Size{CPURequest: 0.1, CPULimit: 0.3, MemoryRequest: 1 << 20}
	var file bytes.Buffer
	if err := (&Set{App: "shop", Profiles: []Profile{*p}}).Write(&file); err != nil {
		t.Fatal(err)
	}
	text := file.String()
	s, err := ReadSet(&file, "p.json")
	if err != nil {
		t.Fatal(err)
	}
	service := &loadline.Service{Name: "s", Size: loadline.Size(p.Size)}
	if got := s.Find(service, 99); got == nil || len(got.Points) != 2 || got.Points[1] != p.Points[1] {
		t.Errorf("read %+v", got)
	}
	service.Size.CPULimit = 1
	if s.Find(service, 99) != nil {
		t.Error("a profile of another size was found")
	}
	if _, err := ReadSet(strings.NewReader(strings.Replace(text, `"load": 20`, `"load": 5`, 1)), "p.json"); err == nil ||
		!strings.Contains(err.Error(), "p.json") || !strings.Contains(err.Error(), "points[1].load 5") {
		t.Errorf("a load that falls: %v", err)
	}
	if _, err := ReadSet(strings.NewReader(`{"aps": 1}`), "p.json"); err == nil || !strings.Contains(err.Error(),
		"loadline profile --out") {
		t.Errorf("an unknown field: %v", err)
	}
}
