package console

import (
	"math"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/sim/pool"
)

// Application is what there is to say of one, in a list. What is not known is left out.
type Application struct {
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	Mode       string      `json:"mode"`
	Policy     string      `json:"policy,omitempty"`
	Rung       *Rung       `json:"rung,omitempty"`
	SLOMet     string      `json:"slo_met,omitempty"` // True, False or Unknown
	Objectives []Objective `json:"objectives"`
	Money      *Money      `json:"money,omitempty"`
	Moved      string      `json:"services_moved,omitempty"` // "4/5"
	Decided    *time.Time  `json:"decided,omitempty"`
	Conditions []Condition `json:"conditions"`
	// Attention are the conditions that need a person, the most urgent first.
	Attention []string `json:"attention"`
}

// Rung of the guard's ladder.
type Rung struct {
	Name  string     `json:"name"`
	Since *time.Time `json:"since,omitempty"`
	Why   string     `json:"why,omitempty"`
}

// Objective of one kind of request.
type Objective struct {
	Kind       string   `json:"kind"`
	Percentile float64  `json:"percentile,omitempty"`
	Target     float64  `json:"target_s,omitempty"`
	Latency    *float64 `json:"latency_s,omitempty"` // at the percentile
	OverSLO    *float64 `json:"over_slo,omitempty"`  // that over the target
	Rate       *float64 `json:"rate,omitempty"`      // requests per second
	Met        *bool    `json:"met,omitempty"`
	// Attainment is the share of the requests within the target since a time, and BudgetLeft what
	// is left of those that may be over it: 1 = all, below 0 = more were.
	Attainment *float64   `json:"attainment,omitempty"`
	BudgetLeft *float64   `json:"budget_left,omitempty"`
	Since      *time.Time `json:"since,omitempty"`
}

// Money is what the application costs.
type Money struct {
	Currency string `json:"currency"`
	// PerHour is what the requests of all replicas cost now, at list prices.
	PerHour *float64 `json:"per_hour,omitempty"`
	// The others are estimated on the twin, for the load of the last hours.
	PerMonth *float64  `json:"per_month,omitempty"`
	Baseline *Baseline `json:"baseline,omitempty"`
	Basis    string    `json:"basis,omitempty"`
}

// Baseline is the rule beside it.
type Baseline struct {
	Name     string  `json:"name"`
	PerMonth float64 `json:"per_month"`
	Saved    float64 `json:"saved"` // per month; below 0 = the baseline costs less
}

// Condition of the LoadLine.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
}

// Detail is one application with its services.
type Detail struct {
	Application
	Services []Service `json:"services"`
	// Calls are who calls whom, as far as it is known.
	Calls []Call `json:"calls,omitempty"`
	// Record says where the decisions come from, or why there are none.
	Record string `json:"record"`
}

// Call of one service by another.
type Call struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Service is the state of one.
type Service struct {
	Name        string     `json:"name"`
	State       string     `json:"state,omitempty"`
	Rate        *float64   `json:"rate,omitempty"`        // visits per second
	CPU         *float64   `json:"cpu_cores,omitempty"`   // in use
	Utilisation *float64   `json:"utilisation,omitempty"` // of the CPU that its replicas request
	P99OverSLO  *float64   `json:"p99_over_slo,omitempty"`
	Share       *Share     `json:"share,omitempty"` // of the SLO
	Wanted      *int32     `json:"replicas_wanted,omitempty"`
	Applied     *int32     `json:"replicas_applied,omitempty"`
	Ready       *int32     `json:"replicas_ready,omitempty"`
	Size        *Size      `json:"size,omitempty"`
	Forecast    *Forecast  `json:"forecast,omitempty"`
	Why         string     `json:"why,omitempty"`
	Changed     *time.Time `json:"changed,omitempty"`
}

// Share of the SLO that a service has.
type Share struct {
	Percentile float64 `json:"percentile"`
	Latency    float64 `json:"latency_s"`
}

// Size of a replica; 0 = none, for a limit.
type Size struct {
	CPURequest    float64 `json:"cpu_request_cores"`
	CPULimit      float64 `json:"cpu_limit_cores"`
	MemoryRequest int64   `json:"memory_request_bytes"`
	MemoryLimit   int64   `json:"memory_limit_bytes"`
}

// Forecast of the visits to a service, at multiples of the step after At.
type Forecast struct {
	At     time.Time `json:"at"`
	Step   float64   `json:"step_s"`
	Median Column    `json:"median"`
	High   Column    `json:"high,omitempty"`
}

