package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/rl/dqn"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/train"
)

// Candidate is a policy to be trained: a formulation with its constants, an
// agent, and a seed.
type Candidate struct {
	Name        string             `json:"name"`
	Formulation string             `json:"formulation"`
	Params      map[string]float64 `json:"params,omitempty"` // of the reward
	Period      time.Duration      `json:"period_ns,omitempty"`
	Seed        uint64             `json:"seed"`
	Steps       int                `json:"steps"`          // in the environment, over all services
	From        string             `json:"from,omitempty"` // the candidate whose weights it begins with
	Linear      bool               `json:"linear"`         // trains on ENV1, Scaling-Ops' linear model, instead of the simulated cluster
	Bootstrap   bool               `json:"bootstrap"`      // learns from what the autoscaler in charge did before it acts
	// Shares that services' budgets follow; nil = in proportion to how long they take.
	Shares *formulation.Shares `json:"shares,omitempty"`

	Agent dqn.Config `json:"-"`
}

// Problem that the candidate is trained for.
func (c *Candidate) Problem() (*formulation.Problem, error) {
	p, err := formulation.NewProblem(c.Formulation, c.Period, c.Params)
	if err != nil {
		return nil, err
	}
	p.Shares = c.Shares
	return p, nil
}

// stepsOf is how many steps a candidate of a formulation trains for, by default.
// Every formulation has the same.
const stepsOf = 24_000

// usual is the order in which candidates are taken when nobody says which: ours
// most often, since papers' formulations rarely keep the SLO on others' data.
var usual = []string{
	"loadline", "scaling-ops", "elastic-dqn", "loadline", "serverless-horizontal", "serverless-vertical", "loadline", "scaling-ops",
}

// LineUp is n candidates of the given formulations in turn, or of the usual ones:
// those of one formulation differ by seed, reward, discount and net.
func LineUp(formulations []string, n int, seed uint64) ([]Candidate, error) {
	if len(formulations) == 0 {
		formulations = usual
	}
	for _, name := range formulations {
		if !slices.Contains(formulation.FormulationNames(), name) {
			return nil, fmt.Errorf("unknown candidate %q%s", name, suggest.Hint(name, formulation.FormulationNames()))
		}
	}
	var all []Candidate
	of := map[string]int{}
	for i := range n {
		name := formulations[i%len(formulations)]
		of[name]++
		all = append(all, variant(name, of[name], seed))
	}
	return all, nil
}

// variant is the n-th candidate of a formulation, from 1.
func variant(formulation string, n int, seed uint64) Candidate {
	c := Candidate{
		Name: fmt.Sprintf("%s-%d", formulation, n), Formulation: formulation, Seed: seed + uint64(n-1), Steps: stepsOf,
		Params: map[string]float64{}, Agent: train.AgentOf(formulation),
	}
	pick := func(key string, values ...float64) { c.Params[key] = values[(n-1)%len(values)] }
	switch formulation {
	case "scaling-ops":
		c.Linear = true
		pick("weight", 0.3, 0.3, 0.1, 0.05)
		if n == 2 { // Model 2 grows from Model 1
			c.From = fmt.Sprintf("%s-%d", formulation, 1)
		}
		if n > 2 {
			c.Agent.Discount = 0.99
		}
	case "elastic-dqn":
		pick("cost", 1, 0.3, 3, 0.1)
	case "serverless-horizontal", "serverless-vertical":
		c.Bootstrap = true
		pick("cpu", 1, 3, 0.3)
	case "loadline":
		pick("over", 1, 0.5, 2, 0.7, 1.5)
		if n%2 == 0 {
			c.Agent.Discount = 0.95
		}
	}
	return c
}

// clone is a candidate that shares nothing with the other.
func (c Candidate) clone() Candidate {
	c.Params = maps.Clone(c.Params)
	c.Agent.Hidden = slices.Clone(c.Agent.Hidden)
	return c
}
