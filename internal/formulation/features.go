package formulation

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/suggest"
)

// Feature is something that can be seen of a service.
type Feature struct {
	Name, About string
	of          func(v *view) (value float64, present bool)
}

// most is where ratios end: a service that is ten times over its budget is as
// lost as one that is a hundred times over.
const most = 10

// features by name, in the order in which they are listed.
var features = []Feature{
	{"rate", "visits per second", func(v *view) (float64, bool) { return given(v.observed.Rate) }},
	{"replicas", "replicas asked for", func(v *view) (float64, bool) { return float64(v.desired.Replicas), true }},
	{"cpu", "CPU in use over the request of the serving replicas", func(v *view) (float64, bool) {
		return per(v.observed.CPU, v.serving()*v.requested())
	}},
	{"cpu_limit", "CPU in use over what the serving replicas can use", func(v *view) (float64, bool) {
		return per(v.observed.CPU, v.serving()*v.capacity())
	}},
	{"cpu_idle", "CPU that the serving replicas could use and do not, as a share", func(v *view) (float64, bool) {
		used, ok := per(v.observed.CPU, v.serving()*v.capacity())
		return max(0, 1-used), ok
	}},
	{"memory", "memory in use over the limit, or the request where there is none", func(v *view) (float64, bool) {
		room := float64(v.desired.Size.MemoryLimit)
		if room == 0 {
			room = float64(v.desired.Size.MemoryRequest)
		}
		return per(v.observed.Memory, v.serving()*room)
	}},
	{"memory_request", "memory in use over the request of the serving replicas", func(v *view) (float64, bool) {
		return clip(per(v.observed.Memory, v.serving()*float64(v.desired.Size.MemoryRequest)))
	}},
	{"memory_free", "share of the memory that is not in use", func(v *view) (float64, bool) {
		room := float64(v.desired.Size.MemoryLimit)
		if room == 0 {
			room = float64(v.desired.Size.MemoryRequest)
		}
		used, ok := per(v.observed.Memory, v.serving()*room)
		return max(0, 1-used), ok
	}},
	{"load", "CPU that the visits ask for, by the model, over what the replicas asked for can give", func(v *view) (float64, bool) {
		if !v.observed.Rate.Present() {
			return 0, false
		}
		return clip(ratio(v.needed(v.observed.Rate.Value), float64(max(v.desired.Replicas, 1))))
	}},
	{"load_ahead", "load that is expected at its highest; load without a forecast", func(v *view) (float64, bool) {
		if !v.observed.Rate.Present() {
			return 0, false
		}
		return clip(ratio(v.needed(v.highest()), float64(max(v.desired.Replicas, 1))))
	}},
	{"need", "replicas that the visits would keep fully busy, by the model, as a logarithm", func(v *view) (float64, bool) {
		if !v.observed.Rate.Present() {
			return 0, false
		}
		return math.Log2(1 + v.needed(v.observed.Rate.Value)), true
	}},
	{"latency", "response time at the objective's percentile over the service's budget; 0 when nothing was asked",
		func(v *view) (float64, bool) {
			return v.overBudget(v.latency())
		}},
	{"latency_mean", "mean response time over the budget", func(v *view) (float64, bool) { return v.overBudget(v.observed.Latency.Mean) }},
	{"latency_p50", "median response time over the budget", func(v *view) (float64, bool) { return v.overBudget(v.observed.Latency.P50) }},
	{"latency_p90", "90th percentile over the budget", func(v *view) (float64, bool) { return v.overBudget(v.observed.Latency.P90) }},
	{"latency_p95", "95th percentile over the budget", func(v *view) (float64, bool) { return v.overBudget(v.observed.Latency.P95) }},
	{"latency_p99", "99th percentile over the budget", func(v *view) (float64, bool) { return v.overBudget(v.observed.Latency.P99) }},
	{"queue", "visits that wait for a worker, over the workers that serve", func(v *view) (float64, bool) {
		return clip(per(v.observed.Queue, v.serving()*float64(v.service.Workers)))
	}},
	{"concurrency", "visits in the service over the workers that serve", func(v *view) (float64, bool) {
		return clip(per(v.observed.Concurrency, v.serving()*float64(v.service.Workers)))
	}},
	{"held", "visits in a service of which no replica serves, as a logarithm; 0 when one does", func(v *view) (float64, bool) {
		if v.serving() > 0 {
			return 0, true
		}
		in, ok := given(v.observed.Concurrency)
		return math.Log2(1 + in), ok
	}},
	{"errors", "share of visits that failed; 0 when there were none", func(v *view) (float64, bool) {
		if !v.observed.Rate.Present() || !v.observed.Errors.Present() {
			return 0, false
		}
		if v.observed.Rate.Value == 0 {
			return 0, true
		}
		return min(1, v.observed.Errors.Value/v.observed.Rate.Value), true
	}},
	{"throughput", "visits that ended well over those that were asked for; 1 when there were none", func(v *view) (float64, bool) {
		if !v.observed.Rate.Present() || !v.observed.Errors.Present() {
			return 0, false
		}
		if v.observed.Rate.Value == 0 {
			return 1, true
		}
		return max(0, 1-v.observed.Errors.Value/v.observed.Rate.Value), true
	}},
	{"throttled", "share of CPU quota periods in which the service was stopped",
		func(v *view) (float64, bool) { return given(v.observed.Throttled) }},
	{"starting", "replicas asked for that do not serve yet, as a share", func(v *view) (float64, bool) {
		return max(0, 1-v.serving()/float64(max(v.desired.Replicas, 1))), true
	}},
	{"depth", "calls between the users and the service, over the deepest's",
		func(v *view) (float64, bool) { return v.topology.Depth, true }},
	{"fill", "replicas asked for over the most that are allowed", func(v *view) (float64, bool) {
		return ratio(float64(v.desired.Replicas), float64(v.service.Bounds.MaxReplicas))
	}},
	{"size", "CPU limit over the largest that is allowed", func(v *view) (float64, bool) {
		return ratio(v.capacity(), v.service.Bounds.MaxCPU)
	}},
	{"trend", "change of the rate within a minute, as a logarithm of the ratio",
		func(v *view) (float64, bool) { return v.trend(time.Minute) }},
	{"trend_5m", "change of the rate within five minutes, as a logarithm of the ratio",
		func(v *view) (float64, bool) { return v.trend(5 * time.Minute) }},
	{"forecast", "highest rate that is expected over the rate now; 1 without a forecast", func(v *view) (float64, bool) {
		if !v.observed.Rate.Present() {
			return 0, false
		}
		if len(v.situation.Forecast) <= v.index {
			return 1, true
		}
		highest := 0.0
		for _, s := range v.situation.Forecast[v.index].High {
			highest = max(highest, s.Or(0))
		}
		if highest == 0 || v.observed.Rate.Value == 0 {
			return 1, true
		}
		return clip(ratio(highest, v.observed.Rate.Value))
	}},
}

