package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/policy"
)

// Candidate is a model to be trained: a method with the settings of one of its variants,
// and a seed. Or it is a policy that needs no training.
type Candidate struct {
	Name     string          `json:"name"`
	Method   string          `json:"method"`
	About    string          `json:"about,omitempty"`    // how it differs from others of its method
	Settings json.RawMessage `json:"settings,omitempty"` // the method's own
	Seed     uint64          `json:"seed"`
	Steps    int             `json:"steps"`          // in the environment, over all services
	From     string          `json:"from,omitempty"` // the candidate whose weights it begins with
	// Policy of a method that needs no training, as it runs; "" = a model is trained.
	Policy string `json:"policy,omitempty"`
	// Shares for the services' budgets; nil = the method's default.
	Shares *formulation.Shares `json:"shares,omitempty"`
}

// DefaultSteps is how many steps a candidate is trained for, the same for every method.
const DefaultSteps = 24_000

// usual is the order of candidates if no methods are given: ours most often, since papers'
// formulations rarely meet the SLO on other data.
var usual = []string{
	"loadline-dqn", "scaling-ops", "elastic-dqn", "loadline-dqn", "serverless-horizontal", "serverless-vertical", "loadline-dqn",
	"scaling-ops",
}

// untrained are candidates as they are: they learn as they run. Beside its defaults the planner has
// settings for less spare capacity, and for pods that may run above their CPU requests and change less
// often; which of them suits an application is chosen on the selection part (docs/adr/0041).
var untrained = []Candidate{
	{Name: "planner", Method: "planner", Policy: "planner"},
	{Name: "planner-100", Method: "planner", Policy: "planner:utilisation=100,shortfall=0.5",
		About: "pods at 100 % of their CPU requests, 0.5 % of the requests in excess of the forecast"},
	{Name: "planner-105", Method: "planner", Policy: "planner:utilisation=105,down-window=600s",
		About: "pods at 105 % of their CPU requests, slower down"},
	{Name: "planner-120", Method: "planner", Policy: "planner:utilisation=120,down-window=600s",
		About: "pods at 120 % of their CPU requests, slower down"},
}

// untrainedOf a method; none = it is trained.
func untrainedOf(method string) []Candidate {
	return slices.DeleteFunc(slices.Clone(untrained), func(c Candidate) bool { return c.Method != method })
}

// LineUp is n candidates of the given methods in turn, or of the usual ones: those of one
// method differ by seed and variant. With the usual ones come those that need no training.
func LineUp(methods []string, n int, seed uint64) ([]Candidate, error) {
	var all []Candidate
	if len(methods) == 0 {
		methods, all = usual, slices.Clone(untrained)
	}
	of := map[string]policy.Method{}
	var faults []error
	for _, name := range methods {
		if len(untrainedOf(name)) > 0 {
			continue
		}
		m, err := policy.Trainable(name)
		of[name] = m
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	made := map[string]int{}
	for i := range n {
		name := methods[i%len(methods)]
		made[name]++
		if as := untrainedOf(name); len(as) > 0 {
			if n := made[name]; n <= len(as) { // another would be the same
				all = append(all, as[n-1])
			}
			continue
		}
		c, err := newCandidate(of[name], made[name], seed)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// newCandidate is the n-th of a method, from 1.
func newCandidate(m policy.Method, n int, seed uint64) (Candidate, error) {
	c := Candidate{Name: fmt.Sprintf("%s-%d", m.Name, n), Method: m.Name, Seed: seed + uint64(n-1), Steps: DefaultSteps}
	if m.Variant == nil {
		return c, nil
	}
	v, err := m.Variant(n)
	if err != nil {
		return c, fmt.Errorf("candidate %s: %w", c.Name, err)
	}
	c.Settings, c.About = v.Settings, v.About
	if v.From > 0 {
		c.From = fmt.Sprintf("%s-%d", m.Name, v.From)
	}
	return c, nil
}

// check reports every fault of a candidate.
func (c *Candidate) check() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("candidate %s: %w", c.Name, fmt.Errorf(format, args...)))
	}
	if c.Policy != "" {
		if _, err := policy.Named(c.Method); err != nil {
			fault("%w", err)
		}
		return errors.Join(faults...)
	}
	if c.Steps < policy.LeastSteps {
		fault("it is trained for %d steps, must be at least %d", c.Steps, policy.LeastSteps)
	}
	m, err := policy.Trainable(c.Method)
	if err != nil {
		fault("%w", err)
		return errors.Join(faults...)
	}
	if c.Shares != nil && !m.TakesShares {
		fault("%s does not take parts of the SLO (--shares)", c.Method)
	}
	switch {
	case m.CheckSettings != nil:
		if err := m.CheckSettings(c.Settings); err != nil {
			fault("%w", err)
		}
	case len(c.Settings) > 0:
		fault("%s has no settings, these are %s", c.Method, c.Settings)
	}
	return errors.Join(faults...)
}

// formerCandidate is a candidate in run.json of earlier versions, all of which were of
// formulations.
type formerCandidate struct {
	Formulation string `json:"formulation"`
}

// UnmarshalJSON also reads the earlier format.
func (c *Candidate) UnmarshalJSON(text []byte) error {
	type plain Candidate
	var former formerCandidate
	if err := errors.Join(json.Unmarshal(text, (*plain)(c)), json.Unmarshal(text, &former)); err != nil {
		return err
	}
	if c.Method == "" {
		c.Method = formulation.NameNow(former.Formulation)
	}
	var tight bytes.Buffer // run.json is indented
	if len(c.Settings) > 0 && json.Compact(&tight, c.Settings) == nil {
		c.Settings = tight.Bytes()
	}
	return nil
}
