package forecast

import (
	"context"
	"math"

	"gonum.org/v1/gonum/optimize"
)

// minimise finds a local minimum of f near the start by the simplex of Nelder and Mead (1965):
// the sums of squares here have few parameters, and their gradients would be longer than the
// models. The result is never worse than the start.
func minimise(ctx context.Context, f func([]float64) float64, start []float64, size float64) ([]float64, error) {
	guarded := func(x []float64) float64 {
		if ctx.Err() != nil {
			return 0 // flat: the search ends at once
		}
		if v := f(x); !math.IsNaN(v) {
			return v
		}
		return math.Inf(1)
	}
	// The error only tells which limit ended the search.
	result, _ := optimize.Minimize(optimize.Problem{Func: guarded}, start, &optimize.Settings{
		FuncEvaluations: 120 * len(start),
		Converger:       &optimize.FunctionConverge{Relative: 1e-6, Iterations: 20},
	}, &optimize.NelderMead{SimplexSize: size})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if result == nil || guarded(start) <= result.F {
		return start, nil
	}
	return result.X, nil
}

// logistic maps the line to (0, 1), so that an unbounded search stays within bounds; logit is
// its inverse.
func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func logit(p float64) float64 { return math.Log(p / (1 - p)) }
