package capacity

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/suggest"
)

// chosen is the model that chooses by its record.
const chosen = "planner"

// Models are the names of all models.
var Models = []string{chosen, "analogs", "seasonal", "holtwinters", "arima", "gru", "linear", "boosting"}

// CheckModels reports a name that is none of Models.
func CheckModels(names []string) error {
	for _, name := range names {
		if !slices.Contains(Models, name) {
			return fmt.Errorf("there is no model %q%s", name, suggest.Hint(name, slices.Clone(Models)))
		}
	}
	return nil
}

func newModel(ctx context.Context, name string, s *Series) (model, error) {
	switch name {
	case "analogs", chosen:
		return &planner{s: s, called: name, of: policy.NewLoadForecast(Shares[0], name == chosen)}, nil
	case "seasonal":
		return &seasonal{s: s}, nil
	case "holtwinters", "arima", "gru":
		points, err := newPoints(ctx, name, s)
		if err != nil {
			return nil, fmt.Errorf("fit %s to %s: %w", name, s.Name, err)
		}
		return &conformal{s: s, of: points, called: name}, nil
	case "linear":
		return &conformal{s: s, of: newRegression(s, func() quantileFit { return &forecast.Line{} }), called: name}, nil
	case "boosting":
		return &conformal{s: s, of: newRegression(s, func() quantileFit { return &forecast.Boost{} }), called: name}, nil
	}
	return nil, CheckModels([]string{name})
}

// planner is the planner's forecast: the one that is chosen by its record, or analogs alone.
type planner struct {
	s      *Series
	called string
	of     *policy.LoadForecast
}

func (m *planner) name() string { return m.called }

func (m *planner) learn(bin int) {
	m.of.Learn(at(bin), math.Expm1(m.s.levels[bin]), bin >= m.s.calibratedFrom())
}

// spread is that of the analogs.
func (m *planner) spread(lead int, to *forecast.Growth) { m.of.Spread(Leads[lead], to) }

func (m *planner) held(lead int) float64 { return m.of.Ahead(Leads[lead]) }

// seasonal is the distribution of the loads at the same time of the week, within half an hour; those
// of the same time of other days count a quarter.
type seasonal struct {
	s   *Series
	now int
}

func (m *seasonal) name() string { return "seasonal" }

func (m *seasonal) learn(bin int) { m.now = bin }

func (m *seasonal) spread(lead int, to *forecast.Growth) {
	const day = int(24 * time.Hour / Step)
	const half = int(30 * time.Minute / Step)
	*to = forecast.Growth{}
	to.Count(0, 1e-3)
	level := m.s.levels[m.now]
	for days := 1; days <= 28; days++ {
		weight := 0.25
		if days%7 == 0 {
			weight = 1
		}
		for bin := m.now - days*day - half; bin <= m.now-days*day+half; bin += 2 {
			if bin >= 0 {
				to.Count(m.s.most(bin, bins(lead))-level, weight)
			}
		}
	}
}
