package policy

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/loadline/loadline"
)

// Ursa scales each service by a threshold of its own: the maximum of requests per second and
// replica. The thresholds are found beforehand, from how each service's latency grows with its
// load (ursa_explore.go): nothing is learned at run time. After Zhang et al., "Ursa:
// Lightweight Resource Management for Cloud-Native Microservices" (HPCA 2024).
//
// Deviations from the original:
//   - One threshold per service, for all classes of requests together.
//   - A service without a threshold gets one from what a request costs it: the
//     load at which it would use so much of its CPU limit. The cost is that of the
//     app's model, or as measured at present if the model has none. The original
//     has no such rule; it explores first.
//   - A scale-down waits until a window has wanted it (down-window), so that
//     arrivals at random do not make pods come and go.
//   - It does not explore again by itself when a service has changed.
type Ursa struct {
	threshold   []float64 // by service: requests per second and replica; 0 = from the utilisation
	cost        []float64 // by service: CPU seconds of a request; 0 = to be measured
	utilisation float64
	downWindow  time.Duration
	wants       [][]stamped // by service
	needs       loadline.Needs
}

var ursaMethod = Method{
	Name:   "ursa",
	About:  "a load threshold for each service, in requests per second and replica, found by exploration",
	Search: ursaSearch,
	Options: func(app *loadline.App) []Option {
		options := append([]Option{
			{"threshold", "", "requests per second for each replica, all services alike", Number(0.001, 1e9)},
			{"utilisation", "60", "of the CPU limit at which a service without a threshold has enough, %", Number(1, 100)},
			{"down-window", "60s", "scale down to the most that was wanted in it", Span(0, time.Hour)},
			{"period", "15s", "between decisions", Span(time.Second, time.Hour)},
		}, setupOptions()...)
		for _, s := range app.Services {
			if !isOption(options, s.Name) {
				options = append(options, Option{s.Name, "", "requests per second for each replica of this service", Number(0.001, 1e9)})
			}
		}
		return options
	},
	New: func(app *loadline.App, v Values) (loadline.Policy, error) {
		p := &Ursa{
			utilisation: v.Float("utilisation") / 100, downWindow: v.Span("down-window"),
			threshold: make([]float64, len(app.Services)), cost: costPerVisit(app), wants: make([][]stamped, len(app.Services)),
			// The original reads from Prometheus, which scrapes every few seconds.
			needs: loadline.Needs{Period: v.Span("period"), Delay: time.Second, Scrape: 5 * time.Second, Window: 15 * time.Second},
		}
		for i, s := range app.Services {
			text := v["threshold"]
			if v.IsSet(s.Name) {
				text = v[s.Name]
			}
			if text == "" {
				continue
			}
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("%s=%s: %w", s.Name, text, err)
			}
			p.threshold[i] = n
		}
		return aroundRule(app, v, p)
	},
}

func isOption(options []Option, key string) bool {
	for _, o := range options {
		if o.Key == key {
			return true
		}
	}
	return false
}

// Name of the policy.
func (*Ursa) Name() string { return "ursa" }

// Needs the rate of requests to each service.
func (p *Ursa) Needs() loadline.Needs { return p.needs }

// Decide gives each service as many replicas as its load needs.
func (p *Ursa) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	var proposal loadline.Proposal
	for i := range s.App.Services {
		seen := &s.Now().Services[i]
		threshold, ok := p.thresholdOf(i, seen, s.Allocation[i].Size)
		if !ok || !seen.Rate.Present() {
			continue
		}
		wanted := max(int(math.Ceil(seen.Rate.Value/threshold-1e-9)), 1)
		reason := fmt.Sprintf("%.1f req/s, at most %.4g per replica: %s", seen.Rate.Value, threshold, loadline.DescribeReplicas(wanted))
		if p.wants[i] == nil { // the current replicas count as wanted, without a history
			p.wants[i] = []stamped{{now, s.InFlight[i].Replicas}}
		}
		p.wants[i] = append(forget(p.wants[i], now.Add(-p.downWindow)), stamped{now, wanted})
		most := wanted
		for _, w := range p.wants[i] {
			most = max(most, w.n)
		}
		// Only existing replicas are kept: an old recommendation is no reason to grow.
		if keep := min(most, s.InFlight[i].Replicas); keep > wanted {
			reason += fmt.Sprintf("; held at %d, which were needed within %v", most, p.downWindow)
			wanted = keep
		}
		wanted, why := withinReplicas(s.App.Services[i].Bounds, wanted)
		proposal.Services = append(proposal.Services, loadline.ServiceProposal{
			Service: i, Setting: loadline.Setting{Replicas: loadline.Some(wanted)}, Reason: reason + why,
		})
	}
	if len(proposal.Services) == 0 && len(s.App.Services) > 0 {
		return proposal, fmt.Errorf("%w: no service has a rate of requests to compare", loadline.ErrNoData)
	}
	return proposal, nil
}

// thresholdOf a service: as explored, or the load at which it would use its share of the CPU
// limit.
func (p *Ursa) thresholdOf(service int, seen *loadline.ServiceObservation, size loadline.Size) (float64, bool) {
	if p.threshold[service] > 0 {
		return p.threshold[service], true
	}
	limit := size.CPULimit
	if limit <= 0 {
		limit = size.CPURequest
	}
	cost := p.cost[service]
	if cost == 0 && seen.CPU.Present() && seen.Rate.Present() && seen.Rate.Value > 0 {
		cost = seen.CPU.Value / seen.Rate.Value
	}
	if cost <= 0 || limit <= 0 {
		return 0, false
	}
	return p.utilisation * limit / cost, true
}
