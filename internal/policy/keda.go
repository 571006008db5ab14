package policy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// KEDA is Kubernetes Event-driven Autoscaling as it is commonly deployed for services: a
// ScaledObject for each, with a Prometheus trigger on the rate of requests,
// sum(rate(requests[2m])), and optionally a CPU trigger. KEDA makes a HorizontalPodAutoscaler of
// it: the rate is an external metric with an average value, ceil(rate / threshold); of several
// triggers the largest counts. KEDA itself only acts between no replica and one: it checks at
// each polling interval whether the trigger is active, and scales to zero once it has been
// inactive for the cool-down.
//
// The threshold is requests per second and replica: given, or the share of what the CPU request
// of a replica serves, by the CPU time of a request in the application's model (or as measured at
// present, where the model has none). That is how an operator derives it from a load test.
//
// Where it differs from the original:
//   - All metrics share the delay of the CPU samples, as with hpa.
//   - Fallbacks, scaling modifiers and pausing are left out.
//   - An application scales to zero only where its bounds allow it.
type KEDA struct {
	*HPA
	cfg    kedaConfig
	cost   []demand // by service, of a request of the users
	recent []kedaTrigger
}

type kedaConfig struct {
	threshold  []float64 // by service; 0 = from the share
	share      float64
	entry      bool // the trigger's query is of the requests of the users, not of the service
	window     time.Duration
	polling    time.Duration
	cached     bool
	activation float64 // requests per second
	cooldown   time.Duration
	hold       toleranceBand
}

// kedaTrigger is what the trigger of one service has answered.
type kedaTrigger struct {
	readings   []reading
	answer     loadline.Sample // as of the last poll, with cached metrics
	polled     time.Time
	lastActive time.Time
}

var kedaMethod = Method{
	Name:    "keda",
	About:   "KEDA with a Prometheus trigger on the request rate over HPA, one per service",
	Search:  kedaSearch,
	Options: kedaOptions,
	New: func(app *loadline.App, v Values) (loadline.Policy, error) {
		return aroundRule(app, v, newKEDA(app, v))
	},
}

func kedaOptions(app *loadline.App) []Option {
	options := append(hpaOptions("off"),
		Option{"threshold", "", "requests per second for each replica, all services alike", Number(0.001, 1e9)},
		Option{"share", "0.7", "of what a replica's CPU request serves, as the threshold where none is given", Number(0.01, 100)},
		Option{"trigger", "service", "whose requests are counted: service, or entry for those of the users", OneOf("service", "entry")},
		Option{"window", "2m", "over which the query takes the rate", Span(15*time.Second, time.Hour)},
		Option{"polling", "30s", "between checks whether the trigger is active", Span(time.Second, time.Hour)},
		Option{"cached", "off", "on: the autoscaler gets the answer of the last check (useCachedMetrics)", OneOf("on", "off")},
		Option{"activation", "0", "requests per second above which the trigger is active", Number(0, 1e9)},
		Option{"cooldown", "300s", "for which it must be inactive before the last replica goes", Span(0, 24*time.Hour)},
	)
	options = append(options, setupOptions()...)
	for _, s := range app.Services {
		if !isOption(options, s.Name) {
			options = append(options, Option{s.Name, "", "requests per second for each replica of this service", Number(0.001, 1e9)})
		}
	}
	return slices.DeleteFunc(options, func(o Option) bool {
		return o.Key == "rps-target" || o.Key == "concurrency-target" || o.Key == "queue-target"
	})
}

func newKEDA(app *loadline.App, v Values) *KEDA {
	metrics := hpaMetrics(v) // CPU and memory triggers, if any
	p := &KEDA{
		HPA: hpaOver(app, v, metrics),
		cfg: kedaConfig{
			threshold: make([]float64, len(app.Services)), share: v.Float("share"), entry: v["trigger"] == "entry",
			window: v.Span("window"), polling: v.Span("polling"), cached: v["cached"] == "on",
			activation: v.Float("activation"), cooldown: v.Span("cooldown"), hold: tolerances(v),
		},
		cost:   demandPerRequest(app),
		recent: make([]kedaTrigger, len(app.Services)),
	}
	for i, s := range app.Services {
		switch {
		case v.IsSet(s.Name) && !isOption(kedaOptions(&loadline.App{}), s.Name):
			p.cfg.threshold[i] = v.Float(s.Name)
		case v.IsSet("threshold"):
			p.cfg.threshold[i] = v.Float("threshold")
		}
	}
	p.metricsOf = func(_ time.Time, s loadline.Situation, service int) []hpaMetric {
		trigger := hpaMetric{source: sourceQuery, hold: p.cfg.hold, sample: p.recent[service].answer}
		var known bool
		if trigger.target, known = p.thresholdOf(service, s); !known {
			trigger.sample = loadline.Sample{} // without a threshold the trigger has no result
		}
		return append(slices.Clip(metrics), trigger)
	}
	return p
}

