package advice

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/twin"
)

// The rules of a proposal; docs/rightsize.md states them for users.
const (
	// RequestShare is the quantile of the CPU use of a pod over time that its request covers.
	RequestShare = 0.95
	// MemoryShare is the same of memory, and MemoryMargin what is added: the use of a pod is known
	// as the mean over the pods of a service. The margin is that of the VPA.
	MemoryShare, MemoryMargin = 0.99, 0.15
	// OOMRatio is how much more memory pods get that were killed for it, as the VPA has it.
	OOMRatio = 1.2

	// A CPU limit is raised where more than the first share of the periods were throttled, and
	// lifted from the second on.
	raiseFrom, liftFrom = 0.01, 0.10

	leastCores  = 0.01     // a request of less is hardly a weight
	leastMemory = 16 << 20 // bytes

	// worthIt is the relative change up to which a request stays as it is, as the VPA has it.
	worthIt = 0.10

	// shortHistory is a length below which the peaks of a day or a week may be missing.
	shortHistory = 24 * time.Hour

	// monthHours is a month for money.
	monthHours = 730
)

// RightsizeOptions configure a proposal. The zero value is usable.
type RightsizeOptions struct {
	Name       string
	Objectives []twin.Objective
	Without    []string
	Prices     pool.Prices
	Seed       uint64
	Progress   func(share float64) // may be nil
}

// Rightsizing is requests and limits against what is needed at the SLO.
type Rightsizing struct {
	App       string        `json:"app"`
	From      time.Time     `json:"from"`
	To        time.Time     `json:"to"`
	Objective string        `json:"objective"`
	Guessed   bool          `json:"objective_guessed"` // the history determined it, not the user
	Policy    string        `json:"policy"`            // that scales the services today
	Currency  string        `json:"currency"`
	Month     Money         `json:"month"`
	Services  []ServiceSize `json:"services"`
	Check     Check         `json:"check"`
	Notes     []string      `json:"notes,omitempty"`

	app *loadline.App // with today's sizes
}

// Money per month.
type Money struct {
	Today float64 `json:"today"`
	After float64 `json:"after"`
}

// ServiceSize is the proposal for the pods of one service.
type ServiceSize struct {
	Name   string   `json:"name"`
	Today  Amounts  `json:"today"`
	After  Amounts  `json:"after"`
	Use    Use      `json:"use"`
	Month  Money    `json:"month"`
	Why    []string `json:"why,omitempty"`
	Refuse []string `json:"refused,omitempty"` // what is not proposed, and why

	size loadline.Size
}

// Amounts of a pod: cores and bytes; 0 = none set.
type Amounts struct {
	CPURequest    float64 `json:"cpu_request"`
	CPULimit      float64 `json:"cpu_limit"`
	MemoryRequest int64   `json:"memory_request"`
	MemoryLimit   int64   `json:"memory_limit"`
}

// Use of a pod over the history; null = not measured.
type Use struct {
	CPU       *float64 `json:"cpu,omitempty"`    // RequestShare of the time
	Memory    *float64 `json:"memory,omitempty"` // MemoryShare of the time
	Most      *float64 `json:"memory_most,omitempty"`
	Throttled *float64 `json:"throttled,omitempty"` // share of the periods
	Restarts  float64  `json:"restarts"`
}

func amountsOf(s loadline.Size) Amounts {
	return Amounts{s.CPURequest, s.CPULimit, s.MemoryRequest, s.MemoryLimit}
}

// Rightsize proposes requests and limits from a history: from quantiles of use first, then
// confirmed by the twin in the event engine, which may raise them.
func Rightsize(ctx context.Context, h *history.History, o RightsizeOptions) (*Rightsizing, error) {
	progress := o.Progress
	if progress == nil {
		progress = func(float64) {}
	}
	t, err := twin.Fit(h, twin.Options{Name: o.Name, Objectives: o.Objectives, Without: o.Without,
		Progress: func(share float64) { progress(share / 2) }})
	if err != nil {
		return nil, err
	}
	r := &Rightsizing{App: t.App.Name, From: h.Start.Add(-h.Step), To: h.At(h.Steps - 1), Currency: o.Prices.WithDefaults().Currency}
	r.setObjective(t)
	r.setPolicy(t.App, h)
	if h.Duration() < shortHistory {
		r.note("the history covers %v: peaks of a day or a week may be missing; give a week or more", h.Duration())
	}
	for i := range r.app.Services {
		r.Services = append(r.Services, r.propose(i, h))
	}
	if !slices.ContainsFunc(r.Services, func(s ServiceSize) bool { return len(s.Refuse) < 2 }) {
		return nil, r.nothing()
	}
	load, err := twin.Loads(h, t.App)
	if err != nil {
		return nil, err
	}
	if len(load) == 0 {
		return nil, errors.New("the history has no requests of users: nothing can be checked against the SLO")
	}
	longest := slices.MaxFunc(load, func(a, b twin.Stretch) int { return (a.To - a.From) - (b.To - b.From) })
	c := &confirmation{Rightsizing: r, load: longest.Load, neighbours: t.Cluster.Neighbours, peak: peakReplicas(r.app, h), seed: o.Seed,
		progress: func(share float64) { progress(0.5 + share/2) }}
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	r.price(h, o.Prices.WithDefaults(), c.replicas)
	progress(1)
	return r, nil
}

