package rivals

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
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

// Names of all rivals.
func Names() []Name { return []Name{CoScalName, FIRMName, ASARSAName} }

// Choose an action for a service by what is seen of it.
type Choose func(service int, observation []float32, action *rl.Action)

// Taken is what was done to a service: as applied, not as wanted.
type Taken struct {
	Service int
	Action  rl.Action
}

// Rival is a policy that can be taught: whoever teaches it chooses its actions,
// sees what it saw, and asks what came of it. It is for one goroutine.
type Rival interface {
	loadline.Policy

	// Spaces of the problem of one service.
	Spaces() rl.Spaces
	// Begin forgets the past, as at the beginning of an episode.
	Begin()
	// Explore lets somebody else choose; nil lets the rival decide by what it has
	// learned.
	Explore(choose Choose)
	// Seen of a service when it decided last, until it decides again; nil = what it
	// needs was not measured.
	Seen(service int) []float32
	// Taken when it decided last, until it decides again.
	Taken() []Taken
	// Reward of a service in the situation that its last action led to.
	Reward(s loadline.Situation, service int) (float64, bool)
}

// New sets a model to work on an application. Services go with what was learned for
// them by name; others stay as they are, and it is an error if that is all of them.
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

// senses are what all rivals remember of their last decision.
type senses struct {
	app    *loadline.App
	ground *formulation.Ground
	moves  *moves
	delay  time.Duration
	at     []int // by service: place in the model; -1 = left as it is
	seen   [][]float32
	known  []bool
	taken  []Taken
	choose Choose
}

func newSenses(m *Model, app *loadline.App, delay time.Duration, width int) (senses, error) {
	n := len(app.Services)
	s := senses{
		app: app, ground: formulation.NewGround(app), moves: newMoves(app), delay: delay,
		at: make([]int, n), seen: make([][]float32, n), known: make([]bool, n),
	}
	if s.delay == 0 {
		s.delay = time.Second
	}
	found := false
	for i := range app.Services {
		s.at[i] = slices.Index(m.Services, app.Services[i].Name)
		s.seen[i] = make([]float32, width)
		found = found || s.at[i] >= 0
	}
	if !found {
		return s, fmt.Errorf("the model was trained for %s, of which %s has none; train one for it", strings.Join(m.Services, ", "),
			app.Name)
	}
	return s, nil
}

// Partial are the budgets that rivals are trained with: those in proportion.
func (s *senses) Partial() []loadline.SLO { return s.ground.Partial() }

// Explore implements Rival.
func (s *senses) Explore(choose Choose) { s.choose = choose }

// Seen implements Rival.
func (s *senses) Seen(service int) []float32 {
	if !s.known[service] {
		return nil
	}
	return s.seen[service]
}

// Taken implements Rival.
func (s *senses) Taken() []Taken { return s.taken }

func (s *senses) forget() {
	clear(s.known)
	s.taken = s.taken[:0]
}

// noData is what a rival says that saw nothing of any service.
func (s *senses) noData(absent string) error {
	return fmt.Errorf("%w: %s was not measured", loadline.ErrNoData, absent)
}

// anyKnown says whether something was seen at all.
func (s *senses) anyKnown() bool { return slices.Contains(s.known, true) }
