package forecast

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Plan configures an evaluation. Bins [0, From) are history for training and validation;
// forecasts are made in each bin of [From, To) and evaluated on bins below To.
type Plan struct {
	Task  Task
	From  int
	To    int // 0 = all
	Refit int // retrain after this many bins, on everything before; 0 = never

	// Progress, if set, receives the completed share of the walk.
	Progress func(share float64)
}

func (p Plan) validate(frame Frame) error {
	err := errors.Join(p.Task.Validate(), frame.Validate())
	if p.From < 1 || p.To > frame.Bins() || p.To <= p.From {
		err = errors.Join(err, fmt.Errorf("forecast: test bins %d to %d, must lie within 1 to %d", p.From, p.To, frame.Bins()))
	}
	if p.Refit < 0 {
		err = errors.Join(err, fmt.Errorf("forecast: refit every %d bins, must be at least 0", p.Refit))
	}
	return err
}

// Walk is a model's forecasts at each bin of a test part.
type Walk struct {
	Model   string
	From    int // first bin
	Answers []Forecast
	Silent  []bool // bins without a forecast, by the same index
}

// WalkForward replays the test part: at each bin the model observes that bin and forecasts from
// it. It cannot see later bins: it gets the rows one at a time.
func WalkForward(ctx context.Context, frame Frame, plan Plan, model Model) (Walk, error) {
	if plan.To == 0 {
		plan.To = frame.Bins()
	}
	if err := plan.validate(frame); err != nil {
		return Walk{}, err
	}
	f, err := NewForecaster(model, plan.Task)
	if err != nil {
		return Walk{}, err
	}
	walk := Walk{Model: model.Name(), From: plan.From}
	for bin := plan.From; bin < plan.To; bin++ {
		if err := ctx.Err(); err != nil {
			return Walk{}, err
		}
		if bin == plan.From || (plan.Refit > 0 && (bin-plan.From)%plan.Refit == 0) {
			if err := f.Fit(ctx, frame.Slice(0, bin)); err != nil {
				return Walk{}, err
			}
		}
		if err := f.Observe(frame.At(bin), frame.Rows[bin]...); err != nil {
			return Walk{}, err
		}
		answer, err := f.Forecast(frame.At(bin))
		if err != nil && !errors.Is(err, ErrNoData) {
			return Walk{}, err
		}
		walk.Answers = append(walk.Answers, answer)
		walk.Silent = append(walk.Silent, err != nil)
		if plan.Progress != nil {
			plan.Progress(float64(bin+1-plan.From) / float64(plan.To-plan.From))
		}
	}
	return walk, nil
}

// Score evaluates walks together, on the forecasts that all of them made and whose outcome was
// measured, so that skipping difficult bins is no advantage. Errors are also given on the scale
// on which history goes from 0 to 1.
func Score(frame Frame, plan Plan, walks []Walk) ([]Errors, error) {
	if plan.To == 0 {
		plan.To = frame.Bins()
	}
	low, high := frame.Slice(0, plan.From).extent()
	if !(high > low) {
		return nil, fmt.Errorf("forecast: history is constant or empty, from %v to %v: nothing to score", low, high)
	}
	all := make([]Errors, len(walks))
	for i, w := range walks {
		all[i] = newErrors(w.Model, plan.Task, frame.Step)
	}
	for at := range walks[0].Answers {
		bin := plan.From + at
		answered := true
		for i, w := range walks {
			if w.Silent[at] {
				answered = false
				all[i].Silent++
			}
		}
		if !answered {
			continue
		}
		for h, steps := range plan.Task.Horizons {
			if bin+steps >= plan.To || math.IsNaN(frame.Rows[bin+steps][0]) {
				continue
			}
			for i, w := range walks {
				all[i].Horizons[h].add(frame.Rows[bin+steps][0], w.Answers[at].Ahead[h], plan.Task)
			}
		}
	}
	for i := range all {
		for _, a := range all[i].Horizons {
			if a.Samples == 0 {
				return nil, fmt.Errorf("forecast: nothing could be scored %v ahead: no forecast of all models has an outcome; test "+
					"longer, or shorter horizons: %w", a.Ahead, ErrNoData)
			}
		}
		all[i].finish(high - low)
	}
	return all, nil
}
