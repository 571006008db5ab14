package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
)

// KPA is Knative's Pod Autoscaler on concurrency, one per service: a stable window, and a short
// one that triggers panic mode. The state of the windows is in kpa_window.go.
//
// Where it differs from the original:
//   - The scraper reads every ready pod, never a sample of them. A reading is the
//     mean over two seconds each two seconds, instead of one each second: the
//     windows' means are the same.
//   - The activator is the service's own hold: it keeps requests while no replica
//     is ready and reports them, but a burst is not buffered. A service without
//     one refuses instead, so it goes to zero only if asked to, and then the rate
//     of what fails wakes it.
//   - Readings that are missing are left out of a window, and without a fresh
//     one nothing is decided; the original counts on with what it has.
type KPA struct {
	cfg kpaConfig
	of  []kpaMemory // by service
}

type kpaConfig struct {
	target           float64 // visits in each pod to aim for
	stable, panic    time.Duration
	threshold        float64 // ratio of wanted to ready pods that triggers panic mode
	upRate, downRate float64
	downDelay        time.Duration
	toZero           string // on, off, or auto: services that hold requests
	grace            time.Duration
}

const kpaTick = 2 * time.Second

var kpaMethod = Method{
	Name:   "kpa",
	About:  "Knative's Pod Autoscaler: requests in flight per pod, with a panic mode",
	Search: kpaSearch,
	Options: func(*loadline.App) []Option {
		return append([]Option{
			{"target", "100", "requests in flight that a pod can take", Number(0.01, 1e6)},
			{"utilisation", "70", "of it to aim for, %", Number(1, 100)},
			{"stable-window", "60s", "over which concurrency is averaged", Span(6*time.Second, time.Hour)},
			{"panic-window", "10", "short window, % of the stable one", Number(1, 100)},
			{"panic-threshold", "200", "wanted pods at which it panics, % of the ready ones", Number(110, 1000)},
			{"max-up-rate", "1000", "times the ready pods that it may go to at once", Number(1.01, 1e6)},
			{"max-down-rate", "2", "divides the ready pods for the least it may go to at once", Number(1.01, 1e6)},
			{"down-delay", "0s", "how long a lower number must be wanted", Span(0, time.Hour)},
			{"scale-to-zero", "auto", "on, off; auto: the last pod of services that hold requests goes too when nothing is in flight",
				OneOf("auto", "on", "off")},
			{"grace", "30s", "for which the last pod is kept then", Span(0, time.Hour)},
		}, setupOptions()...)
	},
	New: func(app *loadline.App, v Values) (loadline.Policy, error) {
		stable := v.Span("stable-window")
		return aroundRule(app, v, &KPA{
			cfg: kpaConfig{
				target: v.Float("target") * v.Float("utilisation") / 100,
				stable: stable,
				// A window shorter than a tick would be empty.
				panic:     max(time.Duration(float64(stable)*v.Float("panic-window")/100), kpaTick),
				threshold: v.Float("panic-threshold") / 100,
				upRate:    v.Float("max-up-rate"), downRate: v.Float("max-down-rate"),
				downDelay: v.Span("down-delay"),
				toZero:    v["scale-to-zero"], grace: v.Span("grace"),
			},
			of: make([]kpaMemory, len(app.Services)),
		})
	},
}

// Name of the policy.
func (*KPA) Name() string { return "kpa" }

// Needs are those of the autoscaler, which scrapes its pods itself each second.
func (*KPA) Needs() loadline.Needs {
	return loadline.Needs{Period: kpaTick, Scrape: time.Second, Window: kpaTick}
}

