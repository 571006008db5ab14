package rivals

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
)

// Model is the result of a training. Each rival uses some of the fields.
type Model struct {
	Rival    Name
	App      string
	Services []string
	Period   time.Duration

	Table Table           // of CoScal and A-SARSA
	GRUs  []*forecast.GRU // of CoScal, by service; nil = none
	ARIMA []Fits          // of A-SARSA, by service; empty = none

	// Of FIRM: actors by service, and the number of kinds of requests they were trained on.
	SVM    *SVM
	Actors []*nn.Net
	Kinds  int

	Training modelfile.Training
	Results  []modelfile.Result
}

// Parameters is the number of table entries or weights, without forecasters.
func (m *Model) Parameters() int {
	n := len(m.Table.Values)
	for _, net := range m.Actors {
		n += net.Size()
	}
	return n
}

// check that all fields of the rival are present and fit.
func (m *Model) check() error {
	var faults []error
	if !slices.Contains(Names(), m.Rival) {
		return fmt.Errorf("it is a %q, must be one of %v", m.Rival, Names())
	}
	if len(m.Services) == 0 {
		return errors.New("it names no services; train it again")
	}
	if m.Period < time.Second {
		faults = append(faults, fmt.Errorf("its period is %v, must be at least 1s; train it again", m.Period))
	}
	each := func(what string, got, want int) {
		if got != want {
			faults = append(faults, fmt.Errorf("it has %d %s, must have %d; train it again", got, what, want))
		}
	}
	switch m.Rival {
	case CoScalName:
		faults = append(faults, m.Table.check(CoScalLevels().States(), len(CoScalMoves)))
		if len(m.GRUs) > 0 {
			each("forecasters", len(m.GRUs), len(m.Services))
		}
	case ASARSAName:
		faults = append(faults, m.Table.check(ASARSALevels().States(), ASARSAChoices))
		if len(m.ARIMA) > 0 {
			each("forecasters", len(m.ARIMA), len(m.Services))
		}
	case FIRMName:
		each("actors", len(m.Actors), len(m.Services))
		for _, net := range m.Actors {
			if !actorFits(net, m.Kinds) {
				faults = append(faults, errors.New("an actor has another architecture than actors have; train it again"))
				break
			}
		}
		if m.SVM == nil {
			faults = append(faults, errors.New("its support vector machine is missing; train it again"))
		} else {
			faults = append(faults, m.SVM.check())
		}
	}
	return errors.Join(faults...)
}
