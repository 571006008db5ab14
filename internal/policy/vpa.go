package policy

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// VPA is Kubernetes' VerticalPodAutoscaler, recommender and updater, one per service, in its
// modes InPlaceOrRecreate (a pod whose resize is infeasible, or has been deferred for 5 minutes, is
// evicted and created anew) or InPlace (the resize waits). The recommender's histograms are in vpa_histogram.go, their inputs in
// vpa_usage.go, the recommendations in vpa_recommend.go.
//
// Where it differs from the original:
//   - All pods of a service have one size: a change reaches them together, and a
//     new pod gets what the others have, instead of the latest recommendation.
//     The updater's budget applies where pods are recreated.
//   - Every restart is taken for one out of memory: the metrics do not say why.
//   - The recommender's own history (checkpoints, Prometheus) does not exist at
//     the start of a simulation. The setting history makes it as sure of what it
//     has seen as if it had watched for so long.
//   - Limits follow requests in proportion up to the user's upper bound, and
//     requests are not held back for it.
type VPA struct {
	cfg vpaConfig
	of  []vpaUsage // by service
}

var vpaMethod = Method{
	Name:    "vpa",
	About:   "Kubernetes' VerticalPodAutoscaler: requests from the percentiles of past use, resized in place",
	Search:  vpaSearch,
	Options: func(*loadline.App) []Option { return vpaOptions("on") },
	New: func(app *loadline.App, v Values) (loadline.Policy, error) {
		return newVPA(app, v)
	},
}

func vpaOptions(cpu string) []Option {
	return []Option{
		{"cpu", cpu, "size the CPU: on or off", OneOf("on", "off")},
		{"memory", "on", "size the memory: on or off", OneOf("on", "off")},
		{"percentile", "90", "of past use to ask for", Number(1, 100)},
		{"margin", "15", "to add to it, %", Number(0, 1000)},
		{"half-life", "24h", "after which a sample weighs half", Span(time.Minute, 1000*time.Hour)},
		{"history", "0s", "that it is taken to have watched already: narrows its bounds", Span(0, 10000*time.Hour)},
		{"min-cpu", "0.025", "least CPU request that it recommends, cores", Number(0, 1e4)},
		{"min-memory", "250", "least memory request that it recommends, MiB", Number(0, 1e9)},
		{"oom-ratio", "1.2", "a pod that was killed is taken to need so many times its memory", Number(1, 100)},
		{"oom-least", "100", "or so many MiB more, if that is more", Number(0, 1e6)},
		{"lifetime", "12h", "of a pod, after which changes within the bounds are made too", Span(0, 10000*time.Hour)},
		{"update", "in-place-or-recreate",
			"a resize without room on its node: in-place = it waits; in-place-or-recreate = after 5m the pod is evicted",
			OneOf("in-place", "in-place-or-recreate")},
		{"change", "10", "the least of them that is worth it, %", Number(0, 1e4)},
	}
}

func newVPA(app *loadline.App, v Values) (*VPA, error) {
	p := &VPA{cfg: vpaConfig{
		cpu: v["cpu"] == "on", memory: v["memory"] == "on",
		quantile: v.Float("percentile") / 100, margin: v.Float("margin") / 100,
		halfLife: v.Span("half-life"), history: v.Span("history"),
		leastCPU: v.Float("min-cpu"), leastMemory: v.Float("min-memory") * (1 << 20),
		bump:     vpaBump{ratio: v.Float("oom-ratio"), least: v.Float("oom-least") * (1 << 20)},
		recreate: v["update"] == "in-place-or-recreate", lifetime: v.Span("lifetime"), changeAtLast: v.Float("change") / 100,
	}}
	if !p.cfg.cpu && !p.cfg.memory {
		return nil, fmt.Errorf("cpu=off,memory=off leaves nothing to size")
	}
	for range app.Services {
		p.of = append(p.of, newVPAUsage(p.cfg.halfLife))
	}
	return p, nil
}

// vpaPeriod is that of the recommender's and the updater's runs.
const vpaPeriod = time.Minute

// Name of the policy.
func (*VPA) Name() string { return "vpa" }

// deferredAtMost is how long the updater waits for a deferred resize before it evicts the pod.
const deferredAtMost = 5 * time.Minute

func (c vpaConfig) recreateAfter() time.Duration {
	if c.recreate {
		return deferredAtMost
	}
	return 0
}

// Needs are those of a cluster with metrics-server at its defaults.
func (p *VPA) Needs() loadline.Needs {
	return loadline.Needs{
		RecreateAfter: p.cfg.recreateAfter(),
		Period:        vpaPeriod, Delay: time.Second,
		Scrape: 15 * time.Second, Window: 15 * time.Second, Lag: 15 * time.Second,
	}
}

// Decide is one run of the recommender and the updater.
func (p *VPA) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	var proposal loadline.Proposal
	for i := range s.App.Services {
		if sp, seen := p.run(now, s, i); seen {
			proposal.Services = append(proposal.Services, sp)
		}
	}
	if len(proposal.Services) == 0 && len(s.App.Services) > 0 {
		return proposal, fmt.Errorf("%w: no pod of any service has a new sample", loadline.ErrNoData)
	}
	return proposal, nil
}

func (p *VPA) run(now time.Time, s loadline.Situation, service int) (loadline.ServiceProposal, bool) {
	proposal := loadline.ServiceProposal{Service: service}
	usage, seen := &p.of[service], &s.Now().Services[service]
	fresh := usage.feed(now, seen, p.cfg.bump)
	// The original recommends on old samples too; here nothing changes without data.
	if !fresh || p.cfg.memory && usage.memory.empty() {
		return proposal, false
	}
	of := &s.App.Services[service]
	cpu, memory := p.cfg.estimates(usage, of.Bounds)
	judged := p.cfg.judge(cpu, memory, s.InFlight[service].Size, oldestPod(now, seen.Pods), usage.quickOOM)
	proposal.Reason = judged.reason
	if judged.act {
		proposal.Setting = p.cfg.setting(cpu, memory, of)
		usage.quickOOM = false
	}
	return proposal, true
}

func oldestPod(now time.Time, pods []loadline.PodObservation) time.Duration {
	oldest := time.Duration(0)
	for i := range pods {
		oldest = max(oldest, now.Sub(pods[i].Created))
	}
	return oldest
}
