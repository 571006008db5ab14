package papers

import (
	"context"
	"time"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/forecast"
)

const drpcForecastStep = 5 * minute

// drpcForecasts are the paper's errors of the GRU, by horizon.
var drpcForecasts = []float64{0.0025, 0.0027, 0.0033, 0.0049, 0.0057}

// forecastTable forecasts the last quarter of the trace 5 to 25 minutes ahead, from the data
// before it.
func (s *drpcSetup) forecastTable(ctx context.Context, o Options) (*Table, error) {
	bins, err := s.trace.Resample(drpcForecastStep)
	if err != nil {
		return nil, err
	}
	if s.few {
		if bins, err = bins.Slice(0, 12*time.Hour); err != nil {
			return nil, err
		}
	}
	frame := forecast.NewFrame("utilisation", time.Unix(0, 0).UTC(), drpcForecastStep, bins.Rates)
	plan := forecast.Plan{
		Task: forecast.Task{Horizons: []int{1, 2, 3, 4, 5}, Levels: forecast.DefaultLevels,
			Season: int(24 * time.Hour / drpcForecastStep)},
		From: frame.Bins() * 3 / 4,
	}
	names := []string{"gru", "persistence", "seasonal"}
	if s.few {
		names = names[:2] // there is no previous day
	}
	values := make([][][]float64, len(names))
	for i := range values {
		values[i] = make([][]float64, o.Seeds)
	}
	err = o.each(ctx, o.Seeds, func(seed int) error {
		var walks []forecast.Walk
		for _, name := range names {
			model, err := s.forecaster(name, plan.Task, o.Seed+uint64(seed))
			if err != nil {
				return err
			}
			walk, err := forecast.WalkForward(ctx, frame, plan, model)
			if err != nil {
				return err
			}
			walks = append(walks, walk)
		}
		scores, err := forecast.Score(frame, plan, walks)
		if err != nil {
			return err
		}
		for i := range names {
			for _, h := range scores[i].Horizons {
				values[i][seed] = append(values[i][seed], h.NormalisedMSE)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := &Table{
		Name: "Forecast error: MSE of the utilisation, where what was learned from goes from 0 to 1", Of: "model",
		Measures: []Measure{{"5 min", 4}, {"10 min", 4}, {"15 min", 4}, {"20 min", 4}, {"25 min", 4}},
		Note: "The mean utilisation of the cluster in bins of 5 min; the last quarter is forecast, from what came before. The " +
			"paper says neither which machines it forecasts nor what its utilisation is normalised by; the range that was seen, as " +
			"here, makes errors larger than shares of a machine would.",
	}
	for i, name := range names {
		row := Row{Name: name, Paper: none(len(t.Measures)), Ours: intervals(values[i])}
		if name == "gru" {
			row.Paper = numbers(drpcForecasts...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

func (s *drpcSetup) forecaster(name string, task forecast.Task, seed uint64) (forecast.Model, error) {
	if name != "gru" {
		return forecast.New(name, task, seed)
	}
	config := forecast.GRUConfig{Seed: seed}
	if s.few {
		config.Window, config.Hidden, config.Members, config.Epochs = 12, 4, 1, 2
	}
	return forecast.NewGRU(task, config)
}

// at is the interval of a row's measure.
func (t *Table) at(row string, measure int) bench.Interval {
	for _, r := range t.Rows {
		if r.Name == row && measure < len(r.Ours) {
			return r.Ours[measure]
		}
	}
	return bench.IntervalOf(nil)
}
