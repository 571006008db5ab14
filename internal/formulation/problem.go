package formulation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/suggest"
)

// Problem is a formulation with its constants chosen.
type Problem struct {
	Formulation string             `json:"formulation"`
	Period      time.Duration      `json:"period_ns"`
	Params      map[string]float64 `json:"params"`
	// Window over which rates and quantiles are taken; 0 = the formulation's.
	Window time.Duration `json:"window_ns,omitempty"`
	// Shares that the budgets follow; nil = in proportion.
	Shares *Shares `json:"shares,omitempty"`

	form     *Formulation
	features []Feature
}

// NewProblem takes a formulation by its name. Params that are not given have
// their defaults; a period of 0 is the formulation's.
func NewProblem(name string, period time.Duration, params map[string]float64) (*Problem, error) {
	p := &Problem{Formulation: name, Period: period, Params: maps.Clone(params)}
	return p, p.resolve()
}

// resolve finds what the names stand for and fills in defaults.
func (p *Problem) resolve() error {
	form, err := FormulationNamed(p.Formulation)
	if err != nil {
		return err
	}
	p.form = form
	if p.features, err = featuresNamed(form.Features); err != nil {
		return err
	}
	if p.Period == 0 {
		p.Period = form.Period
	}
	if p.Params == nil {
		p.Params = map[string]float64{}
	}
	var faults []error
	if p.Shares != nil {
		faults = append(faults, p.Shares.Validate())
	}
	if p.Period < time.Second {
		faults = append(faults, fmt.Errorf("period %v must be at least 1s", p.Period))
	}
	known := make([]string, len(form.Params))
	for i, param := range form.Params {
		known[i] = param.Name
		if _, set := p.Params[param.Name]; !set {
			p.Params[param.Name] = param.Default
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Params)) {
		if !slices.Contains(known, name) {
			faults = append(faults, fmt.Errorf("%s has no constant %q%s", p.Formulation, name, suggest.Hint(name, known)))
		}
	}
	return errors.Join(faults...)
}

// Form is the formulation.
func (p *Problem) Form() *Formulation { return p.form }

// Needs is what a policy for this problem is given.
func (p *Problem) Needs() loadline.Needs {
	window := p.form.Window
	if p.Window > 0 {
		window = p.Window
	}
	return loadline.Needs{
		Period: p.Period, Scrape: min(15*time.Second, p.Period), Window: max(window, p.Period), Keep: p.form.Keep,
		Delay: time.Second, PartialSLO: true,
	}
}

// Observe appends the features of a service. If one is absent, its name comes back
// and nothing can be decided.
func (p *Problem) Observe(g *Topology, s loadline.Situation, service int, into []float32) (values []float32, absent string) {
	v := newView(g, s, service)
	return appendFeatures(&v, p.features, into)
}

// Setting that a choice stands for.
func (p *Problem) Setting(g *Topology, s loadline.Situation, service, choice int) loadline.Setting {
	v := newView(g, s, service)
	v.follow = p.Params["requests"] > 0
	return p.form.Moves[choice].to(&v)
}

// Spend is what a step cost.
type Spend struct {
	Replicas  float64
	CPU       float64 // request of each, in cores
	Memory    float64 // request of each, in bytes
	Changed   bool    // the number of replicas was
	Reference float64 // cores that the service needs on the mean, to compare with
}

// Reward of the step that led to the situation.
func (p *Problem) Reward(g *Topology, after loadline.Situation, service int, paid Spend) float64 {
	o := outcome{view: newView(g, after, service), Spend: paid}
	return p.form.reward(&o, p.Params)
}

// ChoiceOf is the move that comes nearest to what was done, so that one can learn
// from another autoscaler's history. Where a bound makes several the same, it was
// the one that keeps.
func (p *Problem) ChoiceOf(g *Topology, s loadline.Situation, service int, done loadline.Allocation) int {
	v := newView(g, s, service)
	v.follow = p.Params["requests"] > 0
	best, nearest := -1, 0.0
	for i, m := range p.form.Moves {
		got := v.desired.With(m.to(&v))
		distance := abs(float64(got.Replicas-done.Replicas)) + abs(got.Size.CPULimit-done.Size.CPULimit)/max(v.capacity(), 1e-9)
		if best < 0 || distance < nearest || distance == nearest && m.Name == keep {
			best, nearest = i, distance
		}
	}
	return best
}

func abs(x float64) float64 { return max(x, -x) }
