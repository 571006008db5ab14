package validate

import (
	"math"
	"testing"
)

// Beyond saturation the client's connections determine the mean latency, on held-out policies
// too: nothing was fitted.
func TestLatencyOfALaggingClient(t *testing.T) {
	r, err := Hotel(t.Context(), HotelOptions{Data: dataFolder(t, hotelFolder), Windows: 10, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range r.Client {
		if e.Windows == "ucbopt (held out), beyond it" || e.Windows == "msevoopt (held out), beyond it" {
			atMost(t, e.Windows, e.Mean.Median, 0.25)
			if e.Mean.Median > e.Line.Median {
				t.Errorf("%s: a straight line is closer", e.Windows)
			}
		}
	}
	atMost(t, "closed form beside the event engine", r.Engine.ClientMean.Median, 0.08)
	// The finding that prevents a fit of the services: hardly any overload is related to the
	// number of replicas.
	if share := float64(r.Audit.Explicable) / float64(r.Audit.Overloaded); share > 0.05 {
		t.Errorf("%.0f %% of overloads follow from replicas: a fit of demands would be worth its name", 100*share)
	}
}

// The coordinate search recovers demands that the data shows.
func TestDemandsAreFoundWhereTheyShow(t *testing.T) {
	truth := HotelModel{Services: []string{"a", "b", "c"}, DemandMs: []float64{2, 0.01, 1.2}}
	var windows []hotelWindow
	for a := 2.0; a < 9; a++ {
		for c := 2.0; c < 6; c++ {
			w := hotelWindow{Replicas: []float64{a, 3, c}}
			w.Completed = truth.throughput(w.Replicas)
			windows = append(windows, w)
		}
	}
	got := fitHotel(windows, truth.Services)
	for _, i := range []int{0, 2} {
		if math.Abs(got.DemandMs[i]/truth.DemandMs[i]-1) > 0.05 {
			t.Errorf("demand of %s is %.2f ms, want %.2f", truth.Services[i], got.DemandMs[i], truth.DemandMs[i])
		}
	}
}

func TestImpossibleLatenciesAreSeen(t *testing.T) {
	for name, c := range map[string]struct {
		w    hotelWindow
		want bool
	}{
		"a p99 sixty deviations above the mean": {hotelWindow{MeanMs: 60, P99Ms: 110, StdMs: 0.8}, true},
		"a p99 below the mean":                  {hotelWindow{MeanMs: 500, P99Ms: 110, StdMs: 300}, true},
		"a p99 two deviations above the mean":   {hotelWindow{MeanMs: 500, P99Ms: 1100, StdMs: 300}, false},
	} {
		if c.w.impossible() != c.want {
			t.Errorf("%s: impossible is %v", name, !c.want)
		}
	}
}
