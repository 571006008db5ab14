package policy

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// HPA is Kubernetes' HorizontalPodAutoscaler (autoscaling/v2), one per service,
// after the controller's documented behaviour. The metrics are in
// hpa_metrics.go, the arithmetic over pods in hpa_replicas.go, the behaviour
// field in hpa_behaviour.go.
//
// Where it differs from the original:
//   - A pod that has not started is pending, whatever keeps it from starting.
//   - An unready pod past its initialisation period counts if it has ever been
//     ready; the original guesses that from the time of its last transition
//     (--horizontal-pod-autoscaler-initial-readiness-delay).
//   - Usage is not rounded up to milli-cores.
//   - All metrics share the delay and the window of the CPU samples. Metrics of
//     the type Object, which only differ in where they are read, and of single
//     containers, of which a pod here has one, are left out.
type HPA struct {
	cfg hpaConfig
	of  []hpaMemory // by service

	// For autoscalers that are built on it: metricsOf replaces the configured metrics of a
	// service, adjust changes what is recommended before it is stabilised. Both may be nil.
	metricsOf func(now time.Time, s loadline.Situation, service int) []hpaMetric
	adjust    func(now time.Time, s loadline.Situation, service, desired int, reason string) (int, string)
}

type hpaConfig struct {
	metrics    []hpaMetric
	behaviour  hpaBehaviour
	initPeriod time.Duration
	needs      loadline.Needs
}

var hpaMethod = Method{
	Name:   "hpa",
	About:  "Kubernetes' HorizontalPodAutoscaler on CPU utilisation and other metrics, one per service",
	Search: hpaSearch,
	Options: func(app *loadline.App) []Option {
		options := slices.Concat(hpaOptions("80"), setupOptions())
		for _, s := range app.Services {
			if !isOption(options, s.Name) {
				options = append(options, Option{s.Name, "",
					"CPU utilisation to keep of this service, if not the target of all; off = nothing scales it", OrOff(Number(1, 1000))})
			}
		}
		return options
	},
	New: func(app *loadline.App, v Values) (loadline.Policy, error) {
		p, err := newHPAs(app, v)
		if err != nil {
			return nil, err
		}
		return aroundRule(app, v, p)
	},
}

// hpaOptions are the settings of the autoscaler itself, with its default target.
func hpaOptions(target string) []Option {
	return []Option{
		{"target", target, "CPU utilisation to keep, % of the request; off = do not look at it", OrOff(Number(1, 1000))},
		{"memory-target", "", "memory utilisation to keep as well, % of the request", Number(1, 1000)},
		{"concurrency-target", "", "requests in each pod to keep as well", Number(0.001, 1e6)},
		{"rps-target", "", "requests per second for each pod to keep as well", Number(0.001, 1e9)},
		{"queue-target", "", "messages in the service's queue for each pod to keep as well, those that are worked on included",
			Number(0.001, 1e9)},
		{"tolerance", "0.1", "hold while the ratio to the target is within it", Number(0, 1)},
		{"up-tolerance", "", "the same, upwards only", Number(0, 1)},
		{"down-tolerance", "", "the same, downwards only", Number(0, 1)},
		{"up-window", "0s", "scale up to the lowest recommendation in it", Span(0, time.Hour)},
		{"down-window", "300s", "scale down to the highest recommendation in it", Span(0, time.Hour)},
		{"up-policies", "4/15s+100%/15s", "pods or percent that may be added per period", rateSpec},
		{"down-policies", "100%/15s", "pods or percent that may be removed per period", rateSpec},
		{"up-select", "max", "which of the policies counts: max, min or disabled", OneOf("max", "min", "disabled")},
		{"down-select", "max", "which of the policies counts: max, min or disabled", OneOf("max", "min", "disabled")},
		{"period", "15s", "between decisions", Span(time.Second, time.Hour)},
		{"init-period", "5m", "in which the CPU samples of a pod wait for its readiness", Span(0, time.Hour)},
		{"lag", "15s", "age of the CPU samples", Span(0, time.Hour)},
		{"resolution", "15s", "between readings of metrics-server; a sample is the mean over it", Span(time.Second, time.Hour)},
	}
}

// newHPA makes the policy for settings, with the same targets for all services.
func newHPA(app *loadline.App, v Values) (*HPA, error) {
	metrics := hpaMetrics(v)
	if len(metrics) == 0 {
		return nil, errors.New("target=off leaves no metric: set memory-target, concurrency-target, rps-target or queue-target")
	}
	return hpaOver(app, v, metrics), nil
}

// newHPAs makes the policy for settings that may have targets of single services.
func newHPAs(app *loadline.App, v Values) (*HPA, error) {
	metrics := hpaMetrics(v)
	own := ownTargets(app, v, metrics)
	if own == nil {
		return newHPA(app, v)
	}
	p := hpaOver(app, v, metrics)
	p.metricsOf = func(_ time.Time, _ loadline.Situation, service int) []hpaMetric { return own[service] }
	return p, nil
}

// ownTargets are the metrics by service, where some have a CPU target of their own; else nil.
func ownTargets(app *loadline.App, v Values, metrics []hpaMetric) [][]hpaMetric {
	var own [][]hpaMetric
	fixed := slices.Concat(hpaOptions(""), setupOptions())
	for i, s := range app.Services {
		if isOption(fixed, s.Name) || !v.IsSet(s.Name) {
			continue
		}
		if own == nil {
			own = slices.Repeat([][]hpaMetric{metrics}, len(app.Services))
		}
		if v[s.Name] == "off" {
			own[i] = nil
			continue
		}
		others := slices.DeleteFunc(slices.Clone(metrics), func(m hpaMetric) bool { return m.source == sourceCPU })
		own[i] = append([]hpaMetric{{source: sourceCPU, target: v.Float(s.Name), hold: tolerances(v)}}, others...)
	}
	return own
}

