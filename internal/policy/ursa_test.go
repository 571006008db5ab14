package policy

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// chain is front -> back, with the second one ten times as heavy.
func chainApp(slo time.Duration) *loadline.App {
	call := func(service int, stages ...[]loadline.Call) loadline.Call {
		return loadline.Call{Service: service, Probability: 1, Times: 1, Work: 1, Stages: stages}
	}
	return &loadline.App{
		Services: []loadline.Service{
			{Name: "front", Size: loadline.Size{CPURequest: 0.5}},
			{Name: "back", Size: loadline.Size{CPURequest: 0.5}},
			{Name: "cron", Size: loadline.Size{CPURequest: 0.5}},
		},
		Kinds: []loadline.Kind{{
			Name: "get", SLO: loadline.SLO{Percentile: 98, Latency: slo},
			Root: call(0, []loadline.Call{call(1)}),
		}},
	}
}

// queueLatency is that of a replica with exponential service times: the
// percentile of an M/M/1 queue, in closed form.
func queueLatency(capacity []float64) MeasureLoad {
	return func(service int, perReplica, percentile float64) (time.Duration, error) {
		if perReplica >= capacity[service] {
			return time.Hour, nil
		}
		mean := 1 / (capacity[service] - perReplica)
		return time.Duration(-math.Log(1-percentile/100) * mean * float64(time.Second)), nil
	}
}

func TestUrsaKnowsTheCostOfAVisitFromTheModel(t *testing.T) {
	app := chainApp(time.Second)
	app.Kinds[0].Share = 1
	app.Services[0].CPU.Mean = 10 * time.Millisecond
	app.Services[0].Versions = []loadline.Version{{Weight: 1, CPU: 1}, {Weight: 3, CPU: 2}}
	app.Services[1].CPU.Mean = 4 * time.Millisecond
	back := &app.Kinds[0].Root.Stages[0][0]
	back.Work, back.Times, back.Versions = 0.5, 3, []int{1}
	got := costPerVisit(app)
	for i, want := range []float64{0.0175, 0.002, 0} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("a visit to %s costs %v s, want %v", app.Services[i].Name, got[i], want)
		}
	}
}

func TestExploreThresholdsSpendTheSLO(t *testing.T) {
	app := chainApp(300 * time.Millisecond)
	capacity := []float64{1000, 100, 1}
	measure := queueLatency(capacity)
	thresholds, err := ExploreThresholds(app, []float64{50, 50, 50}, measure)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Duration(0)
	for i := range 2 {
		// Two visits share the 2 % that may be slower.
		latency, _ := measure(i, thresholds[i], 99)
		took += latency
		if thresholds[i] <= 0 || thresholds[i] >= capacity[i] {
			t.Errorf("threshold %v of a service that can do %v", thresholds[i], capacity[i])
		}
	}
	if took > 300*time.Millisecond || took < 150*time.Millisecond {
		t.Errorf("the chain takes %v of an SLO of 300ms", took)
	}
	if thresholds[2] != 0 {
		t.Errorf("a service that no request visits has the threshold %v", thresholds[2])
	}
	if spec := UrsaSpec(app, thresholds); !strings.HasPrefix(spec, "ursa:front=") {
		t.Errorf("spec %q", spec)
	} else if _, err := New(spec, app); err != nil {
		t.Errorf("spec %q: %v", spec, err)
	}
}

func TestExploreThresholdsGrowWithTheSLO(t *testing.T) {
	before := 0.0
	for _, slo := range []time.Duration{150, 300, 600, 1200} {
		thresholds, err := ExploreThresholds(chainApp(slo*time.Millisecond), []float64{50, 50, 0}, queueLatency([]float64{1000, 100, 1}))
		if err != nil {
			t.Fatal(err)
		}
		if thresholds[1] < before {
			t.Errorf("a longer SLO of %v ms allows less: %v after %v", slo, thresholds[1], before)
		}
		before = thresholds[1]
	}
}

func TestExploreThresholdsSayWhatIsImpossible(t *testing.T) {
	_, err := ExploreThresholds(chainApp(time.Millisecond), []float64{50, 50, 0}, queueLatency([]float64{1000, 100, 1}))
	if err == nil || !strings.Contains(err.Error(), "explore back") {
		t.Errorf("err %v", err)
	}
	_, err = ExploreThresholds(chainApp(48*time.Millisecond), []float64{50, 50, 0}, queueLatency([]float64{1000, 100, 1}))
	if err == nil || !strings.Contains(err.Error(), "get takes") {
		t.Errorf("err %v", err)
	}
	broken := errors.New("broken")
	_, err = ExploreThresholds(chainApp(time.Second), []float64{50, 50, 0},
		func(int, float64, float64) (time.Duration, error) { return 0, broken })
	if !errors.Is(err, broken) {
		t.Errorf("err %v", err)
	}
}
