// Package replay asks another policy what it would have wanted at each recorded
// decision, and holds that against what was asked for then.
//
// It is open-loop: every situation is as recorded, whatever the other policy
// would have made of the one before. What it would have come to in the end
// needs a simulated cluster.
package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/decisionlog"
)

// Replay is another policy before a recorded stretch. Records go in by Add, in
// the order of their instants.
type Replay struct {
	app    *loadline.App
	policy loadline.Policy
	window []loadline.Observation
	report Report
	open   *pass // the last pass, which holds until the next
	keep   int
}

// pass is what both asked for at one instant.
type pass struct {
	at         time.Time
	was, other []loadline.Allocation
}

// Report is what came of it.
type Report struct {
	Policy    string    `json:"policy"`    // that was asked
	Recorded  []string  `json:"recorded"`  // policies that were recorded
	First     time.Time `json:"first"`     // instant of the first decision
	Last      time.Time `json:"last"`      // and of the last
	Decisions int       `json:"decisions"` // that were replayed
	Blind     int       `json:"blind"`     // records without an observation, which cannot be replayed
	Held      int       `json:"held"`      // times that the other policy could not decide
	Differ    int       `json:"differ"`    // decisions in which some service differs
	Remarks   []string  `json:"remarks,omitempty"`

	Services    []Service    `json:"services"`
	Differences []Difference `json:"differences"` // all of them, in order
}

// Service is one service over the stretch.
type Service struct {
	Name   string `json:"name"`
	Differ int    `json:"differ"`
	// What was asked for, from each decision to the next.
	ReplicaHours      float64     `json:"replica_hours"`
	OtherReplicaHours float64     `json:"other_replica_hours"`
	CoreHours         float64     `json:"core_hours"` // requested
	OtherCoreHours    float64     `json:"other_core_hours"`
	Largest           *Difference `json:"largest,omitempty"` // by replicas, then by requested cores
}

// Difference is one service at one decision.
type Difference struct {
	At      time.Time           `json:"at"`
	Service string              `json:"service"`
	Before  decisionlog.Told    `json:"before"`
	Asked   decisionlog.Setting `json:"asked"` // by the recorded policy
	Reason  string              `json:"reason,omitempty"`
	Other   decisionlog.Setting `json:"other"` // by the other one
	Because string              `json:"because,omitempty"`

	pass     int // counts decisions
	replicas int
	cores    float64
}

// Episode is a difference that lasted, the same from one decision to the next.
type Episode struct {
	Difference
	Until time.Time // of the last decision
	Times int
}

// New makes a replay. The application is that of the record, with bounds and
// objectives.
func New(app *loadline.App, policy loadline.Policy, name string) *Replay {
	r := &Replay{app: app, policy: policy, keep: max(policy.Needs().Keep, 1)}
	r.report.Policy, r.report.Differences = name, []Difference{}
	for i := range app.Services {
		r.report.Services = append(r.report.Services, Service{Name: app.Services[i].Name})
	}
	return r
}

// Add replays one record.
func (r *Replay) Add(record *decisionlog.Record) error {
	if r.open != nil && record.At.Before(r.open.at) {
		return fmt.Errorf("replay: the decision of %v comes after that of %v", record.At, r.open.at)
	}
	if !slices.Contains(r.report.Recorded, record.Policy) {
		r.report.Recorded = append(r.report.Recorded, record.Policy)
	}
	if !record.Seen() {
		r.report.Blind++
		return nil
	}
	r.compareNeeds(record)
	r.window = append(r.window, record.Observation(r.app))
	if len(r.window) > r.keep {
		r.window = slices.Delete(r.window, 0, 1)
	}
	situation := record.Situation(r.app, r.window)
	proposal, err := r.policy.Decide(record.At, situation)
	switch {
	case errors.Is(err, loadline.ErrNoData):
		r.report.Held++
		proposal = loadline.Proposal{}
	case err != nil:
		return fmt.Errorf("policy %s at %v: %w", r.report.Policy, record.At, err)
	}
	return r.compare(record, situation, proposal)
}

