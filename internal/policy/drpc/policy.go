package drpc

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/formulation"
)

// Decider is which networks of a model decide.
type Decider string

const (
	ByStudents Decider = "students" // each for its own deployment, at its own period
	ByTeacher  Decider = "teacher"  // for all at once: the central controller of the paper's section III
)

// Work configures a policy.
type Work struct {
	Decider Decider
	Pace    Pace          // of the students; zero = the model's
	Delay   time.Duration // from observing to applying; 0 = a second
}

// Policy runs a model on one application. It is for one goroutine.
type Policy struct {
	// Decided, if set, is called with every decision of a student: its observation and
	// the applied part of its action. The publisher of experience uses it.
	Decided func(service int, now time.Time, local *Local, done Action)

	work    Work
	period  time.Duration
	encoder *Encoder
	scaler  *Scaler
	rates   *forecast.Rates
	parts   []loadline.SLO // that the model was trained with

	students []*Student // by service; nil = unchanged
	pacers   []pacer
	teacher  *TeacherPolicy

	locals []Local
	whole  []float32
	wants  []float32
}

// NewPolicy makes a policy of a model. Students are matched with services by name;
// services without one stay unchanged, and it is an error if no service has one. A
// teacher decides for exactly the services that it was trained on.
func NewPolicy(m *Model, app *loadline.App, work Work) (*Policy, error) {
	encoder, err := NewEncoder(app)
	if err != nil {
		return nil, err
	}
	encoder.UseShares(m.Shares)
	n := len(app.Services)
	if work.Pace == (Pace{}) {
		work.Pace = m.Pace
	}
	if err := work.Pace.Validate(); err != nil {
		return nil, err
	}
	if work.Delay == 0 {
		work.Delay = time.Second
	}
	p := &Policy{
		work: work, period: m.Period, encoder: encoder, scaler: NewScaler(app, m.Steps),
		students: make([]*Student, n), pacers: make([]pacer, n), locals: make([]Local, n), wants: make([]float32, n*Axes),
	}
	found := false
	for i := range app.Services {
		at := slices.Index(m.Services, app.Services[i].Name)
		if at < 0 {
			continue
		}
		if p.students[i], err = actingStudent(app.Services[i].Name, m, at); err != nil {
			return nil, err
		}
		found = true
	}
	if !found {
		return nil, fmt.Errorf("the model was trained for %s, of which %s has none; train one for it", strings.Join(m.Services, ", "),
			app.Name)
	}
	if p.rates, err = NewRates(app, m.Services, m.Forecasts); err != nil {
		return nil, fmt.Errorf("drpc: %w", err)
	}
	p.parts = encoder.Topology.Partial()
	if work.Decider == ByTeacher {
		if n != len(m.Services) || slices.Contains(p.students, nil) {
			return nil, fmt.Errorf("the teacher was trained on the %d services of %s, %s has others: use its students without it "+
				"(who=students), or train one for it", len(m.Services), m.App, app.Name)
		}
		if p.teacher, err = NewTeacherPolicy(m.Kind, m.Shape, m.Teacher, encoder); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// actingStudent is a student that no longer learns and so needs no buffer.
func actingStudent(service string, m *Model, at int) (*Student, error) {
	config := StudentConfig()
	config.Buffer = 1
	s, err := NewStudent(service, config, 1)
	if err != nil {
		return nil, err
	}
	s.Mode, s.version = Acting, m.Version
	copy(s.Net().Params(), m.Students[at].Params())
	return s, nil
}

// Name implements loadline.Policy.
func (p *Policy) Name() string {
	if p.teacher != nil {
		return "drpc teacher"
	}
	return "drpc"
}

// metricsWindow is the window of rates and quantiles.
const metricsWindow = 30 * time.Second

// Needs implements loadline.Policy: the period is the shortest of the students.
func (p *Policy) Needs() loadline.Needs {
	period := p.work.Pace.Least
	if p.teacher != nil {
		period = p.period
	}
	needs := NeedsOf(period, p.work.Delay)
	needs.Forecast, needs.PartialSLO = p.rates.Horizon(), true
	return needs
}

// Forecast implements loop.Forecaster with the model's forecasters.
func (p *Policy) Forecast(now time.Time, window []loadline.Observation) []loadline.Forecast {
	return p.rates.Forecast(now, window)
}

// Split implements loop.Splitter with the partial SLOs of the training.
func (p *Policy) Split(time.Time, loadline.Situation) []loadline.SLO { return p.parts }

// NeedsOf a decider with a period, in production and in training.
func NeedsOf(period, delay time.Duration) loadline.Needs {
	return loadline.Needs{
		Period: period, Scrape: min(10*time.Second, period), Window: max(metricsWindow, period), Delay: delay, Keep: 1,
	}
}

// Partial are the partial SLOs of the training.
func (p *Policy) Partial() []loadline.SLO { return p.parts }

// Decide implements loadline.Policy. A service is unchanged if a metric that its student needs
// was not measured.
func (p *Policy) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	p.scaler.Pressed = Pressed(s.App, s.Now())
	if p.teacher != nil {
		return p.teach(s)
	}
	var proposal loadline.Proposal
	var want Action
	absent, due, seen := "", 0, 0
	for i, student := range p.students {
		if student == nil || !p.pacers[i].isDue(now, p.work.Pace) {
			continue
		}
		due++
		local := &p.locals[i]
		if missing := p.encoder.Local(s, i, local); missing != "" {
			absent = fmt.Sprintf("%s of %s", missing, s.App.Services[i].Name)
			continue
		}
		seen++
		student.Decide(local, &want)
		setting, done := p.propose(s, i, want, &proposal)
		p.pace(now, s, i, setting)
		if p.Decided != nil {
			p.Decided(i, now, local, done)
		}
	}
	if due > 0 && seen == 0 {
		return proposal, fmt.Errorf("%w: %s was not measured", loadline.ErrNoData, absent)
	}
	return proposal, nil
}

// Student of a service; nil = it has none.
func (p *Policy) Student(service int) *Student { return p.students[service] }

// pace chooses when a student decides next.
func (p *Policy) pace(now time.Time, s loadline.Situation, service int, setting loadline.Setting) {
	rate := s.Now().Services[service].Rate
	ahead, within := rate.Or(0), time.Duration(0)
	if len(s.Forecast) > service && len(s.Forecast[service].Median) > 0 {
		ahead = highestOf(&s.Forecast[service], rate.Or(0))
		within = time.Duration(len(s.Forecast[service].Median)) * ForecastStep
	}
	late := p.locals[service][Locals-1] > 1 // squashed: the budget itself
	p.pacers[service].decided(now, p.work.Pace, rate, ahead, within, metricsWindow, !setting.Empty(), late)
}

// Periods that the students have chosen last, by service; 0 before the first decision.
func (p *Policy) Periods() []time.Duration {
	periods := make([]time.Duration, len(p.pacers))
	for i := range p.pacers {
		periods[i] = p.pacers[i].every
	}
	return periods
}

// teach decides for all services at once by the teacher, which needs all of their states.
func (p *Policy) teach(s loadline.Situation) (loadline.Proposal, error) {
	var proposal loadline.Proposal
	for i := range p.locals {
		if missing := p.encoder.Local(s, i, &p.locals[i]); missing != "" {
			return proposal, fmt.Errorf("%w: %s of %s was not measured", loadline.ErrNoData, missing, s.App.Services[i].Name)
		}
	}
	p.whole = p.encoder.Global(p.teacher.Shape, s, p.locals, p.whole[:0])
	p.teacher.Decide(p.whole, p.wants)
	for i := range p.locals {
		p.propose(s, i, Action(p.wants[i*Axes:][:Axes]), &proposal)
	}
	return proposal, nil
}

// propose adds a setting for a service only if something changes.
func (p *Policy) propose(s loadline.Situation, service int, want Action, to *loadline.Proposal) (loadline.Setting, Action) {
	setting, done := p.scaler.Scale(service, s.InFlight[service], MemoryOf(&s.Now().Services[service]), want)
	setting = s.InFlight[service].Changes(setting)
	if setting.Empty() {
		return setting, done
	}
	why := reason(s.Now().Services[service].Rate, &p.locals[service], setting)
	if setting.Brownout.Set && !setting.Brownout.Value && done[AxisHorizontal] == 0 {
		why += "; optional calls are served again, since the SLO is met"
	}
	to.Services = append(to.Services, loadline.ServiceProposal{Service: service, Setting: setting, Reason: why})
	return setting, done
}

// reason states the student's observation and what it chose.
func reason(rate loadline.Sample, local *Local, setting loadline.Setting) string {
	return fmt.Sprintf("%s: the network chose %s", DescribeLocal(rate, LocalFeatures[:], local), setting.Describe())
}

// DescribeLocal writes the first features of a student's observation in the units of users.
func DescribeLocal(rate loadline.Sample, names []string, local *Local) string {
	return formulation.Describe(rate, names, func(i int) float64 { return unsquash(local[i]) })
}