// urgent are conditions that need a person when they are as given, in this order.
var urgent = []struct {
	kind   string
	status metav1.ConditionStatus
}{
	{v1alpha1.ConditionReady, metav1.ConditionFalse}, {v1alpha1.ConditionStale, metav1.ConditionTrue},
	{v1alpha1.ConditionConflict, metav1.ConditionTrue}, {v1alpha1.ConditionLimited, metav1.ConditionTrue},
	{v1alpha1.ConditionFallback, metav1.ConditionTrue}, {v1alpha1.ConditionDrift, metav1.ConditionTrue},
	{v1alpha1.ConditionFleet, metav1.ConditionFalse}, {v1alpha1.ConditionRunnerUpAhead, metav1.ConditionTrue},
	{v1alpha1.ConditionSelected, metav1.ConditionFalse}, {v1alpha1.ConditionDecisionLog, metav1.ConditionFalse},
	{v1alpha1.ConditionAnnounced, metav1.ConditionFalse},
}

// Summary of an application from its resource alone.
func Summary(l *v1alpha1.LoadLine) Application { return summary(l, nil) }

// summary of an application from its resource, and from the last hours if they are known.
func summary(l *v1alpha1.LoadLine, p *past) Application {
	a := Application{
		Namespace: l.Namespace, Name: l.Name, Mode: string(l.Status.Mode), Policy: l.Status.Policy, SLOMet: l.Status.SLOMet,
		Moved: l.Status.ServicesMoved, Objectives: []Objective{}, Conditions: []Condition{}, Attention: []string{},
	}
	if a.Mode == "" {
		a.Mode = string(l.Spec.Mode)
	}
	if r := l.Status.Ladder; r != nil {
		a.Rung = &Rung{Name: string(r.Rung.Current()), Since: instant(&r.Since), Why: r.Why}
	}
	a.Decided = instant(l.Status.LastDecisionTime)
	for _, c := range l.Status.Conditions {
		a.Conditions = append(a.Conditions, Condition{c.Type, string(c.Status), c.Reason, c.Message, c.LastTransitionTime.UTC()})
	}
	if l.Status.SLOMet == "False" {
		a.Attention = append(a.Attention, "the SLO is missed")
	}
	for _, u := range urgent {
		if c := meta.FindStatusCondition(l.Status.Conditions, u.kind); c != nil && c.Status == u.status {
			a.Attention = append(a.Attention, text(c.Reason, c.Message))
		}
	}
	for i := range l.Status.Objectives {
		a.Objectives = append(a.Objectives, objective(l, &l.Status.Objectives[i], p))
	}
	a.Money = money(l, p)
	return a
}

func text(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + message
}

func instant(t *metav1.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	at := t.UTC()
	return &at
}

func number(m v1alpha1.Measured) *float64 {
	v, err := strconv.ParseFloat(string(m), 64)
	if err != nil {
		return nil
	}
	return &v
}

