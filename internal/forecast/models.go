package forecast

import (
	"fmt"
	"slices"

	"github.com/loadline/loadline/internal/suggest"
)

// Names are the models of New, the naive ones first.
var Names = []string{"persistence", "seasonal", "holtwinters", "arima", "gru"}

// New makes a model by its name, with its own defaults.
func New(name string, task Task, seed uint64) (Model, error) {
	if err := task.Validate(); err != nil {
		return nil, err
	}
	switch name {
	case "persistence":
		return &persistence{}, nil
	case "seasonal":
		return newSeasonalNaive(task), nil
	case "holtwinters":
		return newHoltWinters(task), nil
	case "arima":
		return newARIMA(task), nil
	case "gru":
		return NewGRU(task, GRUConfig{Seed: seed})
	}
	return nil, fmt.Errorf("forecast: there is no model %q%s", name, suggest.Hint(name, slices.Clone(Names)))
}
