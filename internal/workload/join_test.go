package workload

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// joinable is an application of two tenants: one with two kinds, one with one.
func joinable() *loadline.App {
	return &loadline.App{
		Name:  "both",
		Kinds: []loadline.Kind{{Name: "a/get", Share: 0.75}, {Name: "a/put", Share: 0.25}, {Name: "b/get", Share: 1}},
		Tenants: []loadline.Tenant{
			{Name: "a", Kinds: 2}, {Name: "b", Kinds: 1},
		},
	}
}

func TestJoinedWorkloadHasTheRatesOfEach(t *testing.T) {
	a := &Workload{Name: "a", Step: 2 * time.Second, Rates: []float64{4, 0, 8},
		Mix: &Mix{Kinds: []string{"put", "get"}, Step: 4 * time.Second, Shares: []float64{1, 3, 1, 0}}}
	b := &Workload{Name: "b", Step: 3 * time.Second, Rates: []float64{5, 0, 7}}
	joined, err := Join("both", joinable(), []*Workload{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if joined.Step != time.Second || joined.Duration() != 6*time.Second {
		t.Fatalf("bins of %v for %v, want 1s for 6s: the shortest", joined.Step, joined.Duration())
	}
	load, err := joined.For(joinable())
	if err != nil {
		t.Fatal(err)
	}
	for second, want := range [][3]float64{{3, 1, 5}, {3, 1, 5}, {0, 0, 5}, {0, 0, 0}, {0, 8, 0}, {0, 8, 0}} {
		for k := range want {
			if got, _ := load.Rate(k, time.Duration(second)*time.Second); math.Abs(got-want[k]) > 1e-12 {
				t.Errorf("kind %d at %d s has %v requests/s, want %v", k, second, got, want[k])
			}
		}
	}
}

func TestJoinNamesTheApplicationOfAFault(t *testing.T) {
	right := &Workload{Name: "r", Step: time.Second, Rates: []float64{1}}
	wrong := &Workload{Name: "w", Step: time.Second, Rates: []float64{1},
		Mix: &Mix{Kinds: []string{"post"}, Step: time.Second, Shares: []float64{1}}}
	_, err := Join("both", joinable(), []*Workload{right, wrong})
	if err == nil || !strings.Contains(err.Error(), "application b") || !strings.Contains(err.Error(), "post") {
		t.Error(err)
	}
	if _, err := Join("both", joinable(), []*Workload{right}); err == nil || !strings.Contains(err.Error(), "one for each") {
		t.Error(err)
	}
}