// objective with the percentile and the latency of the spec's.
func objective(l *v1alpha1.LoadLine, s *v1alpha1.ObjectiveStatus, p *past) Objective {
	o := Objective{Kind: s.Kind, Rate: number(s.Rate), OverSLO: number(s.OverSLO), Met: s.Met}
	if s.Latency != nil {
		seconds := s.Latency.Span().Seconds()
		o.Latency = &seconds
	}
	for i := range l.Spec.Objectives {
		of := &l.Spec.Objectives[i]
		if of.Kind != s.Kind && (of.Kind != v1alpha1.AnyKind && of.Kind != "" || o.Target > 0) {
			continue
		}
		o.Target = of.Latency.Span().Seconds()
		var err error
		if o.Percentile, err = of.Percentile.Float(); err != nil || o.Percentile == 0 {
			o.Percentile = 99
		}
		if of.Kind == s.Kind {
			break
		}
	}
	if p == nil {
		return o
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if share, since, known := p.met(s.Kind); known {
		o.Attainment, o.Since = &share, &since
		if allowed := 1 - o.Percentile/100; o.Percentile > 0 && allowed > 0 {
			left := 1 - (1-share)/allowed
			o.BudgetLeft = &left
		}
	}
	return o
}

// money of what runs, and of the rule beside it where the twin has estimated both.
func money(l *v1alpha1.LoadLine, p *past) *Money {
	var m Money
	if e := p.last(); e != nil {
		cost := perHour(e.Record, l.Status.Mode == v1alpha1.Act)
		m.PerHour, m.Currency = &cost, pool.Prices{}.WithDefaults().Currency
	}
	if e := l.Status.Portfolio; e != nil {
		m.PerMonth, m.Basis = number(e.Current.PerMonth), e.Basis
		if e.Currency != "" {
			m.Currency = e.Currency
		}
		for i := range e.Others {
			cost := number(e.Others[i].PerMonth)
			if cost == nil || m.PerMonth == nil || m.Baseline != nil && m.Baseline.PerMonth <= *cost {
				continue
			}
			m.Baseline = &Baseline{e.Others[i].Name, *cost, *cost - *m.PerMonth}
		}
	}
	if m == (Money{}) {
		return nil
	}
	return &m
}

// perHour is what the requests of all replicas cost at list prices, after the decision if it acts.
func perHour(r *decisionlog.Record, acts bool) (cost float64) {
	prices := pool.Prices{}.WithDefaults()
	for i := range r.Services {
		a := r.Services[i].Before()
		if acts {
			a = afterOf(&r.Services[i])
		}
		n := float64(a.Replicas)
		cost += prices.Resources(3600*n*a.Size.CPURequest, 3600*n*float64(a.Size.MemoryRequest))
	}
	return cost
}

// last record; nil = none.
func (p *past) last() *decisionlog.Entry {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latest
}

// detail of an application.
func detail(l *v1alpha1.LoadLine, p *past, record string) Detail {
	d := Detail{Application: summary(l, p), Services: []Service{}, Record: record}
	e := p.last()
	for i := range l.Status.Services {
		s := serviceOf(&l.Status.Services[i])
		if e != nil {
			if r := e.Record.Service(s.Name); r != nil {
				s.take(e.Record, r)
			}
			s.Share = p.shareOf(s.Name)
		}
		d.Services = append(d.Services, s)
	}
	if e != nil && e.App != nil {
		d.Calls = callsOf(e.App)
	}
	return d
}

// shareOf the SLO that a service has; nil = none was stated.
func (p *past) shareOf(service string) *Share {
	p.mu.Lock()
	defer p.mu.Unlock()
	if part, known := p.parts[service]; known {
		return &part
	}
	return nil
}

// serviceOf the status.
func serviceOf(st *v1alpha1.ServiceStatus) Service {
	s := Service{Name: st.Name, State: string(st.State), Why: st.Why, Changed: instant(st.LastChangeTime)}
	if st.Seen != nil {
		s.Rate, s.P99OverSLO, s.Ready = number(st.Seen.Rate), number(st.Seen.P99OverSLO), st.Seen.ReadyReplicas
		if st.Seen.CPU != nil {
			cores := st.Seen.CPU.AsApproximateFloat64()
			s.CPU = &cores
		}
	}
	if st.Wanted != nil {
		s.Wanted = st.Wanted.Replicas
	}
	if st.Applied != nil {
		s.Applied = st.Applied.Replicas
	}
	return s
}

// take what the last record has and the status has not.
func (s *Service) take(record *decisionlog.Record, r *decisionlog.Service) {
	a := r.Before()
	s.Size = &Size{a.Size.CPURequest, a.Size.CPULimit, a.Size.MemoryRequest, a.Size.MemoryLimit}
	if s.CPU != nil && s.Ready != nil && *s.Ready > 0 && a.Size.CPURequest > 0 {
		use := *s.CPU / (float64(*s.Ready) * a.Size.CPURequest)
		s.Utilisation = &use
	}
	if f := r.Forecast; f != nil {
		s.Forecast = &Forecast{At: record.At, Step: time.Duration(f.Step).Seconds()}
		for _, v := range f.Median {
			s.Forecast.Median = append(s.Forecast.Median, float64(v))
		}
		for _, v := range f.High {
			s.Forecast.High = append(s.Forecast.High, float64(v))
		}
	} else if r.Proposal != nil && r.Proposal.Expects != nil { // of a policy that forecasts by itself
		e := r.Proposal.Expects
		s.Forecast = &Forecast{At: record.At, Step: time.Duration(e.Within).Seconds(), Median: Column{math.NaN()}, High: Column{float64(e.Rate)}}
	}
}

// callsOf an application, each pair once.
func callsOf(app *loadline.App) []Call {
	var list []Call
	seen := map[Call]bool{}
	var walk func(c *loadline.Call)
	walk = func(c *loadline.Call) {
		for i := range c.Stages {
			for j := range c.Stages[i] {
				to := &c.Stages[i][j]
				if call := (Call{app.Services[c.Service].Name, app.Services[to.Service].Name}); !seen[call] {
					seen[call] = true
					list = append(list, call)
				}
				walk(to)
			}
		}
	}
	for i := range app.Kinds {
		walk(&app.Kinds[i].Root)
	}
	return list
}