// Decide is one tick of every service's autoscaler.
func (p *KPA) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	var proposal loadline.Proposal
	for i := range s.App.Services {
		replicas, reason, seen := p.tick(now, &s.Now().Services[i], s.Allocation[i].Replicas, i, s.App.Services[i].Hold > 0)
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

// tick is one service's autoscaler: record the concurrency, size for both windows, and enter or
// leave panic mode.
func (p *KPA) tick(now time.Time, seen *loadline.ServiceObservation, desired, service int, holds bool) (int, string, bool) {
	m := &p.of[service]
	toZero := p.cfg.toZero == "on" || p.cfg.toZero == "auto" && holds
	if desired == 0 {
		m.atZero = true
		if !holds {
			return p.wake(seen, toZero)
		}
		if seen.Held.Present() && seen.Held.Value <= 0 {
			return 0, "0 requests held", true
		}
	}
	concurrency, ready, ok := concurrencyOf(seen.Pods)
	if seen.Held.Present() { // as reported by the activator
		concurrency += seen.Held.Value
		ok = ok || ready == 0
	}
	if !ok {
		return 0, "", false
	}
	if m.atZero { // woken: the idle time before is unknown
		m.atZero, m.idleSince = false, time.Time{}
	}
	m.start(now, ready)
	m.record(now, concurrency, p.cfg.stable)
	stable, burst := m.average(now, p.cfg.stable), m.average(now, p.cfg.panic)

	pods := float64(max(ready, 1))
	wanted := p.clamp(math.Ceil(stable/p.cfg.target), pods)
	wantedNow := math.Ceil(burst / p.cfg.target)
	m.judge(now, wantedNow/pods >= p.cfg.threshold, p.cfg.stable)
	reason := fmt.Sprintf("%.1f requests in flight over %v, target %.4g per pod: %s", stable, p.cfg.stable, p.cfg.target,
		loadline.DescribeReplicas(wanted))
	if m.panicking() {
		wanted = m.neverLess(max(wanted, p.clamp(wantedNow, pods)))
		reason = fmt.Sprintf("%.1f requests in flight over %v, target %.4g per pod: %s in panic mode, which does not scale down", burst,
			p.cfg.panic, p.cfg.target, loadline.DescribeReplicas(wanted))
	}
	if p.cfg.downDelay > 0 {
		if delayed := m.delay(now, wanted, p.cfg.downDelay); delayed > wanted {
			reason += fmt.Sprintf("; held at %d, which were needed within %v", delayed, p.cfg.downDelay)
			wanted = delayed
		}
	}
	if wanted == 0 {
		wanted, reason = p.lastPod(now, m, toZero, reason)
	} else {
		m.idleSince = time.Time{}
	}
	return wanted, reason, true
}

// clamp limits the pods to what may be reached in one step.
func (p *KPA) clamp(wanted, ready float64) int {
	return int(min(max(wanted, math.Floor(ready/p.cfg.downRate)), math.Ceil(ready*p.cfg.upRate)))
}

// lastPod is removed only if configured, and after a grace period.
func (p *KPA) lastPod(now time.Time, m *kpaMemory, toZero bool, reason string) (int, string) {
	if !toZero {
		return 1, reason
	}
	if m.idleSince.IsZero() {
		m.idleSince = now
	}
	if now.Sub(m.idleSince) < p.cfg.grace {
		return 1, reason + fmt.Sprintf("; the last pod is kept for %v", p.cfg.grace)
	}
	return 0, reason + "; idle: scaled to zero"
}

// wake starts a pod for a service at zero that has requests and does not hold them; held
// requests wake it themselves.
func (p *KPA) wake(seen *loadline.ServiceObservation, toZero bool) (int, string, bool) {
	switch {
	case !seen.Rate.Present():
		return 0, "", false
	case toZero && seen.Rate.Value <= 0:
		return 0, "0 req/s", true
	}
	return 1, fmt.Sprintf("%.1f req/s and no pod: 1 replica", seen.Rate.Value), true
}

// concurrencyOf the whole service, from its ready pods with a reading: the others are assumed
// to be equal.
func concurrencyOf(pods []loadline.PodObservation) (concurrency float64, ready int, ok bool) {
	sum, read := 0.0, 0
	for i := range pods {
		if pods[i].Phase != loadline.PodReady {
			continue
		}
		ready++
		if pods[i].Busy.Present() {
			sum += pods[i].Busy.Value
			read++
		}
	}
	if read == 0 {
		return 0, ready, false
	}
	return sum / float64(read) * float64(ready), ready, true
}

// withinReplicas clamps a number to the user's bounds, with a reason if it did.
func withinReplicas(b loadline.Bounds, n int) (int, string) {
	switch {
	case b.MaxReplicas > 0 && n > b.MaxReplicas:
		return b.MaxReplicas, fmt.Sprintf("; the upper bound is %d", b.MaxReplicas)
	case n < b.MinReplicas:
		return b.MinReplicas, fmt.Sprintf("; the lower bound is %d", b.MinReplicas)
	}
	return n, ""
}
