package decisionlog

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/outlook"
)

// Why is the decision about a service in one short text: the policy's reason, the twin's
// estimate, and what the guards did. Logs, the status of a LoadLine, Events and reports have it
// from here.
func Why(d *loadline.Decision, app *loadline.App, service int) string {
	var s Service
	for i := range d.Proposal.Services {
		if d.Proposal.Services[i].Service == service {
			s.propose(&d.Proposal.Services[i])
		}
	}
	for i := range d.Changed {
		if d.Changed[i].Service == service {
			s.guard(&d.Changed[i])
		}
	}
	for i := range d.Plan.Services {
		if d.Plan.Services[i].Service == service {
			s.plan(&d.Plan.Services[i])
		}
	}
	if d.Outlook != nil {
		s.foresee(d.Outlook, app, service)
	}
	return s.why()
}

// why joins the parts of the sentence. What the guards did comes before the estimate, which may
// be cut off where the space is limited.
func (s *Service) why() string {
	var parts []string
	if s.Proposal != nil && s.Proposal.Reason != "" {
		parts = append(parts, trimReason(s.Proposal.Reason))
	}
	parts = append(parts, guarded(s)...)
	switch {
	case s.Outlook != nil:
		parts = append(parts, estimated(s)...)
	case s.Plan != nil:
		parts = append(parts, notEstimated)
	}
	return strings.Join(parts, ". ")
}

const notEstimated = "Capacity, latency and cost are not estimated without a twin and a measured load"

// guarded is one clause for each guard that changed something, or says that none did.
func guarded(s *Service) []string {
	if s.Plan != nil && s.Proposal != nil && len(s.Guards) == 0 {
		return []string{"Guard allows it"}
	}
	var all []string
	for _, g := range s.Guards {
		all = append(all, fmt.Sprintf("Guard %s %s%s", g.Name, correction(g.From.Setting(), g.To.Setting()), because(g.Reason)))
	}
	return all
}

// estimated is the load, what the twin makes of it, and of the runner-up.
func estimated(s *Service) []string {
	o := s.Outlook
	text := fmt.Sprintf("Observed %s", rate(o.Load))
	if o.Ahead > 0 {
		text = fmt.Sprintf("Forecast %s within %s", rate(o.Load), span(time.Duration(o.Ahead)))
	}
	before, planned := labels(o.Before.Allocation, o.Planned.Allocation)
	text += fmt.Sprintf("; by the twin the capacity of %s is %s at this SLO", before, capacityOf(o, &o.Before))
	if planned != before && o.Planned.Capacity == o.Before.Capacity {
		text += ", and of " + planned + " the same"
	} else if planned != before {
		text += ", of " + planned + " " + capacityOf(o, &o.Planned)
	}
	text += fmt.Sprintf(": expect %s at %s", latencyOf(o), money(o.Planned.PerHour, o.Currency))
	if change := float64(o.Planned.PerHour - o.Before.PerHour); math.Abs(change) >= leastMoney {
		text += ", " + dearer(change, o.Currency)
	}
	return []string{text, runnerUpOf(s, o)}
}

// runnerUpOf is what the runner-up would serve and cost.
func runnerUpOf(s *Service, o *ServiceOutlook) string {
	_, label := labels(o.Planned.Allocation, o.RunnerUp.Allocation)
	text := "Runner-up " + label
	if s.Proposal != nil && s.Proposal.RunnerUp != nil && s.Proposal.RunnerUp.Reason != "" {
		text += " (" + trimReason(s.Proposal.RunnerUp.Reason) + ")"
	}
	text += ": capacity " + capacityOf(o, &o.RunnerUp)
	if o.RunnerUp.Capacity < o.Load {
		text += ", too little"
	}
	if o.RunnerUp.Latency > 0 {
		text += fmt.Sprintf(", p%g of a visit %s of %s", float64(o.Part.Percentile), latency(o.RunnerUp.Latency), latency(o.Part.Latency))
	}
	return text + ", " + dearer(float64(o.RunnerUp.PerHour-o.Planned.PerHour), o.Currency)
}

// labels name two allocations by that in which they differ.
func labels(a, b Allocation) (string, string) {
	name := func(x Allocation) string {
		text := loadline.DescribeReplicas(x.Replicas)
		if a.Size.CPULimit != b.Size.CPULimit || a.Size.CPURequest != b.Size.CPURequest {
			text += " of " + loadline.DescribeCores(float64(x.Size.CPURequest))
			if a.Size.CPULimit != b.Size.CPULimit && x.Size.CPULimit != x.Size.CPURequest {
				text += " (limit " + orNone(float64(x.Size.CPULimit), loadline.DescribeCores) + ")"
			}
		}
		if a.Size.MemoryRequest != b.Size.MemoryRequest || a.Size.MemoryLimit != b.Size.MemoryLimit {
			text += " with " + loadline.DescribeMemory(x.Size.MemoryRequest)
		}
		if a.Brownout != b.Brownout && x.Brownout {
			text += " without optional calls"
		}
		return text
	}
	return name(a), name(b)
}