func (r *Replay) compare(record *decisionlog.Record, s loadline.Situation, proposal loadline.Proposal) error {
	r.close(record.At)
	if r.report.Decisions++; r.report.Decisions == 1 {
		r.report.First = record.At
	}
	r.report.Last = record.At
	now := &pass{at: record.At, was: slices.Clone(s.InFlight), other: slices.Clone(s.InFlight)}
	wants := make([]loadline.ServiceProposal, len(r.app.Services))
	for _, p := range proposal.Services {
		if p.Service < 0 || p.Service >= len(wants) {
			return fmt.Errorf("policy %s at %v names service %d of %d", r.report.Policy, record.At, p.Service, len(wants))
		}
		wants[p.Service] = p
		now.other[p.Service] = now.other[p.Service].With(p.Setting)
	}
	differs := false
	for i := range r.app.Services {
		of := record.Service(r.app.Services[i].Name)
		d := Difference{At: record.At, Service: r.app.Services[i].Name, Because: wants[i].Reason, Other: decisionlog.SettingOf(wants[i].Setting)}
		if of != nil {
			d.Before = decisionlog.ToldOf(of.Before())
			if of.Proposal != nil {
				now.was[i] = now.was[i].With(of.Proposal.Setting.Setting())
				d.Asked, d.Reason = of.Proposal.Setting, of.Proposal.Reason
			}
		}
		if now.was[i] != now.other[i] {
			differs = true
			r.note(i, d, now.was[i], now.other[i])
		}
	}
	if differs {
		r.report.Differ++
	}
	r.open = now
	return nil
}

func (r *Replay) note(service int, d Difference, was, other loadline.Allocation) {
	d.pass = r.report.Decisions
	d.replicas = abs(other.Replicas - was.Replicas)
	d.cores = max(requested(other)-requested(was), requested(was)-requested(other))
	r.report.Differences = append(r.report.Differences, d)
	s := &r.report.Services[service]
	s.Differ++
	if l := s.Largest; l == nil || d.replicas > l.replicas || d.replicas == l.replicas && d.cores > l.cores {
		s.Largest = &d
	}
}

// close counts what was asked for until the next decision.
func (r *Replay) close(until time.Time) {
	if r.open == nil {
		return
	}
	hours := until.Sub(r.open.at).Hours()
	for i := range r.report.Services {
		s, was, other := &r.report.Services[i], r.open.was[i], r.open.other[i]
		s.ReplicaHours += hours * float64(was.Replicas)
		s.OtherReplicaHours += hours * float64(other.Replicas)
		s.CoreHours += hours * float64(was.Replicas) * was.Size.CPURequest
		s.OtherCoreHours += hours * float64(other.Replicas) * other.Size.CPURequest
	}
}

// compareNeeds remarks once on what the other policy's deployment would have had
// and the record does not.
func (r *Replay) compareNeeds(record *decisionlog.Record) {
	if r.report.Decisions > 0 {
		return
	}
	had, needs := record.Needs.Needs(), r.policy.Needs()
	say := func(format string, args ...any) {
		r.report.Remarks = append(r.report.Remarks, fmt.Sprintf(format, args...))
	}
	if needs.Period != had.Period {
		say("it decides every %v, and is asked at the recorded decisions, every %v", needs.Period, had.Period)
	}
	if needs.Window != had.Window || needs.Lag != had.Lag || needs.Scrape != had.Scrape {
		say("it would see its metrics over %v, %v late, scraped every %v; the record has them over %v, %v late, every %v",
			needs.Window, needs.Lag, needs.Scrape, had.Window, had.Lag, had.Scrape)
	}
}

// Report ends the replay. The last decision holds for as long as the recorded
// period.
func (r *Replay) Report(period time.Duration) Report {
	if r.open != nil {
		r.close(r.open.at.Add(period))
		r.open = nil
	}
	return r.report
}

// Only is the report of one service; "" = of all.
func (r Report) Only(service string) Report {
	if service == "" {
		return r
	}
	other := func(name string) bool { return name != service }
	r.Services = slices.DeleteFunc(slices.Clone(r.Services), func(s Service) bool { return other(s.Name) })
	r.Differences = slices.DeleteFunc(slices.Clone(r.Differences), func(d Difference) bool { return other(d.Service) })
	r.Differ = len(r.Differences)
	return r
}

// LargestFirst are the differences by their size: replicas, then requested cores.
// What lasted is one episode.
func (r *Report) LargestFirst() []Episode {
	var all []Episode
	last := map[string]int{} // by service: index of its last episode
	for _, d := range r.Differences {
		if i, ok := last[d.Service]; ok && all[i].goesOn(&d) {
			all[i].Until, all[i].Times, all[i].pass = d.At, all[i].Times+1, d.pass
			continue
		}
		last[d.Service] = len(all)
		all = append(all, Episode{d, d.At, 1})
	}
	slices.SortStableFunc(all, func(a, b Episode) int {
		return cmp.Or(cmp.Compare(b.replicas, a.replicas), cmp.Compare(b.cores, a.cores), cmp.Compare(b.Times, a.Times))
	})
	return all
}

func (e *Episode) goesOn(d *Difference) bool {
	return d.pass == e.pass+1 && d.Asked.Setting() == e.Asked.Setting() && d.Other.Setting() == e.Other.Setting()
}

func abs(n int) int { return max(n, -n) }

func requested(a loadline.Allocation) float64 { return float64(a.Replicas) * a.Size.CPURequest }
