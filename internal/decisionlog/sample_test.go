package decisionlog

import (
	"errors"
	"math"
	"time"

	"github.com/loadline/loadline"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func sampleApp() *loadline.App {
	return &loadline.App{
		Name: "shop",
		Services: []loadline.Service{
			{Name: "web", Replicas: 3, Size: loadline.Size{CPURequest: 0.2, CPULimit: 0.5},
				Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 10}},
			{Name: "db", Replicas: 1},
		},
		Kinds: []loadline.Kind{{
			Name: "buy", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond},
			Root: loadline.Call{Probability: 1, Times: 1, Work: 1,
				Stages: [][]loadline.Call{{{Service: 1, Probability: 1, Times: 1, Work: 1}}}},
		}},
		Nodes: []loadline.Node{{Name: "n", Cores: 8, Memory: 1 << 34}},
	}
}

// sampleDecision sets every field of a record.
func sampleDecision(app *loadline.App, at time.Time) (*loadline.Decision, loadline.Situation) {
	sample := func(v float64, age time.Duration) loadline.Sample { return loadline.Sample{Value: v, At: at.Add(-age)} }
	size := loadline.Size{CPURequest: 0.2, CPULimit: 0.5, MemoryRequest: 64 << 20, MemoryLimit: 128 << 20}
	old := size
	old.CPULimit = 0.4
	latency := loadline.Latency{
		Mean: sample(0.1, 7*time.Second), P50: sample(0.08, 7*time.Second), P90: sample(0.2, 7*time.Second),
		P95: sample(0.25, 7*time.Second), P99: sample(0.31, 7*time.Second),
	}
	web := loadline.ServiceObservation{
		Rate: sample(84, 7*time.Second), Errors: sample(0.5, 7*time.Second), Refused: sample(0.25, 7*time.Second), Dropped: sample(1,
			7*time.Second),
		Concurrency: sample(9, 7*time.Second), Queue: sample(math.Inf(1), 7*time.Second), Held: sample(2, 7*time.Second),
		Latency: latency, Own: latency, CPU: sample(0.546, 7*time.Second+123456789), Memory: sample(1<<27, 7*time.Second),
		Throttled: sample(0.1, 7*time.Second), Restarts: sample(3, 7*time.Second), Brownout: true,
		Pods: []loadline.PodObservation{
			{ID: 1, Node: 0, Phase: loadline.PodReady, Created: at.Add(-time.Hour), Ready: at.Add(-59 * time.Minute), Size: size,
				CPU: sample(0.2, 7*time.Second), Memory: sample(1<<25, 7*time.Second), Busy: sample(3, 7*time.Second)},
			{ID: 2, Node: 0, Phase: loadline.PodReady, Created: at.Add(-time.Hour), Ready: at.Add(-58 * time.Minute), Size: old},
			{ID: 3, Node: 0, Phase: loadline.PodReady, Created: at.Add(-time.Minute), Ready: at, Size: size},
			{ID: 4, Node: -1, Phase: loadline.PodStarting, Created: at.Add(-time.Second), Size: size},
			{ID: 5, Node: 0, Phase: loadline.PodDraining, Created: at.Add(-time.Hour), Ready: at.Add(-time.Minute), Size: size},
			{ID: 6, Node: -1, Phase: loadline.PodPending, Created: at, Size: size},
		},
	}
	observation := loadline.Observation{
		At: at, Services: []loadline.ServiceObservation{web, {}},
		Kinds: []loadline.KindObservation{{Rate: sample(80, 7*time.Second), Failed: sample(0, 7*time.Second),
			OverSLO: sample(0.04, 7*time.Second), Latency: latency, AtSLO: sample(0.31, 7*time.Second)}},
		Nodes: []loadline.NodeObservation{{CPU: sample(4, 7*time.Second), Memory: sample(1<<33, 7*time.Second), Lost: true}},
	}
	situation := loadline.Situation{
		App: app, Window: []loadline.Observation{observation},
		Allocation: []loadline.Allocation{{Replicas: 3, Size: size}, {Replicas: 1}},
		InFlight:   []loadline.Allocation{{Replicas: 4, Size: size}, {Replicas: 1}},
		Forecast: []loadline.Forecast{
			{Step: time.Minute, Median: []loadline.Sample{{Value: 90, At: at.Add(time.Minute)}, {}},
				High: []loadline.Sample{{Value: 100, At: at.Add(time.Minute)}, {Value: 130, At: at.Add(2 * time.Minute)}}},
			{},
		},
		PartialSLO: []loadline.SLO{{Percentile: 99.5, Latency: 200 * time.Millisecond},
			{Percentile: 99.5, Latency: 50 * time.Millisecond}},
		Announced: []loadline.Event{{Name: "sale", Start: at.Add(time.Hour), End: at.Add(2 * time.Hour), Factor: 3}},
		Constraints: loadline.Constraints{
			Quota: loadline.Quota{Name: "team", Hard: [loadline.QuotaResources]loadline.Opt[float64]{loadline.QuotaPods: loadline.Some(9.0)}},
			Services: []loadline.ServiceConstraints{{Bounds: loadline.Bounds{MinReplicas: 2}, Why: "PodDisruptionBudget web",
				Others: loadline.Size{CPURequest: 0.1}}, {NeedsCPULimit: true}},
		},
	}
	want := loadline.Setting{
		Replicas: loadline.Some(6), CPURequest: loadline.Some(math.NaN()), CPULimit: loadline.Some(0.0),
		MemoryRequest: loadline.Some[int64](32 << 20), MemoryLimit: loadline.Some[int64](0), Brownout: loadline.Some(false),
	}
	got := loadline.Setting{Replicas: loadline.Some(5)}
	return &loadline.Decision{
		At: at, Applied: at.Add(time.Second), Policy: "hpa",
		Proposal: loadline.Proposal{Services: []loadline.ServiceProposal{{
			Service: 0, Setting: want, Reason: "CPU at 91 % of the request, target 60 %",
			RunnerUp: &loadline.Alternative{Setting: loadline.Setting{Replicas: loadline.Some(4)}, Reason: "valued 0.1 less"},
		}}, Reserve: loadline.Some(loadline.Room{Cores: 1.5, Memory: 3 << 30}), Limited: "the quota team allows pods 9 in all"},
		Changed: []loadline.GuardChange{{Guard: "step", Service: 0, From: want, To: got, Reason: "at most one more at a time"}},
		Plan:    loadline.Plan{Services: []loadline.ServicePlan{{Service: 0, Setting: got}}},
		Err:     errors.New("a <sign> of trouble"),
	}, situation
}

// sampleRecord of the n-th decision, 15 s apart.
func sampleRecord(app *loadline.App, n int) *Record {
	d, s := sampleDecision(app, noon.Add(time.Duration(n)*15*time.Second))
	d.Err = nil
	r := Of(d, s)
	r.Needs = Needs{Period: Seconds(15 * time.Second)}
	return r
}