// capacityOf an allocation, and why it is none.
func capacityOf(o *ServiceOutlook, e *Estimate) string {
	if e.Capacity > 0 || e.Allocation.Replicas == 0 {
		return rate(e.Capacity)
	}
	return fmt.Sprintf("none (p%g of a visit is over %s at any load, all is in use at %s)", float64(o.Part.Percentile),
		latency(o.Part.Latency), rate(e.Saturation))
}

// latencyOf the users with the plan, or of a visit to the service where theirs is not known.
func latencyOf(o *ServiceOutlook) string {
	switch {
	case o.Users != nil:
		return outcome(o.Users)
	case o.Planned.Latency == 0:
		return "a queue that grows"
	}
	return fmt.Sprintf("p%g of a visit %s of %s", float64(o.Part.Percentile), latency(o.Planned.Latency), latency(o.Part.Latency))
}

func latency(s Seconds) string { return millis(time.Duration(s).Seconds()) }

func rate(perSecond Number) string { return loadline.DescribeNumber(float64(perSecond)) + " req/s" }

func money(v Number, currency string) string {
	return loadline.DescribeNumber(float64(v)) + " " + currency + "/h"
}

// leastMoney per hour that is worth a figure.
const leastMoney = 0.0001

func dearer(more float64, currency string) string {
	switch {
	case math.Abs(more) < leastMoney:
		return "at the same cost"
	case more > 0:
		return money(Number(more), currency) + " more"
	}
	return money(Number(-more), currency) + " less"
}

// foresee takes over the twin's estimate of a decision.
func (r *Record) foresee(d *loadline.Decision, app *loadline.App) {
	for i := range r.Services {
		if s := &r.Services[i]; s.Plan != nil {
			if d.Outlook != nil {
				s.foresee(d.Outlook, app, i)
			}
			s.Why = s.why()
		}
	}
	if d.Outlook == nil || len(d.Outlook.Users) == 0 {
		return
	}
	worst := -1
	for k := range d.Outlook.Users {
		if over := d.Outlook.Users[k].OverSLO; over >= 0 && (worst < 0 || over > d.Outlook.Users[worst].OverSLO) {
			worst = k
		}
	}
	if worst >= 0 {
		r.Expected = usersOf(d.Outlook, app, worst)
	}
}

func (s *Service) foresee(o *loadline.Outlook, app *loadline.App, service int) {
	i := slices.IndexFunc(o.Services, func(of loadline.ServiceOutlook) bool { return of.Service == service })
	if i < 0 {
		return
	}
	s.Outlook = serviceOutlookOf(&o.Services[i], o.Currency)
	if k := o.Services[i].Users; k >= 0 && k < len(o.Users) {
		s.Outlook.Users = usersOf(o, app, k)
	}
}

func usersOf(o *loadline.Outlook, app *loadline.App, kind int) *Outlook {
	of := &o.Users[kind]
	return &Outlook{
		Kind: app.Kinds[kind].Name, Percentile: Number(app.Kinds[kind].SLO.Percentile), Latency: Seconds(of.Latency),
		OverSLO: Number(of.OverSLO), Failed: Number(o.Failed), Cores: Number(o.Cores),
	}
}

func serviceOutlookOf(o *loadline.ServiceOutlook, currency string) *ServiceOutlook {
	estimate := func(e *loadline.Estimate) Estimate {
		return Estimate{AllocationOf(e.Allocation), Number(e.Capacity), Number(e.Saturation), Seconds(e.Latency), Number(e.Cores),
			Number(e.PerHour)}
	}
	return &ServiceOutlook{
		Load: Number(o.Load), Ahead: Seconds(o.Ahead), Part: SLO{Number(o.Part.Percentile), Seconds(o.Part.Latency)}, Currency: currency,
		Before: estimate(&o.Before), Planned: estimate(&o.Planned), RunnerUp: estimate(&o.RunnerUp),
	}
}

// estimate makes the outlook of a service of a record that has none: one that was left as it
// was, or of an earlier release. It needs the application's model.
func (s *Service) estimate(e Entry) {
	if s.Outlook != nil || e.App == nil || !outlook.Known(e.App) || !e.Record.Seen() {
		return
	}
	at := e.App.ServiceIndex(s.Name)
	if at < 0 {
		return
	}
	change := outlook.Change{Service: at, Planned: s.Before()}
	if s.Plan != nil {
		change.Planned = change.Planned.With(s.Plan.Setting())
	}
	if p := s.Proposal; p != nil && p.RunnerUp != nil {
		change.RunnerUp = &loadline.Alternative{Setting: p.RunnerUp.Setting.Setting()}
	}
	twin := &outlook.Twin{App: e.App}
	situation := e.Record.Situation(e.App, []loadline.Observation{e.Record.Observation(e.App)})
	if o, ok := twin.Service(situation, change); ok {
		s.Outlook = serviceOutlookOf(&o, twin.Prices.WithDefaults().Currency)
		if s.Plan != nil {
			s.Outlook.Users = e.Record.Expected
		}
	}
}