// Name of the policy.
func (*KEDA) Name() string { return "keda" }

// Decide is one sync of every service's autoscaler, and KEDA's own check where it is due.
func (p *KEDA) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	for i := range s.App.Services {
		p.query(now, s, i)
	}
	proposal, err := p.HPA.Decide(now, s)
	if err != nil && !errors.Is(err, loadline.ErrNoData) {
		return proposal, err
	}
	for i := range s.App.Services {
		replicas, reason, acts := p.activate(now, s, i)
		if !acts && s.Allocation[i].Replicas > 0 {
			continue
		}
		of := func(sp loadline.ServiceProposal) bool { return sp.Service == i }
		proposal.Services = slices.DeleteFunc(proposal.Services, of) // KEDA has paused its autoscaler
		if acts {
			err = nil
			proposal.Services = append(proposal.Services, loadline.ServiceProposal{
				Service: i, Setting: loadline.Setting{Replicas: loadline.Some(replicas)}, Reason: reason,
			})
		}
	}
	return proposal, err
}

// query adds the newest rate and answers the trigger's query: the mean over its window.
func (p *KEDA) query(now time.Time, s loadline.Situation, service int) {
	t := &p.recent[service]
	rate := s.Now().Services[service].Rate
	if p.cfg.entry {
		rate = userRate(s.Now().Kinds)
	}
	if n := len(t.readings); rate.Present() && (n == 0 || rate.At.After(t.readings[n-1].at)) {
		t.readings = append(t.readings, reading{rate.At, rate.Value})
	}
	t.readings = youngerThan(t.readings, now.Add(-p.cfg.window-p.cfg.staleness()))
	due := now.Sub(t.polled) >= p.cfg.polling
	if due {
		t.polled = now
	}
	if !p.cfg.cached || due {
		t.answer = p.mean(t.readings)
	}
	if t.answer.Present() && t.answer.Value > p.cfg.activation || t.lastActive.IsZero() {
		t.lastActive = now
	}
}

// staleness is how old the newest sample may be, as Prometheus looks back for one.
func (kedaConfig) staleness() time.Duration { return 5 * time.Minute }

// mean of the readings within the window before the newest.
func (p *KEDA) mean(readings []reading) loadline.Sample {
	if len(readings) == 0 {
		return loadline.Sample{}
	}
	newest := readings[len(readings)-1]
	sum, n := 0.0, 0
	for _, r := range readings {
		if r.at.After(newest.at.Add(-p.cfg.window)) {
			sum += r.value
			n++
		}
	}
	return loadline.Sample{Value: sum / float64(n), At: newest.at}
}

// activate is KEDA's own part: from no replica to one while the trigger is active, and to none
// after the cool-down.
func (p *KEDA) activate(now time.Time, s loadline.Situation, service int) (replicas int, reason string, acts bool) {
	t, current := &p.recent[service], s.Allocation[service].Replicas
	switch active := t.answer.Present() && t.answer.Value > p.cfg.activation; {
	case !t.answer.Present() || !t.polled.Equal(now):
	case current == 0 && active:
		return max(s.App.Services[service].Bounds.MinReplicas, 1), fmt.Sprintf("%.1f req/s, above the activation threshold of %g",
			t.answer.Value, p.cfg.activation), true
	case current > 0 && !active && s.App.Services[service].Bounds.MinReplicas == 0 && now.Sub(t.lastActive) >= p.cfg.cooldown:
		return 0, fmt.Sprintf("at most %g req/s, the activation threshold, for %v: scaled to zero", p.cfg.activation, p.cfg.cooldown), true
	}
	return 0, "", false
}

// thresholdOf a service: as given, or the share of what its CPU request serves.
func (p *KEDA) thresholdOf(service int, s loadline.Situation) (float64, bool) {
	if given := p.cfg.threshold[service]; given > 0 {
		return given, true
	}
	seen := &s.Now().Services[service]
	cost := p.cost[service].perVisit()
	requests := seen.Rate
	if p.cfg.entry {
		cost, requests = p.cost[service].seconds, userRate(s.Now().Kinds)
	}
	if cost == 0 && seen.CPU.Present() && requests.Present() && requests.Value > 0 {
		cost = seen.CPU.Value / requests.Value
	}
	request := s.Allocation[service].Size.CPURequest
	if cost <= 0 || request <= 0 {
		return 0, false
	}
	// Thresholds are written with at most three decimals.
	return max(math.Round(1000*p.cfg.share*request/cost)/1000, 0.001), true
}

// userRate is the rate of requests of all kinds; absent if one is.
func userRate(kinds []loadline.KindObservation) loadline.Sample {
	var sum loadline.Sample
	for i := range kinds {
		if !kinds[i].Rate.Present() {
			return loadline.Sample{}
		}
		sum.Value += kinds[i].Rate.Value
		sum.At = kinds[i].Rate.At
	}
	return sum
}
