package rl

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// TabularConfig are the settings of both algorithms.
type TabularConfig struct {
	Edges    [][]float32 // of each feature, ascending: n edges make n+1 bins; a value on an edge is above it
	Rate     float64     // alpha
	Discount float64     // gamma
	Explore  Schedule    // epsilon
	Initial  float64     // value of untried actions; a high one encourages exploration
	Lambda   float64     // of SARSA: how long a trace lasts; 0 = one step
	Traces   Traces      // of SARSA
}

// Traces is the effect of visiting a state and action again.
type Traces string

// The kinds of traces (Sutton and Barto, 1998, sections 7.3 and 7.8).
const (
	Accumulating Traces = "accumulating" // it grows by 1
	Replacing    Traces = "replacing"    // it becomes 1
)

// MarshalText implements encoding.TextMarshaler.
func (t Traces) MarshalText() ([]byte, error) { return []byte(t), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Traces) UnmarshalText(text []byte) error {
	*t = Traces(text)
	return nil
}

// DefaultTabular has the constants that CoScal and A-SARSA share, but no Edges: they depend on the
// features.
func DefaultTabular() TabularConfig {
	return TabularConfig{Rate: 0.01, Discount: 0.9, Explore: Always(0.1), Lambda: 0.9, Traces: Replacing}
}

// EvenEdges divide each feature into bins of equal width, the first and last of which are
// unbounded.
func EvenEdges(features, bins int, low, high float64) [][]float32 {
	edges := make([]float32, 0, bins-1)
	for i := 1; i < bins; i++ {
		edges = append(edges, float32(low+(high-low)*float64(i)/float64(bins)))
	}
	all := make([][]float32, features)
	for i := range all {
		all[i] = edges
	}
	return all
}

// Settings are the fields that have a name; the edges do not.
func (c *TabularConfig) Settings() []Setting {
	return []Setting{
		{Key: "rate", About: "learning rate", Value: &c.Rate},
		{Key: "discount", About: "of the next step's value", Value: &c.Discount},
		{Key: "explore", About: "probability of a random action", Value: &c.Explore},
		{Key: "initial", About: "value of what was never tried", Value: &c.Initial},
		{Key: "lambda", About: "how long traces last (SARSA)", Value: &c.Lambda},
		{Key: "traces", About: "accumulating or replacing (SARSA)", Value: &c.Traces},
	}
}

// mostStates bounds the memory of a table.
const mostStates = 1 << 24

// Validate reports every fault at once.
func (c TabularConfig) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	states := 1
	for i, edges := range c.Edges {
		fault(!slices.IsSorted(edges), "edges of feature %d are %v, must rise", i, edges)
		if states *= len(edges) + 1; states > mostStates {
			fault(true, "edges make more than %d states: use fewer bins or fewer features", mostStates)
			break
		}
	}
	if err := c.Explore.Validate(0, 1); err != nil {
		faults = append(faults, fmt.Errorf("explore %w", err))
	}
	fault(len(c.Edges) == 0, "edges are missing, must be given for each feature")
	fault(!(c.Rate > 0 && c.Rate <= 1), "rate is %v, must be above 0, at most 1", c.Rate)
	fault(!(c.Discount >= 0 && c.Discount <= 1), "discount is %v, must be from 0 to 1", c.Discount)
	fault(!(c.Lambda >= 0 && c.Lambda <= 1), "lambda is %v, must be from 0 to 1", c.Lambda)
	fault(math.IsNaN(c.Initial) || math.IsInf(c.Initial, 0), "initial is %v, must be finite", c.Initial)
	fault(c.Traces != Accumulating && c.Traces != Replacing, "traces are %q, must be %s or %s", c.Traces, Accumulating, Replacing)
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("tabular: %w", err)
	}
	return nil
}

// stateTable is shared by both algorithms: values of states and actions, and acting by them.
type stateTable struct {
	config  TabularConfig
	choices int
	values  []float32 // state by state
	rng     *RNG
	steps   int
}

func newStateTable(config TabularConfig, spaces Spaces, seed uint64) (stateTable, error) {
	if err := errors.Join(config.Validate(), spaces.Validate()); err != nil {
		return stateTable{}, err
	}
	if !spaces.Discrete() || len(config.Edges) != spaces.Observation {
		return stateTable{}, fmt.Errorf("tabular: edges of %d features for observations of %d and %d choices, must fit and be discrete",
			len(config.Edges), spaces.Observation, spaces.Choices)
	}
	states := 1
	for _, edges := range config.Edges {
		states *= len(edges) + 1
	}
	t := stateTable{config: config, choices: spaces.Choices, values: make([]float32, states*spaces.Choices), rng: AgentRNG(seed)}
	for i := range t.values {
		t.values[i] = float32(config.Initial)
	}
	return t, nil
}

// state is the number of the observation's cell.
func (t *stateTable) state(observation []float32) int {
	state := 0
	for i, edges := range t.config.Edges {
		bin := 0
		for bin < len(edges) && observation[i] >= edges[bin] {
			bin++
		}
		state = state*(len(edges)+1) + bin
	}
	return state
}

// row are the values of a state's actions.
func (t *stateTable) row(state int) []float32 { return t.values[state*t.choices:][:t.choices] }

// Decide is the action of the largest value; of equal ones the first.
func (t *stateTable) Decide(observation []float32, action *Action) {
	action.Choice = ArgMax(t.row(t.state(observation)))
}

// Explore is epsilon-greedy.
func (t *stateTable) Explore(observation []float32, action *Action) {
	action.Choice = t.explore(t.state(observation))
}

// explore breaks ties at random: initially all values are equal.
func (t *stateTable) explore(state int) int {
	if t.rng.Float64() < t.config.Explore.At(t.steps) {
		return t.rng.IntN(t.choices)
	}
	row := t.row(state)
	best, equals := 0, 1
	for i := 1; i < len(row); i++ {
		switch {
		case row[i] > row[best]:
			best, equals = i, 1
		case row[i] == row[best]:
			if equals++; t.rng.IntN(equals) == 0 {
				best = i
			}
		}
	}
	return best
}

// Weights are the table.
func (t *stateTable) Weights() []float32 { return t.values }

func (t *stateTable) archive(a *Archive, kind string) {
	a.Label(fmt.Sprintf("%s with %s, edges=%v", kind, Describe(t.config.Settings()), t.config.Edges))
	t.rng.Archive(a)
	a.Floats(t.values)
	a.Int(&t.steps)
}
