package decisionlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/loop"
)

// Replay runs another policy over recorded decisions. Records are added in the
// order of their instants.
type Replay struct {
	app    *loadline.App
	loop   loop.Loop
	now    recordedCluster
	report ReplayReport
	open   *replayPass // the last pass, which lasts until the next
}

// replayPass is what both policies proposed at one instant.
type replayPass struct {
	at         time.Time
	was, other []loadline.Allocation
}

// ReplayReport is the result of a replay.
type ReplayReport struct {
	Policy    string    `json:"policy"`    // the other one
	Recorded  []string  `json:"recorded"`  // policies in the records
	First     time.Time `json:"first"`     // instant of the first decision
	Last      time.Time `json:"last"`      // and of the last
	Decisions int       `json:"decisions"` // replayed
	Blind     int       `json:"blind"`     // records without an observation, which cannot be replayed
	Held      int       `json:"held"`      // decisions for which the other policy had no data
	Differ    int       `json:"differ"`    // decisions in which some service differs
	Remarks   []string  `json:"remarks,omitempty"`

	Services    []ReplayedService `json:"services"`
	Differences []Difference      `json:"differences"` // all of them, in order
}

// ReplayedService is one service over the replayed time.
type ReplayedService struct {
	Name   string `json:"name"`
	Differ int    `json:"differ"`
	// What was proposed, from each decision to the next.
	ReplicaHours      float64     `json:"replica_hours"`
	OtherReplicaHours float64     `json:"other_replica_hours"`
	CoreHours         float64     `json:"core_hours"` // requested
	OtherCoreHours    float64     `json:"other_core_hours"`
	Largest           *Difference `json:"largest,omitempty"` // by replicas, then by requested cores
}

// Difference is one service at one decision.
type Difference struct {
	At      time.Time  `json:"at"`
	Service string     `json:"service"`
	Before  Allocation `json:"before"`
	Asked   Setting    `json:"asked"` // by the recorded policy
	Reason  string     `json:"reason,omitempty"`
	Other   Setting    `json:"other"` // by the other one
	Because string     `json:"because,omitempty"`

	pass     int // counts decisions
	replicas int
	cores    float64
}

// Episode is a difference that stayed the same over consecutive decisions.
type Episode struct {
	Difference
	Until time.Time // of the last decision
	Times int
}

// NewReplay returns a replay of an application's records with another policy.
func NewReplay(app *loadline.App, policy loadline.Policy, name string) *Replay {
	r := &Replay{app: app, now: recordedCluster{app: app}}
	r.loop = loop.Loop{App: app, Policy: policy, Cluster: &r.now, Clock: &r.now, Immediate: true,
		Announced:   func() []loadline.Event { return r.now.situation.Announced },
		Constraints: func() loadline.Constraints { return r.now.situation.Constraints }}
	r.report.Policy, r.report.Differences = name, []Difference{}
	for i := range app.Services {
		r.report.Services = append(r.report.Services, ReplayedService{Name: app.Services[i].Name})
	}
	return r
}

// Add replays one record.
func (r *Replay) Add(record *Record) error {
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
	r.now.set(record)
	pass, err := r.loop.Step(context.Background())
	switch {
	case err != nil:
		return err
	case errors.Is(pass.Decision.Err, loadline.ErrNoData):
		r.report.Held++
	case pass.Decision.Err != nil:
		return fmt.Errorf("policy %s at %v: %w", r.report.Policy, record.At, pass.Decision.Err)
	}
	r.compare(record, pass.Situation, pass.Decision.Proposal)
	return nil
}

func (r *Replay) compare(record *Record, s loadline.Situation, proposal loadline.Proposal) {
	r.close(record.At)
	if r.report.Decisions++; r.report.Decisions == 1 {
		r.report.First = record.At
	}
	r.report.Last = record.At
	now := &replayPass{at: record.At, was: slices.Clone(s.InFlight), other: slices.Clone(s.InFlight)}
	wants := make([]loadline.ServiceProposal, len(r.app.Services))
	for _, p := range proposal.Services {
		wants[p.Service] = p
		now.other[p.Service] = now.other[p.Service].With(p.Setting)
	}
	differs := false
	for i := range r.app.Services {
		of := record.Service(r.app.Services[i].Name)
		d := Difference{At: record.At, Service: r.app.Services[i].Name, Because: wants[i].Reason,
			Other: SettingOf(wants[i].Setting)}
		if of != nil {
			d.Before = AllocationOf(of.Before())
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

// close counts what was proposed until the next decision.
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

// compareNeeds adds a remark for each way in which the other policy's deployment
// would observe differently from the record.
func (r *Replay) compareNeeds(record *Record) {
	if r.report.Decisions > 0 {
		return
	}
	had, needs := record.Needs.Needs(), r.loop.Policy.Needs()
	say := func(format string, args ...any) {
		r.report.Remarks = append(r.report.Remarks, fmt.Sprintf(format, args...))
	}
	if needs.Period != had.Period {
		say("it decides every %v, and is replayed at the recorded decisions, every %v", needs.Period, had.Period)
	}
	if needs.Window != had.Window || needs.Lag != had.Lag || needs.Scrape != had.Scrape {
		say("its metrics would cover %v, %v late, scraped every %v; the recorded ones cover %v, %v late, every %v",
			needs.Window, needs.Lag, needs.Scrape, had.Window, had.Lag, had.Scrape)
	}
}

// ReplayReport ends the replay. The last decision lasts for one recorded period.
func (r *Replay) Report(period time.Duration) ReplayReport {
	if r.open != nil {
		r.close(r.open.at.Add(period))
		r.open = nil
	}
	return r.report
}

// Only is the report of one service; "" = of all.
func (r ReplayReport) Only(service string) ReplayReport {
	if service == "" {
		return r
	}
	other := func(name string) bool { return name != service }
	r.Services = slices.DeleteFunc(slices.Clone(r.Services), func(s ReplayedService) bool { return other(s.Name) })
	r.Differences = slices.DeleteFunc(slices.Clone(r.Differences), func(d Difference) bool { return other(d.Service) })
	r.Differ = len(r.Differences)
	return r
}

// LargestFirst are the differences by size: replicas, then requested cores. The
// same difference in consecutive decisions is one episode.
func (r *ReplayReport) LargestFirst() []Episode {
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