// FeatureNames lists all features.
func FeatureNames() []string {
	names := make([]string, len(features))
	for i, f := range features {
		names[i] = f.Name
	}
	return names
}

// Features that are known, for help and documents.
func Features() []Feature { return slices.Clone(features) }

// featuresNamed finds features by their names and refuses unknown ones.
func featuresNamed(names []string) ([]Feature, error) {
	found := make([]Feature, len(names))
	for i, name := range names {
		at := slices.IndexFunc(features, func(f Feature) bool { return f.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("unknown feature %q%s", name, suggest.Hint(name, FeatureNames()))
		}
		found[i] = features[at]
	}
	return found, nil
}

// appendFeatures appends the features' values. The name of the first one that is absent
// comes back: nothing can be decided without it.
func appendFeatures(v *view, fs []Feature, into []float32) (values []float32, absent string) {
	for i := range fs {
		value, present := fs[i].of(v)
		if !present {
			return into, fs[i].Name
		}
		into = append(into, float32(value))
	}
	return into, ""
}

func given(s loadline.Sample) (float64, bool) { return s.Value, s.Present() }

// per is a sample over what there is of it.
func per(s loadline.Sample, of float64) (float64, bool) {
	if !s.Present() {
		return 0, false
	}
	if of == 0 {
		return 0, true // nothing serves, so nothing is used
	}
	return ratio(s.Value, of)
}

func clip(value float64, present bool) (float64, bool) { return min(value, most), present }

// overBudget is a response time over the service's budget. When no visit ended
// because none was asked for there is nothing to be late. When visits are there and
// none ended, all of them are as late as can be: otherwise a service without
// replicas would look like the quickest of all, and never be woken.
func (v *view) overBudget(l loadline.Sample) (float64, bool) {
	if !l.Present() {
		if v.observed.Concurrency.Or(0) > 0 {
			return most, true
		}
		return 0, v.observed.Rate.Present() && v.observed.Rate.Value == 0
	}
	return clip(ratio(l.Value, v.budget.Latency.Seconds()))
}

// highest rate that is expected, by the median; the rate now where there is no
// forecast.
func (v *view) highest() float64 {
	highest, known := 0.0, false
	if len(v.situation.Forecast) > v.index {
		for _, s := range v.situation.Forecast[v.index].Median {
			if s.Present() {
				highest, known = max(highest, s.Value), true
			}
		}
	}
	if !known {
		return v.observed.Rate.Or(0)
	}
	return highest
}

// trend of the rate. One visit a minute more or less is no trend: both rates
// count a little more than they are.
func (v *view) trend(ago time.Duration) (float64, bool) {
	now, then := v.observed.Rate, v.earlier(ago)
	if !now.Present() {
		return 0, false
	}
	if !then.Present() {
		return 0, true
	}
	little := 0.05 / max(v.topology.CPU, 1e-4) // the rate that keeps a twentieth of a core busy
	return max(-3, min(3, math.Log2((now.Value+little)/(then.Value+little)))), true
}
