package policy

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
)

// Hybrid is the hybrid histogram policy of Shahrad et al., "Serverless in the Wild" (USENIX ATC
// 2020), over the rule of kpa: it decides how long the last pod of an idle function stays, and when
// one is started before the next invocation is expected. The learned part is in hybrid_histogram.go.
//
// Where it differs from the original:
//   - The original keeps or loads one instance; here more pods than one follow kpa's windows of
//     concurrency, and the histogram has the last pod only.
//   - Idle times are seen at ticks of two seconds. What is shorter is no idle time.
//   - Their statistics are of a service, the original's of an application of functions.
//   - The share of idle times beyond the histogram from which the forecast is used is not published: it is
//     the setting beyond. With too few of them for ARIMA, the forecast is their mean.
//   - Only services that hold requests go to zero, or those for which it is asked, as with kpa.
type Hybrid struct {
	*KPA
	cfg hybridConfig
	of  []hybridMemory // by service
}

type hybridConfig struct {
	head, tail float64 // percentiles of idle times
	margin     float64 // share by which windows are widened
	spread     float64 // coefficient of variation of the bins from which the histogram is representative
	fewest     int     // idle times from which it may be
	beyond     float64 // share of idle times that it does not cover, from which they are forecast
	forecast   float64 // margin around a forecast
	toZero     string
}

var hybridMethod = Method{
	Name:   "hybrid-histogram",
	About:  "keep-alive and pre-warming by a histogram of idle times (Shahrad et al. 2020), over kpa's rule for more pods than one",
	Search: hybridSearch,
	Options: func(app *loadline.App) []Option {
		return append([]Option{
			{"target", "100", "requests in flight that a pod can take", Number(0.01, 1e6)},
			{"utilisation", "70", "of it to aim for, %", Number(1, 100)},
			{"head", "5", "percentile of idle times before which no pod is needed", Number(0, 50)},
			{"tail", "99", "percentile of idle times after which none is kept", Number(50, 100)},
			{"margin", "10", "by which both windows are widened, %", Number(0, 100)},
			{"spread", "2", "coefficient of variation of the histogram's bins from which it is used", Number(0, 100)},
			{"fewest", "10", "idle times from which it is used", Number(1, 1e6)},
			{"beyond", "0.5", "share of idle times above four hours from which they are forecast instead", Number(0, 1)},
			{"forecast-margin", "15", "before and after the forecast idle time, %", Number(1, 100)},
			{"scale-to-zero", "auto", "on, off; auto: the last pod of services that hold requests may go", OneOf("auto", "on", "off")},
		}, setupOptions()...)
	},
	New: func(app *loadline.App, v Values) (loadline.Policy, error) {
		return aroundRule(app, v, &Hybrid{
			KPA: &KPA{
				cfg: kpaConfig{
					target: v.Float("target") * v.Float("utilisation") / 100, stable: time.Minute, panic: 6 * time.Second, threshold: 2,
					upRate: 1000, downRate: 2, toZero: "off",
				},
				of: make([]kpaMemory, len(app.Services)),
			},
			cfg: hybridConfig{
				head: v.Float("head"), tail: v.Float("tail"), margin: v.Float("margin") / 100, spread: v.Float("spread"),
				fewest: int(v.Float("fewest")), beyond: v.Float("beyond"), forecast: v.Float("forecast-margin") / 100,
				toZero: v["scale-to-zero"],
			},
			of: make([]hybridMemory, len(app.Services)),
		})
	},
}

// Name of the policy.
func (*Hybrid) Name() string { return "hybrid-histogram" }

// Decide is one tick of every service.
func (p *Hybrid) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	var proposal loadline.Proposal
	for i := range s.App.Services {
		replicas, reason, seen := p.one(now, &s.Now().Services[i], s.Allocation[i].Replicas, i, s.App.Services[i].Hold > 0)
		if !seen {
			continue
		}
		replicas, why := withinReplicas(s.App.Services[i].Bounds, replicas)
		proposal.Services = append(proposal.Services, loadline.ServiceProposal{
			Service: i, Setting: loadline.Setting{Replicas: loadline.Some(replicas)}, Reason: reason + why,
		})
	}
	if len(proposal.Services) == 0 && len(s.App.Services) > 0 {
		return proposal, fmt.Errorf("%w: no service has a ready pod with a reading of its concurrency", loadline.ErrNoData)
	}
	return proposal, nil
}

