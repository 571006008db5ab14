package slosplit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
)

// Tail is the end-to-end latency of one kind of request, at the percentile of its SLO.
type Tail struct {
	Kind    string  `json:"kind"`
	SLO     float64 `json:"slo_seconds"`
	Latency float64 `json:"latency_seconds"`
	Error   float64 `json:"error_seconds"` // standard error over the seeds
	// Failing means that more requests failed than the percentile allows: there is no latency
	// then.
	Failing bool `json:"failing,omitempty"`
}

// Met reports whether the SLO is met with a margin of two standard errors.
func (t Tail) Met() bool { return !t.Failing && t.Latency+2*t.Error <= t.SLO }

// Measure measures the tails of all kinds of requests with the given instances of each service.
type Measure func(instances []int) ([]Tail, error)

// Measurement configures how tails are measured.
type Measurement struct {
	PerSecond []float64 // requests, by kind
	Seeds     int       // 0 = 3
	FirstSeed uint64
	Requests  float64 // of the rarest kind in each run; 0 = 2000
	CPU       sim.CPUModel
}

const (
	measureWarmUp   = 20 * time.Second
	measureShortest = 40 * time.Second
	measureLongest  = 10 * time.Minute
)

// InEventEngine measures an application in the event engine, on as many of its nodes as the
// instances need. Arrivals are Poisson at constant rates.
func InEventEngine(ctx context.Context, app *loadline.App, m Measurement) Measure {
	if m.Seeds == 0 {
		m.Seeds = 3
	}
	if m.Requests == 0 {
		m.Requests = 2000
	}
	return func(instances []int) ([]Tail, error) {
		sized := withInstances(app, instances)
		length := measureShortest
		for _, rate := range m.PerSecond {
			if rate > 0 {
				length = max(length, time.Duration(min(m.Requests/rate, measureLongest.Seconds())*float64(time.Second)))
			}
		}
		var seeds [][]sim.KindMeter
		for seed := range m.Seeds {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			e := event.New(sim.Config{App: sized, Load: rates(m.PerSecond), Seed: m.FirstSeed + uint64(seed) + 1, CPU: m.CPU,
				WarmUp: measureWarmUp})
			for t := measureWarmUp; t < measureWarmUp+length; t += measureShortest {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				e.AdvanceTo(t)
			}
			e.AdvanceTo(measureWarmUp + length)
			seeds = append(seeds, e.Meter().Kinds)
		}
		var tails []Tail
		for k := range app.Kinds {
			if app.Kinds[k].SLO.Latency > 0 && m.PerSecond[k] > 0 {
				tails = append(tails, tailOf(&app.Kinds[k], k, seeds))
			}
		}
		return tails, nil
	}
}

// tailOf one kind of request over all seeds.
func tailOf(kind *loadline.Kind, k int, seeds [][]sim.KindMeter) Tail {
	t := Tail{Kind: kind.Name, SLO: kind.SLO.Latency.Seconds()}
	var each []float64
	for _, kinds := range seeds {
		m := &kinds[k]
		// A failed request counts as infinitely slow. A request in flight has not ended, and an
		// unstable queue leaves many.
		part := kind.SLO.Percentile / 100 * (m.Ended + max(m.InFlight()-inFlightUsual*m.Ended, 0)) / m.Latency.Count()
		if !(part <= 1) {
			t.Failing, t.Latency, t.Error = true, 0, 0
			return t
		}
		each = append(each, m.Latency.Quantile(part)/1e9)
	}
	n := float64(len(each))
	for _, v := range each {
		t.Latency += v / n
	}
	if n > 1 {
		squares := 0.0
		for _, v := range each {
			squares += (v - t.Latency) * (v - t.Latency)
		}
		t.Error = math.Sqrt(squares / (n - 1) / n)
	}
	return t
}

// inFlightUsual is a generous bound of the share of a run's requests in flight at its end.
const inFlightUsual = 0.02

type rates []float64

func (r rates) Rate(kind int, _ time.Duration) (float64, time.Duration) { return r[kind], sim.Never }

// withInstances is the app with the given instances, and nodes for them.
func withInstances(app *loadline.App, instances []int) *loadline.App {
	sized := *app
	sized.Services = slices.Clone(app.Services)
	cores, memory := 0.0, 0.0
	for i := range sized.Services {
		s := &sized.Services[i]
		s.Replicas = instances[i]
		s.Bounds.MinReplicas, s.Bounds.MaxReplicas = min(s.Bounds.MinReplicas, instances[i]), max(s.Bounds.MaxReplicas, instances[i])
		n := float64(instances[i])
		cores += n * max(s.Size.CPURequest, s.Size.CPULimit)
		memory += n * float64(max(s.Size.MemoryRequest, s.Size.MemoryLimit))
	}
	sized.Nodes = nil
	for again := 1; (cores > 0 || memory > 0 || again == 1) && len(app.Nodes) > 0; again++ {
		for _, node := range app.Nodes {
			node.Name = fmt.Sprintf("%s-%d", node.Name, again)
			sized.Nodes = append(sized.Nodes, node)
			// Instances do not fill nodes without gaps.
			cores -= 0.7 * node.Cores
			memory -= 0.7 * float64(node.Memory)
		}
	}
	return &sized
}
