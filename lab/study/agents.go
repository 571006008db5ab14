package study

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/suggest"
)

// Recipe makes agents of one configuration.
type Recipe interface {
	Settings() []rl.Setting
	New(spaces rl.Spaces, seed uint64) (rl.Agent, error)
}

// Kind is an algorithm by name.
type Kind struct {
	Name, About string
	Default     func() Recipe
}

// Kinds are all algorithms that can be studied.
func Kinds() []Kind {
	return []Kind{
		{"dqn", "deep Q-network, for choices", func() Recipe { return &dqnRecipe{rl.DefaultDQN()} }},
		{"td3", "twin delayed policy gradient, for continuous actions", func() Recipe { return &td3Recipe{rl.DefaultTD3()} }},
		{"ddpg", "td3 with one critic, no smoothing, no delay", func() Recipe { return &td3Recipe{rl.DefaultDDPG()} }},
		{"q", "Q-learning in a table, for choices", func() Recipe { return newTableRecipe(rl.DefaultTabular(), false) }},
		{"sarsa", "SARSA(lambda) in a table, for choices", func() Recipe { return newTableRecipe(rl.DefaultTabular(), true) }},
	}
}

type dqnRecipe struct{ rl.DQNConfig }

func (r *dqnRecipe) New(spaces rl.Spaces, seed uint64) (rl.Agent, error) {
	return rl.NewDQN(r.DQNConfig, spaces, seed)
}

type td3Recipe struct{ rl.TD3Config }

func (r *td3Recipe) New(spaces rl.Spaces, seed uint64) (rl.Agent, error) {
	return rl.NewTD3(r.TD3Config, spaces, seed)
}

// tableRecipe divides every feature into the same number of bins of equal width.
type tableRecipe struct {
	rl.TabularConfig
	sarsa     bool
	bins      int
	low, high float64
}

func newTableRecipe(config rl.TabularConfig, sarsa bool) *tableRecipe {
	return &tableRecipe{TabularConfig: config, sarsa: sarsa, bins: 3, low: -1, high: 1}
}

func (r *tableRecipe) Settings() []rl.Setting {
	return append(r.TabularConfig.Settings(),
		rl.Setting{Key: "bins", About: "into which each feature is cut", Value: &r.bins},
		rl.Setting{Key: "low", About: "lower end of the bins", Value: &r.low},
		rl.Setting{Key: "high", About: "upper end of the bins", Value: &r.high},
	)
}

func (r *tableRecipe) New(spaces rl.Spaces, seed uint64) (rl.Agent, error) {
	if r.bins < 1 || !(r.low < r.high) {
		return nil, fmt.Errorf("bins is %d from %v to %v, must be at least 1 over a rising range", r.bins, r.low, r.high)
	}
	c := r.TabularConfig
	c.Edges = rl.EvenEdges(spaces.Observation, r.bins, r.low, r.high)
	if r.sarsa {
		return rl.NewSARSA(c, spaces, seed)
	}
	return rl.NewTabularQ(c, spaces, seed)
}

// Parse reads "name" or "name:key=value,key=value".
func Parse(agent string) (Kind, []Assignment, error) {
	name, text, _ := strings.Cut(agent, ":")
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	i := slices.Index(names, name)
	if i < 0 {
		return Kind{}, nil, fmt.Errorf("unknown agent %q%s", name, suggest.Hint(name, names))
	}
	var settings []Assignment
	var faults []error
	if strings.TrimSpace(text) != "" {
		for field := range strings.SplitSeq(text, ",") {
			key, value, found := strings.Cut(strings.TrimSpace(field), "=")
			if !found {
				faults = append(faults, fmt.Errorf("%q must be key=value", field))
			}
			settings = append(settings, Assignment{key, value})
		}
	}
	return Kinds()[i], settings, errors.Join(faults...)
}

// NewRecipe reads an agent as Parse does, and applies its settings to the kind's default.
func NewRecipe(agent string) (Kind, Recipe, error) {
	kind, settings, err := Parse(agent)
	if err != nil {
		return kind, nil, err
	}
	recipe, err := kind.with(settings...)
	return kind, recipe, err
}

// Assignment gives a setting a value.
type Assignment struct{ Key, Value string }

// with is the kind's recipe with changed settings; it reports every fault.
func (k Kind) with(assignments ...Assignment) (Recipe, error) {
	recipe := k.Default()
	settings := recipe.Settings()
	var keys []string
	for _, s := range settings {
		keys = append(keys, s.Key)
	}
	var faults []error
	for _, a := range assignments {
		if i := slices.Index(keys, a.Key); i < 0 {
			faults = append(faults, fmt.Errorf("unknown setting %q of %s%s", a.Key, k.Name, suggest.Hint(a.Key, keys)))
		} else if err := settings[i].Set(a.Value); err != nil {
			faults = append(faults, err)
		}
	}
	return recipe, errors.Join(faults...)
}