func (r *Rightsizing) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func (r *Rightsizing) setObjective(t *twin.Twin) {
	var all []string
	for _, k := range t.App.Kinds {
		text := fmt.Sprintf("%g%% < %v", k.SLO.Percentile, k.SLO.Latency)
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	r.Objective = strings.Join(all, ", ")
	r.Guessed = slices.ContainsFunc(t.Report.Assumed, func(a twin.Assumption) bool { return strings.HasSuffix(a.Field, ".slo") })
}

// setPolicy finds what scales the services today.
func (r *Rightsizing) setPolicy(app *loadline.App, h *history.History) {
	today, err := policy.TodayOf(app, h.Manifest.Autoscalers)
	switch {
	case errors.Is(err, policy.ErrNoAutoscaler):
		r.note("the history shows no autoscaler: replicas are taken to stay at %s", replicasText(app))
	case err != nil:
		r.note("%v; replicas are taken to stay at %s", err, replicasText(app))
	}
	if r.app = app; err != nil {
		r.Policy = "static"
		return
	}
	r.Policy, r.Notes = today.Spec, append(r.Notes, today.Notes...)
}

func replicasText(app *loadline.App) string {
	var all []string
	for i := range app.Services {
		all = append(all, fmt.Sprintf("%d of %s", app.Services[i].Replicas, app.Services[i].Name))
	}
	return strings.Join(all, ", ")
}

// propose sizes for one service, by its use.
func (r *Rightsizing) propose(service int, h *history.History) ServiceSize {
	s := &r.app.Services[service]
	p := ServiceSize{Name: s.Name, Today: amountsOf(s.Size), size: s.Size}
	of := h.Service(s.Name)
	if of == nil {
		p.Refuse = []string{"CPU: the history has no such service", "memory: the history has no such service"}
		p.After = p.Today
		return p
	}
	r.proposeCPU(&p, s, of)
	p.proposeMemory(of)
	if guaranteed(s.Size) && !guaranteed(p.size) {
		p.Why = append(p.Why, "requests equal limits today: with the proposal the pods' QoS class is Burstable, no longer Guaranteed")
	}
	p.After = amountsOf(p.size)
	// The twin needs a request; the money must not count what it assumes.
	if lacks(of, history.CPURequest) != "" {
		p.Today.CPURequest, p.After.CPURequest = 0, 0
	}
	if lacks(of, history.MemoryRequest) != "" {
		p.Today.MemoryRequest, p.After.MemoryRequest = 0, 0
	}
	return p
}

// guaranteed is the QoS class of pods whose requests equal their limits.
func guaranteed(s loadline.Size) bool {
	return s.CPURequest > 0 && s.CPURequest == s.CPULimit && s.MemoryRequest > 0 && s.MemoryRequest == s.MemoryLimit
}

// proposeCPU sets request and limit, or says what is missing for it.
func (r *Rightsizing) proposeCPU(p *ServiceSize, s *loadline.Service, of *history.Service) {
	use := perPod(of.Series[history.CPU], of.Series[history.Ready])
	if missing := lacks(of, history.CPU, history.Ready, history.CPURequest); missing != "" || len(use) == 0 {
		p.refuse("CPU", missing)
		return
	}
	if lacks(of, history.LatencyMean) != "" && lacks(of, history.LatencyP99) != "" {
		p.refuse("CPU", "no response time was measured, so whether the SLO holds would be a guess")
		return
	}
	used := quantile(use, RequestShare)
	p.Use.CPU = &used
	want, why := used, fmt.Sprintf("pods use %s or less in %.0f %% of the time", cores(used), 100*RequestShare)
	if target := r.targetOf(s.Name); target > 0 && target < 100 {
		want, why = used/target*100, fmt.Sprintf("%s; at the target of %g %% that needs the request", why, target)
	}
	want = max(math.Ceil(want*100-1e-6)/100, leastCores)
	if math.Abs(want-s.Size.CPURequest) > worthIt*s.Size.CPURequest+1e-9 {
		p.size.CPURequest = want
		p.Why = append(p.Why, why)
	}
	p.proposeLimit(of)
}

// targetOf is the CPU target of a service's autoscaler, in %; 0 = it has none.
func (r *Rightsizing) targetOf(name string) float64 {
	method, v, err := policy.Read(r.Policy, r.app)
	if err != nil || method == "static" {
		return 0
	}
	if method == "keda" {
		return v.Float("target") // "off" is 0
	}
	target := policy.Values{"target": policy.TargetOf(v, r.app, r.app.ServiceIndex(name))}
	return target.Float("target")
}

func (p *ServiceSize) proposeLimit(of *history.Service) {
	if p.size.CPULimit <= 0 {
		return
	}
	throttled, known := busyMean(of.Series[history.Throttled])
	if !known {
		p.Why = append(p.Why, "the CPU limit stays: throttled periods were not measured")
		p.size.CPULimit = max(p.size.CPULimit, p.size.CPURequest)
		return
	}
	p.Use.Throttled = &throttled
	switch {
	case throttled >= liftFrom:
		p.size.CPULimit = 0
		p.Why = append(p.Why, fmt.Sprintf("%.0f %% of the periods are throttled: lift the CPU limit", 100*throttled))
	case throttled >= raiseFrom:
		p.size.CPULimit *= 2
		p.Why = append(p.Why, fmt.Sprintf("%.1f %% of the periods are throttled: double the CPU limit", 100*throttled))
	}
	if p.size.CPULimit > 0 {
		p.size.CPULimit = max(p.size.CPULimit, p.size.CPURequest)
	}
}

// proposeMemory sets request and limit: never below what was in use.
func (p *ServiceSize) proposeMemory(of *history.Service) {
	use := perPod(of.Series[history.Memory], of.Series[history.Ready])
	p.Use.Restarts = sum(of.Series[history.Restarts])
	if missing := lacks(of, history.Memory, history.Ready, history.MemoryRequest); missing != "" || len(use) == 0 {
		p.refuse("memory", missing)
		return
	}
	used, most := quantile(use, MemoryShare), slices.Max(use)
	p.Use.Memory, p.Use.Most = &used, &most
	want := max(used*(1+MemoryMargin), most)
	why := fmt.Sprintf("a pod's working set is at most %s", bytesText(int64(most)))
	limit := float64(p.size.MemoryLimit)
	if killed := p.Use.Restarts > 0 && limit > 0 && most >= 0.9*limit; killed {
		want = max(want, OOMRatio*limit)
		why = fmt.Sprintf("%.0f restarts with memory at its limit: taken for kills out of memory", p.Use.Restarts)
	} else if p.Use.Restarts > 0 {
		p.Why = append(p.Why, fmt.Sprintf("%.0f restarts, not for lack of memory as far as the metrics show", p.Use.Restarts))
	}
	request := max((int64(want)+mebibyte-1)/mebibyte*mebibyte, leastMemory)
	if math.Abs(float64(request-p.size.MemoryRequest)) > worthIt*float64(p.size.MemoryRequest) {
		p.size.MemoryRequest = request
		p.Why = append(p.Why, why)
	}
	if least := int64(math.Ceil(OOMRatio*most/mebibyte)) * mebibyte; limit > 0 && p.size.MemoryLimit < max(least, p.size.MemoryRequest) {
		p.size.MemoryLimit = max(least, p.size.MemoryRequest)
		p.Why = append(p.Why, "the memory limit leaves too little above the working set")
	}
}

func (p *ServiceSize) refuse(what, why string) {
	if why == "" {
		why = "no step has both the use and the number of pods"
	}
	p.Refuse = append(p.Refuse, what+": "+why)
}

// nothing is the error of a proposal that would be a guess in all.
func (r *Rightsizing) nothing() error {
	var faults []error
	for _, s := range r.Services {
		faults = append(faults, fmt.Errorf("%s: %s", s.Name, strings.Join(s.Refuse, "; ")))
	}
	return fmt.Errorf("no size can be proposed, everything would be a guess; measure what is missing "+
		"(cAdvisor and kube-state-metrics, loadline doctor) and pull again:\n%w", errors.Join(faults...))
}
