package bench

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/loadline/loadline/internal/simulate"
)

// evaluate tries settings in parallel. Results are in the order of the settings.
func (s *search) evaluate(ctx context.Context, specs []string, engine string, loads []CalibrationLoad) ([]Try, error) {
	tries, faults := make([]Try, len(specs)), make([]error, len(specs))
	next := make(chan int)
	var workers sync.WaitGroup
	for range max(s.Workers, 1) {
		workers.Go(func() {
			for i := range next {
				tries[i], faults[i] = s.evaluateOne(ctx, specs[i], engine, loads)
			}
		})
	}
	for i := range specs {
		next <- i
		if s.Progress != nil {
			s.Progress(min(1, float64(len(s.found.Tried)+i)/s.planned()))
		}
	}
	close(next)
	workers.Wait()
	return tries, errors.Join(faults...)
}

func (s *search) evaluateOne(ctx context.Context, spec, engine string, loads []CalibrationLoad) (Try, error) {
	t := Try{Spec: spec, Engine: engine}
	for _, load := range loads {
		if err := ctx.Err(); err != nil {
			return t, err
		}
		out, err := simulate.Run(ctx, s.CalibrationTask.spec(spec, engine, load))
		if err != nil {
			return t, describe(err, spec)
		}
		t.CoreHours += float64(out.Result.CoreHours) / float64(len(loads))
		t.Over = max(t.Over, overOf(out))
	}
	return t, nil
}

// overOf a run: without a request none was over the SLO.
func overOf(out *simulate.Outcome) float64 {
	if over := float64(out.Result.OverSLORatio); !math.IsNaN(over) {
		return over
	}
	return 0
}
