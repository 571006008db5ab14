package apps

import (
	"math"
	"strconv"
	"testing"
)

// The pod start-up time of functions and video, computed again from the data: pods that were
// started alone, on three small clusters.
func TestColdStartsOfPods(t *testing.T) {
	file := sharedData(t, "k8s_pod_startup", "pod_startup_ms.csv.gz")
	columns, rows := readCSV(t, file)
	n, sum, squares := 0.0, 0.0, 0.0
	for _, row := range rows {
		if row[columns["pods_at_once"]] != "1" {
			continue
		}
		ms, err := strconv.ParseFloat(row[columns["latency_ms"]], 64)
		if err != nil {
			t.Fatal(err)
		}
		n++
		sum += ms / 1000
		squares += ms * ms / 1e6
	}
	mean := sum / n
	cv := math.Sqrt(squares/n-mean*mean) / mean
	t.Logf("%.0f pods: mean %.2f s, CV %.2f", n, mean, cv)
	if math.Abs(mean-1.58) > 0.01 || math.Abs(cv-0.44) > 0.01 {
		t.Errorf("mean %.3f s, CV %.3f; the models state 1.58 s and 0.44", mean, cv)
	}
	for _, name := range []string{"functions", "video"} {
		m, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range m.App.Services {
			if s.Startup.Mean.Seconds() < mean || math.Abs(s.Startup.CV-cv) > 0.01 {
				t.Errorf("%s: %s starts within %v, CV %v", name, s.Name, s.Startup.Mean, s.Startup.CV)
			}
		}
	}
}

// Functions scale to zero, so requests are held and not refused.
func TestFunctionsHoldWhatTheyCannotServe(t *testing.T) {
	for _, name := range []string{"functions", "video"} {
		m, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range m.App.Services {
			if s.Hold == 0 || s.Bounds.MinReplicas != 0 {
				t.Errorf("%s: %s holds %d requests and keeps %d replicas", name, s.Name, s.Hold, s.Bounds.MinReplicas)
			}
		}
		for _, k := range m.App.Kinds {
			if k.SLO.Percentile != 90 {
				t.Errorf("%s: %s has an objective at the p%g", name, k.Name, k.SLO.Percentile)
			}
		}
	}
}

func TestAServiceThatRefusesAtZeroIsWarnedOf(t *testing.T) {
	for _, c := range []struct {
		name    string
		replace []string
		want    bool
	}{
		{"never at zero", nil, false},
		{"at zero", []string{"replicas: [1, ", "replicas: [0, "}, true},
		{"at zero, held", []string{"replicas: [1, ", "replicas: [0, ", "workers: ", "hold: 5\n    workers: "}, false},
	} {
		warned := false
		for _, w := range Check(parseShop(t, c.replace...)).Warnings {
			warned = warned || w == "service front may go to 0 replicas, and requests that need it fail then: give it a hold, or 1 "+
				"replica at least"
		}
		if warned != c.want {
			t.Errorf("%s: warned %v, want %v", c.name, warned, c.want)
		}
	}
}
