package train

import (
	"context"
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/sim"
)

// ENV2Config configures ENV2.
type ENV2Config struct {
	Scenario ServiceScenario // the service and its requests
	Delays   Delays
	// AsPrinted divides the CPU by the mean replicas once more, as eq. 7 does in the
	// paper, although the result is no longer the CPU of a pod.
	AsPrinted bool
}

// ENV2 is Scaling-Ops' environment for evaluation: all metrics are computed from a
// series of requests (eq. 6 to 8), and pods start and stop at once. It implements
// loop.Cluster, so that any policy can be evaluated; metrics that the equations do not
// give are absent.
type ENV2 struct {
	config  ENV2Config
	service *loadline.Service
	now     time.Duration
	desired loadline.Allocation

	score   ENV2Score
	seconds float64
}

// ENV2Score is the result of a policy.
type ENV2Score struct {
	MeanPods float64 `json:"mean_pods"`
	Delay    float64 `json:"delay_s"`        // mean, seconds
	OverSLA  float64 `json:"over_sla_share"` // of the time
	AtMin    float64 `json:"at_min_share"`   // of the time with the fewest replicas allowed
	AtMax    float64 `json:"at_max_share"`   // with the most
	Held     int     `json:"held"`           // decisions that were not made because a metric is absent
	Made     int     `json:"made"`
}

// Bound is the bound of the replicas that the policy stayed at for over 95 % of the time, if any.
func (s ENV2Score) Bound() string {
	switch {
	case s.AtMin > 0.95:
		return "min"
	case s.AtMax > 0.95:
		return "max"
	}
	return ""
}

// EvaluateENV2 runs a policy over the requests.
func EvaluateENV2(ctx context.Context, config ENV2Config, policy loadline.Policy) (ENV2Score, error) {
	e := &ENV2{config: config, service: &config.Scenario.App.Services[0]}
	e.desired = loadline.Allocation{Replicas: e.service.Replicas, Size: e.service.Size}
	run := &loop.Loop{
		App: config.Scenario.App, Policy: policy, Cluster: e, Clock: e, Guards: []loop.Guard{guard.Clamp{}},
		Record: func(d *loadline.Decision) {
			if e.score.Made++; d.Err != nil {
				e.score.Made--
				e.score.Held++
			}
		},
	}
	if err := run.Run(ctx, sim.Time(config.Scenario.Duration)); err != nil {
		return ENV2Score{}, err
	}
	if e.seconds == 0 {
		return ENV2Score{}, fmt.Errorf("ENV2: the requests of %s last no time", config.Scenario.Service)
	}
	s := e.score
	s.MeanPods /= e.seconds
	s.Delay /= e.seconds
	s.OverSLA /= e.seconds
	s.AtMin /= e.seconds
	s.AtMax /= e.seconds
	return s, nil
}

// state computes the present metrics.
func (e *ENV2) state() (cpu, requests, delay float64) {
	d := &e.config.Delays
	asked, _ := e.config.Scenario.Load.Rate(0, e.now)
	replicas := float64(max(e.desired.Replicas, 1))
	active := asked * d.MeanReplicas / d.MeanRequests // eq. 6
	cpu = d.MeanCPU * active / replicas               // eq. 7
	if e.config.AsPrinted {
		cpu /= d.MeanReplicas
	}
	requests = min(asked, d.MeanRequests/d.MeanReplicas*replicas) // eq. 8
	return cpu, requests, d.Of(cpu, requests)
}

// Now implements loop.Clock.
func (e *ENV2) Now() time.Time { return sim.Time(e.now) }

// WaitUntil implements loop.Clock. The series is sampled every fluidStep, like the metrics
// of a simulated cluster.
func (e *ENV2) WaitUntil(ctx context.Context, t time.Time) error {
	until := sim.Since(t)
	for e.now < until {
		step := min(fluidStep, until-e.now)
		_, _, delay := e.state()
		s := step.Seconds()
		e.seconds += s
		e.score.MeanPods += s * float64(e.desired.Replicas)
		e.score.Delay += s * delay
		if delay >= e.config.Delays.SLA {
			e.score.OverSLA += s
		}
		if e.desired.Replicas <= e.service.Bounds.MinReplicas {
			e.score.AtMin += s
		}
		if e.desired.Replicas >= e.service.Bounds.MaxReplicas {
			e.score.AtMax += s
		}
		e.now += step
	}
	return ctx.Err()
}

// Observe implements loop.Cluster.
func (e *ENV2) Observe(ctx context.Context, into *loadline.Observation) error {
	at := e.Now()
	present := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: at} }
	cpu, requests, delay := e.state()
	request := e.desired.Size.CPURequest
	if request == 0 {
		request = max(e.desired.Size.CPULimit, 1e-3)
	}
	*into = loadline.Observation{At: at, Services: make([]loadline.ServiceObservation, 1), Kinds: make([]loadline.KindObservation, 1),
		Nodes: make([]loadline.NodeObservation, len(e.config.Scenario.App.Nodes))}
	s := &into.Services[0]
	s.Rate, s.CPU = present(requests), present(cpu*request*float64(e.desired.Replicas))
	s.Latency.Mean = present(delay)
	into.Kinds[0].Rate, into.Kinds[0].Latency.Mean = s.Rate, s.Latency.Mean
	for i := range e.desired.Replicas {
		s.Pods = append(s.Pods, loadline.PodObservation{
			ID: int64(i), Phase: loadline.PodReady, Created: sim.Epoch.Add(-time.Hour), Ready: sim.Epoch.Add(-time.Hour),
			Size: e.desired.Size,
			CPU:  present(cpu * request),
		})
	}
	return ctx.Err()
}

// Allocation implements loop.Cluster.
func (e *ENV2) Allocation(into []loadline.Allocation) []loadline.Allocation {
	return append(into, e.desired)
}

// Apply implements loop.Cluster.
func (e *ENV2) Apply(ctx context.Context, plan loadline.Plan) error {
	for _, p := range plan.Services {
		e.desired = e.desired.With(p.Setting)
	}
	return ctx.Err()
}