// one service's decision: kpa's for more than one pod, the windows' for the last one.
func (p *Hybrid) one(now time.Time, seen *loadline.ServiceObservation, desired, service int, holds bool) (int, string, bool) {
	m := &p.of[service]
	may := p.cfg.toZero == "on" || p.cfg.toZero == "auto" && holds
	busy, known := busyNow(seen, desired, holds)
	if !known {
		return 0, "", false
	}
	if busy {
		m.used(now)
	}
	wanted, reason := desired, "0 requests in flight"
	if desired > 0 || busy {
		var ok bool
		if wanted, reason, ok = p.tick(now, seen, desired, service, holds); !ok {
			return 0, "", false
		}
	}
	if busy || wanted > 1 || !may {
		return max(wanted, 1), reason, true
	}
	return m.idle(now, p.cfg.windowsOf(m))
}

// busyNow reports whether requests are in flight or wait, and whether that is known.
func busyNow(seen *loadline.ServiceObservation, desired int, holds bool) (busy, known bool) {
	concurrency, ready, ok := concurrencyOf(seen.Pods)
	switch {
	case seen.Held.Present() && seen.Held.Value > 0:
		return true, true
	case ok:
		return concurrency > 0, true
	case ready > 0:
		return false, false
	case holds:
		return false, seen.Held.Present()
	case desired == 0: // nothing holds what comes: the rate tells
		return seen.Rate.Present() && seen.Rate.Value > 0, seen.Rate.Present()
	}
	return false, false
}

// windows of an idle function: no pod is needed before the first, and one is kept for the second.
type windows struct {
	prewarm, keep time.Duration
	why           string
}

// windowsOf a service.
func (c hybridConfig) windowsOf(m *hybridMemory) windows {
	if m.windowed == m.count && m.windows.why != "" {
		return m.windows // nothing was learned since
	}
	m.windowed = m.count
	m.windows = c.learned(m)
	return m.windows
}

func (c hybridConfig) learned(m *hybridMemory) windows {
	unknown := windows{keep: histogramRange}
	switch inside := m.count - len(m.beyond); {
	case m.count >= c.fewest && float64(len(m.beyond)) > c.beyond*float64(m.count):
		next := forecastIdle(m.beyond)
		return windows{time.Duration((1 - c.forecast) * float64(next)), time.Duration(2 * c.forecast * float64(next)),
			fmt.Sprintf("an idle time of %v is forecast", next.Round(time.Minute))}
	case inside < c.fewest:
		unknown.why = fmt.Sprintf("only %d idle times are known", inside)
	case m.histogram.variation() < c.spread:
		unknown.why = fmt.Sprintf("the histogram of %d idle times is flat", inside)
	default:
		head, tail := m.histogram.percentile(c.head, false), m.histogram.percentile(c.tail, true)
		prewarm := time.Duration((1 - c.margin) * float64(head))
		keep := time.Duration((1+c.margin)*float64(tail)) - prewarm
		return windows{prewarm, keep, fmt.Sprintf("%d idle times are of %v to %v", inside, head, tail)}
	}
	return unknown
}

// forecastIdle is the next of idle times beyond the histogram: by ARIMA, or their mean as long as there
// are too few.
func forecastIdle(minutes []float64) time.Duration {
	sum := 0.0
	for _, v := range minutes {
		sum += v
	}
	next := sum / float64(len(minutes))
	task := forecast.Task{Horizons: []int{1}, Levels: []float64{0.5}}
	if fit, err := forecast.FitARIMA(context.Background(), forecast.NewFrame("idle", time.Time{}, time.Minute, minutes)); err == nil {
		if model, err := forecast.NewFittedARIMA(task, fit); err == nil {
			for _, v := range minutes {
				model.Observe(0, []float64{v})
			}
			out := [][]float64{make([]float64, 1)}
			if model.Predict(out) == nil && out[0][0] > 0 && !math.IsInf(out[0][0], 0) {
				next = out[0][0]
			}
		}
	}
	return time.Duration(next * float64(time.Minute))
}