// hpaOver is the autoscaler over given metrics.
func hpaOver(app *loadline.App, v Values, metrics []hpaMetric) *HPA {
	// Metrics-server and the kubelet behind it each look every 15 s or so, not in
	// step with them: a sample covers 15 s and is 15 s old on average.
	needs := loadline.Needs{
		Period: v.Span("period"), Delay: time.Second,
		Scrape: v.Span("resolution"), Window: v.Span("resolution"), Lag: v.Span("lag"),
	}
	return &HPA{
		cfg: hpaConfig{
			metrics: metrics,
			behaviour: hpaBehaviour{
				up:   hpaRule{window: v.Span("up-window"), policies: parseRates(v["up-policies"]), pick: v["up-select"]},
				down: hpaRule{window: v.Span("down-window"), policies: parseRates(v["down-policies"]), pick: v["down-select"]},
			},
			initPeriod: v.Span("init-period"),
			needs:      needs,
		},
		of: make([]hpaMemory, len(app.Services)),
	}
}

// hpaMetrics are the metrics of the settings.
func hpaMetrics(v Values) []hpaMetric {
	band := tolerances(v)
	var metrics []hpaMetric
	for _, m := range []struct {
		key    string
		source hpaSource
	}{
		{"target", sourceCPU}, {"memory-target", sourceMemory},
		{"concurrency-target", sourceConcurrency}, {"rps-target", sourceRate}, {"queue-target", sourceQueue},
	} {
		if v.IsSet(m.key) && v[m.key] != "off" {
			metrics = append(metrics, hpaMetric{source: m.source, target: v.Float(m.key), hold: band})
		}
	}
	return metrics
}

// tolerances of the settings.
func tolerances(v Values) toleranceBand {
	tolerance := func(direction string) float64 {
		if v.IsSet(direction + "-tolerance") {
			return v.Float(direction + "-tolerance")
		}
		return v.Float("tolerance")
	}
	return toleranceBand{low: 1 - tolerance("down"), high: 1 + tolerance("up")}
}

// Name of the policy.
func (*HPA) Name() string { return "hpa" }

// Needs are those of a cluster with metrics-server at its defaults.
func (p *HPA) Needs() loadline.Needs { return p.cfg.needs }

// Decide is one sync of every service's autoscaler. Services without data are unchanged;
// without data for any of them there is no decision.
func (p *HPA) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	var proposal loadline.Proposal
	blind := 0
	for i := range s.App.Services {
		replicas, reason, err := p.sync(now, s, i)
		if errors.Is(err, loadline.ErrNoData) {
			blind++
			continue
		}
		proposal.Services = append(proposal.Services, loadline.ServiceProposal{
			Service: i, Setting: loadline.Setting{Replicas: replicas}, Reason: reason,
		})
	}
	if blind > 0 && len(proposal.Services) == 0 {
		return loadline.Proposal{}, fmt.Errorf("%w: no pod of any service has a usable sample", loadline.ErrNoData)
	}
	return proposal, nil
}

// sync is one service's autoscaler: recommend, stabilise, limit the rate.
func (p *HPA) sync(now time.Time, s loadline.Situation, service int) (loadline.Opt[int], string, error) {
	bounds := s.App.Services[service].Bounds
	low, high := max(bounds.MinReplicas, 1), bounds.MaxReplicas
	if high <= 0 {
		high = 1 << 30
	}
	metrics := p.cfg.metrics
	if p.metricsOf != nil {
		if metrics = p.metricsOf(now, s, service); len(metrics) == 0 {
			return loadline.Opt[int]{}, "no autoscaler is set up for it", nil
		}
	}
	current := s.Allocation[service].Replicas
	memory := &p.of[service]
	memory.begin(now, current)
	memory.settle(s.InFlight[service].Replicas)
	switch {
	case current == 0:
		return loadline.Opt[int]{}, "scaled to zero by hand, which switches the autoscaler off", nil
	case current > high:
		memory.propose(now, p.cfg.behaviour, current, high)
		return loadline.Some(high), fmt.Sprintf("%s, the upper bound is %d", loadline.DescribeReplicas(current), high), nil
	case current < low:
		memory.propose(now, p.cfg.behaviour, current, low)
		return loadline.Some(low), fmt.Sprintf("%s, the lower bound is %d", loadline.DescribeReplicas(current), low), nil
	}
	view := podView{now: now, window: p.cfg.needs.Window, initPeriod: p.cfg.initPeriod}
	desired, reason, err := recommend(metrics, current, &s.Now().Services[service], view)
	if err != nil {
		return loadline.Opt[int]{}, "", err
	}
	if p.adjust != nil {
		desired, reason = p.adjust(now, s, service, desired, reason)
	}
	stable, why := memory.stabilise(now, p.cfg.behaviour, current, desired)
	reason += why
	limited, why := memory.limit(now, p.cfg.behaviour, current, stable, low, high)
	reason += why
	memory.propose(now, p.cfg.behaviour, current, limited)
	return loadline.Some(limited), reason, nil
}
