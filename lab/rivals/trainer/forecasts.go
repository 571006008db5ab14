package trainer

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/lab/rivals"
)

// A-SARSA's forecasters are fitted to a recording under a simple rule: pastShare is its
// share of the steps, and mostPast the most steps.
const (
	pastShare = 0.05
	mostPast  = 480
)

// recordPast records an episode under a simple rule, fits ARIMA to the metrics of every
// service, and returns the number of steps.
func recordPast(ctx context.Context, w *env, steps int, seed uint64) ([]rivals.Fits, int, error) {
	undo := w.Lengthen(steps)
	defer undo()
	sight, err := formulation.NewFeatureSet("latency")
	if err != nil {
		return nil, 0, err
	}
	n := len(w.App().Services)
	cores, response := make([][]float64, n), make([][]float64, n)
	var values []float32
	w.begin(rl.NewRNG(seed, pastStream).Rand, train.NoCulprit)
	for !w.Over() {
		s := w.Situation()
		for i := range n {
			used, over := math.NaN(), math.NaN()
			if c := s.Now().Services[i].CPU; c.Present() {
				used = c.Value
			}
			var absent string
			if values, absent = sight.Append(w.Topology(), s, i, values[:0]); absent == "" {
				over = float64(values[0])
			}
			cores[i], response[i] = append(cores[i], used), append(response[i], over)
		}
		w.act(rule(s))
	}
	fits := make([]rivals.Fits, n)
	for i := range fits {
		for _, o := range []struct {
			values []float64
			to     **forecast.ARIMAFit
		}{{cores[i], &fits[i].CPU}, {response[i], &fits[i].Response}} {
			fit, err := forecast.FitARIMA(ctx, forecast.NewFrame("past", sim.Epoch, w.Needs().Period, o.values))
			switch {
			case errors.Is(err, forecast.ErrNoData): // the forecast is the present value
			case err != nil:
				return nil, 0, fmt.Errorf("forecaster of %s: %w", w.App().Services[i].Name, err)
			default:
				*o.to = &fit
			}
		}
	}
	return fits, w.StepsTaken(), nil
}

// rule keeps the CPU at 60 % of the request.
func rule(s loadline.Situation) loadline.Proposal {
	const target = 0.6
	var p loadline.Proposal
	for i := range s.App.Services {
		cpu, desired, b := s.Now().Services[i].CPU, s.InFlight[i], s.App.Services[i].Bounds
		if !cpu.Present() || desired.Size.CPURequest <= 0 {
			continue
		}
		n := min(max(int(math.Ceil(cpu.Value/(target*desired.Size.CPURequest))), b.MinReplicas, 1), max(b.MaxReplicas, 1))
		p.Services = append(p.Services, loadline.ServiceProposal{Service: i, Setting: loadline.Setting{Replicas: loadline.Some(n)}})
	}
	return p
}
