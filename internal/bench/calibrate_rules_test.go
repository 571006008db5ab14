package bench

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim/pool"
)

// burst is a constant load with one minute at several times of it.
type burst struct{ times float64 }

func (b burst) Rate(_ int, t time.Duration) (float64, time.Duration) {
	switch from, to := 8*time.Minute, 9*time.Minute; {
	case t < from:
		return 20, from
	case t < to:
		return 20 * b.times, to
	}
	return 20, time.Hour
}

// TestTheWorstSceneCounts: a setting that is cheapest on the mean and breaks one of the loads is not
// chosen.
func TestTheWorstSceneCounts(t *testing.T) {
	task := smallTask("hpa:limits=keep,request=keep,floor=off,down-window=300s,up-policies=4/15s+100%/15s")
	calm := CalibrationLoad{Rates: burst{1}, Duration: 15 * time.Minute, Seed: 11}
	hard := CalibrationLoad{Rates: burst{3}, Duration: 15 * time.Minute, Seed: 12}
	task.Loads = []CalibrationLoad{calm}
	alone, err := Calibrate(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	task.Loads = []CalibrationLoad{calm, hard}
	both, err := Calibrate(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	if !alone.Feasible() || !both.Feasible() || both.Spec == alone.Spec || both.Best.CoreHours <= alone.Best.CoreHours {
		t.Fatalf("alone %+v, with the burst %+v", alone.Best, both.Best)
	}
	// The one that is best without the burst would be cheaper on the mean of both, and breaks one.
	s := &search{CalibrationTask: task}
	breaks, err := s.evaluateOne(context.Background(), alone.Spec, "event", all)
	if err != nil {
		t.Fatal(err)
	}
	if breaks.CoreHours >= both.Best.CoreHours || breaks.feasible() || breaks.Violated != 1 {
		t.Errorf("%+v is not cheaper than %+v, or breaks no load", breaks, both.Best)
	}
}

// TestRulesTogether: the best of all plain rules is no dearer than each of them, and what is given
// is fixed for all.
func TestRulesTogether(t *testing.T) {
	settings := ":limits=keep,request=keep,floor=off"
	task := smallTask(Rules + settings)
	best, err := Calibrate(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for _, try := range best.Tried {
		name, rest, _ := strings.Cut(try.Spec, ":")
		names[name]++
		if !strings.HasPrefix(rest, settings[1:]) {
			t.Errorf("tried %s", try.Spec)
		}
	}
	if names["hpa"] == 0 || names["keda"] == 0 || len(names) != 2 {
		t.Errorf("rules: %v", names)
	}
	for _, rule := range plainRules {
		one, err := Calibrate(context.Background(), smallTask(rule+settings))
		if err != nil {
			t.Fatal(err)
		}
		if one.Feasible() && (!best.Feasible() || best.Best.CoreHours > one.Best.CoreHours*(1+2*samePrice)) {
			t.Errorf("%s costs %v, %s alone %v", best.Spec, best.Best.CoreHours, one.Spec, one.Best.CoreHours)
		}
	}
	again, err := Calibrate(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := json.Marshal(best)
	second, _ := json.Marshal(again)
	if string(first) != string(second) {
		t.Errorf("one task, two results:\n%s\n%s", first, second)
	}
}

// TestSizesAreFound: requests four times as large as needed and limits that throttle are both
// mended.
func TestSizesAreFound(t *testing.T) {
	task := smallTask("hpa:floor=off,down-window=300s")
	web := &task.App.Services[0]
	web.Size.CPURequest, web.Size.CPULimit, web.Replicas, web.Bounds.MinReplicas = 1, 1, 2, 2
	task.App.Kinds[0].SLO.Latency = 100 * time.Millisecond
	found, err := Calibrate(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	_, v, err := policy.Read(found.Spec, task.App)
	if err != nil {
		t.Fatal(err)
	}
	size := policy.SizeUnder(v["request"], v["limits"], web)
	if !found.Feasible() || size.CPURequest >= 0.7 || size.CPULimit <= 1 || found.Best.CoreHours > 0.8*found.Default.CoreHours {
		t.Errorf("%s: %+v against %+v", found.Spec, found.Best, found.Default)
	}
}

// TestTheReserveIsSearchedOnlyWhereNodesComeAndGo.
func TestTheReserveIsSearchedOnlyWhereNodesComeAndGo(t *testing.T) {
	elastic := pool.Cluster{Pools: []pool.Pool{mustPool(t, "cores=2,memory=8Gi,price=0.1,start=60s")}}
	for name, on := range map[string]pool.Cluster{"fixed": {}, "elastic": elastic} {
		task := smallTask("hpa:target=60,limits=keep,request=keep")
		task.Loads, task.Clusters = task.Loads[:1], []pool.Cluster{on}
		found, err := Calibrate(context.Background(), task)
		if err != nil {
			t.Fatal(err)
		}
		searched := slices.ContainsFunc(found.Tried, func(t Try) bool { return strings.Contains(t.Spec, "reserve=0.") })
		if searched != (name == "elastic") {
			t.Errorf("%s nodes: a reserve was searched: %v", name, searched)
		}
	}
}

// TestClustersBeyond: nodes so busy that no setting meets the SLO there say nothing about which is
// best; where some do, the others are out.
func TestClustersBeyond(t *testing.T) {
	task := smallTask("hpa:down-window=300s,limits=keep,request=keep,floor=off")
	task.Loads = task.Loads[:1]
	free, err := Calibrate(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	task.Beyond = WithNeighbours(pool.Cluster{}, []float64{0.95})
	full, err := Calibrate(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	if full.Spec != free.Spec || !full.Feasible() {
		t.Errorf("%s on free nodes; with full ones beyond %s, %+v", free.Spec, full.Spec, full.Best)
	}
	s := &search{CalibrationTask: task}
	tries := []Try{{Spec: "a", beyond: []float64{0.05}}, {Spec: "b", beyond: []float64{0.001}}}
	s.countBeyond(tries)
	if tries[0].feasible() || !tries[1].feasible() {
		t.Errorf("one of two meets the SLO beyond: %+v", tries)
	}
}
