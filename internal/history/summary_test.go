package history

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"
)

func TestASummaryHasRangesReplicasAndAbsences(t *testing.T) {
	nan := float32(math.NaN())
	h := &History{Start: epoch, Step: time.Minute, Steps: 4, Services: []Service{{Name: "shop"}, {Name: "web"}},
		Calls: []Calls{{To: "web"}}}
	h.Manifest.Absent = []Absence{{Of: "service", Metric: "cpu_limit", Reason: "no pod has a limit"}}
	shop, web := &h.Services[0].Series, &h.Services[1].Series
	shop[Desired] = Series{1, 1, 1, 1}
	shop[CPU] = Series{0.5, nan, nan, 0.25}
	web[Rate] = Series{10, nan, 0, 30}
	web[Ready] = Series{2, 4, 0, 2.4}
	web[CPU] = Series{1, 1, 0, nan}
	h.Calls[0].Series[CallRate] = Series{1, 2, 3, nan}

	sum := h.Summarise()
	s, w := sum.Services[0], sum.Services[1]
	if r := w.Metrics["rate"]; r != (Range{3, 0, 40.0 / 3, 30}) {
		t.Errorf("rate of web %+v", r)
	}
	if !slices.Equal(w.Replicas, []int{0, 2, 4}) || !slices.Equal(s.Replicas, []int{1}) {
		t.Errorf("replicas %v and %v; of shop those asked for stand in", w.Replicas, s.Replicas)
	}
	if *w.PerPod != (Range{2, 0.25, 0.375, 0.5}) || s.PerPod.Present != 2 {
		t.Errorf("CPU per pod %+v and %+v: none at zero replicas", w.PerPod, s.PerPod)
	}
	if !slices.Equal(s.Absent, []string{"rate", "ready"}) || !slices.Equal(w.Absent, []string{"desired"}) {
		t.Errorf("absent %v and %v", s.Absent, w.Absent)
	}
	i := slices.IndexFunc(sum.Absent, func(a Absence) bool { return a.Metric == "cpu_limit" })
	if i < 0 || sum.Absent[i].Reason != "no pod has a limit" || sum.Absent[i].Cost == "" {
		t.Errorf("absent %+v, want the manifest's reason for cpu_limit", sum.Absent)
	}
	if r := sum.Calls[0].Metrics["rate"]; r.Present != 3 || r.Mean != 2 {
		t.Errorf("calls %+v", sum.Calls)
	}
	if _, err := json.Marshal(sum); err != nil {
		t.Errorf("a summary must be JSON: %v", err) // which has no NaN
	}
}
