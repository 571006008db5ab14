package rivals

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/rl"
)

// Name of a rival.
type Name string

// The rivals.
const (
	CoScalName Name = "coscal"
	FIRMName   Name = "firm"
	ASARSAName Name = "asarsa"
)

// Names lists all rivals.
func Names() []Name { return []Name{CoScalName, FIRMName, ASARSAName} }

// ChooseAction chooses the action on a service by its observation.
type ChooseAction func(service int, observation []float32, action *rl.Action)

// Taken is the action on a service as applied, not as proposed.
type Taken struct {
	Service int
	Action  rl.Action
}

// Rival is a policy that can be trained: the trainer chooses its actions and reads its
// observations and rewards. It is for one goroutine.
type Rival interface {
	loadline.Policy
	loop.Splitter

	// Spaces are those of one service.
	Spaces() rl.Spaces
	// Begin starts an episode and discards earlier observations.
	Begin()
	// Explore sets a function that chooses actions; nil = the learned policy chooses.
	Explore(choose ChooseAction)
	// Observed is the observation of a service at the last decision; nil = a metric that it
	// needs was absent.
	Observed(service int) []float32
	// Taken are the actions of the last decision.
	Taken() []Taken
	// Reward of a service in the situation that its last action led to.
	Reward(s loadline.Situation, service int) (float64, bool)
}

// New makes the policy of a model for an application. Services are matched by name;
// others stay unchanged, and it is an error if none matches.
func New(m *Model, app *loadline.App, delay time.Duration) (Rival, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	switch m.Rival {
	case CoScalName:
		return newCoScal(m, app, delay)
	case FIRMName:
		return newFIRM(m, app, delay)
	}
	return newASARSA(m, app, delay)
}

// decisionState is what all rivals have in common, with the last decision.
type decisionState struct {
	app      *loadline.App
	topology *formulation.Topology
	parts    []loadline.SLO // of the SLO, proportional
	moves    *moves
	delay    time.Duration
	at       []int // by service: index in the model; -1 = the service stays unchanged
	observed [][]float32
	known    []bool
	taken    []Taken
	choose   ChooseAction
}

func newDecisionState(m *Model, app *loadline.App, delay time.Duration, width int) (decisionState, error) {
	n := len(app.Services)
	s := decisionState{
		app: app, topology: formulation.NewTopology(app), moves: newMoves(app), delay: delay,
		at: make([]int, n), observed: make([][]float32, n), known: make([]bool, n),
	}
	s.parts = s.topology.Partial()
	if s.delay == 0 {
		s.delay = time.Second
	}
	found := false
	for i := range app.Services {
		s.at[i] = slices.Index(m.Services, app.Services[i].Name)
		s.observed[i] = make([]float32, width)
		found = found || s.at[i] >= 0
	}
	if !found {
		return s, fmt.Errorf("the model was trained for %s, of which %s has none; train one for it", strings.Join(m.Services, ", "),
			app.Name)
	}
	return s, nil
}

// Partial are the parts of the SLO that rivals are trained with: proportional ones.
func (s *decisionState) Partial() []loadline.SLO { return s.parts }

// Split implements loop.Splitter.
func (s *decisionState) Split(time.Time, loadline.Situation) []loadline.SLO { return s.parts }

// Explore implements Rival.
func (s *decisionState) Explore(choose ChooseAction) { s.choose = choose }

// Observed implements Rival.
func (s *decisionState) Observed(service int) []float32 {
	if !s.known[service] {
		return nil
	}
	return s.observed[service]
}

// Taken implements Rival.
func (s *decisionState) Taken() []Taken { return s.taken }

func (s *decisionState) forget() {
	clear(s.known)
	s.taken = s.taken[:0]
}

// noData is the error if no service was measured.
func (s *decisionState) noData(absent string) error {
	return fmt.Errorf("%w: %s was not measured", loadline.ErrNoData, absent)
}

// anyKnown reports whether any service was observed.
func (s *decisionState) anyKnown() bool { return slices.Contains(s.known, true) }
