package bench

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
)

// all of the validation data.
const all = math.MaxInt

// evaluate tries settings in parallel, on at most so many loads of each scene. Results are in the
// order of the settings.
func (s *search) evaluate(ctx context.Context, specs []string, engine string, loads int) ([]Try, error) {
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
	each := 1.0
	if engine == "event" && loads == all {
		each = confirmationWork
	}
	for i := range specs {
		next <- i
		if s.work += each; s.Progress != nil {
			s.Progress(min(1, (s.work-each)/s.planned()))
		}
	}
	close(next)
	workers.Wait()
	if err := errors.Join(faults...); err != nil || s.Churn == nil {
		return tries, err
	}
	than, err := s.evaluateOne(ctx, s.Churn.Than, engine, loads)
	for i := range tries {
		tries[i].most = max(s.Churn.Times*than.Changes, s.Churn.AtLeast)
	}
	return tries, err
}

func (s *search) evaluateOne(ctx context.Context, spec, engine string, loads int) (Try, error) {
	fresh := Try{Spec: spec, Engine: engine, margin: s.Margin}
	t, scenes := fresh, s.scenes()
	if engine == "event" && loads == all {
		var err error
		if fresh.beyond, err = s.evaluateBeyond(ctx, fresh); err != nil {
			return t, err
		}
		t.beyond = fresh.beyond
	}
	coreHours, bill := 0.0, 0.0 // sums of logarithms
	for _, scene := range scenes {
		one, err := s.evaluateScene(ctx, fresh, scene, loads)
		if err != nil {
			return t, err
		}
		t.Over, t.Violated, t.Changes = max(t.Over, one.Over), t.Violated+one.Violated, t.Changes+one.Changes/float64(len(scenes))
		if len(scenes) == 1 {
			return one, nil
		}
		coreHours += math.Log(one.CoreHours) / float64(len(scenes))
		bill += math.Log(one.Bill) / float64(len(scenes)) // -Inf, so no bill, where there is none
	}
	t.CoreHours, t.Bill = math.Exp(coreHours), math.Exp(bill)
	return t, nil
}

// evaluateScene adds the figures of one scene: the mean cost, and the worst share of requests
// over the SLO.
func (s *search) evaluateScene(ctx context.Context, t Try, scene CalibrationScene, loads int) (Try, error) {
	of := scene.Loads[:min(loads, len(scene.Loads))]
	runs := float64(len(of) * len(scene.clusters()))
	for _, load := range of {
		for _, cluster := range scene.clusters() {
			if err := ctx.Err(); err != nil {
				return t, err
			}
			out, err := simulate.Run(ctx, s.CalibrationTask.spec(t.Spec, t.Engine, scene.App, load, cluster))
			if err != nil {
				return t, describe(err, t.Spec)
			}
			t.CoreHours += float64(out.Result.CoreHours) / runs
			t.Changes += float64(out.Result.Changes) / load.Duration.Hours() / runs
			// The nodes of an application alone on them cost the same whatever a setting does.
			if len(cluster.Pools) > 0 {
				t.Bill += float64(out.Result.Bill) / runs
			}
			over := Try{Over: overOf(out), margin: t.margin}
			if !over.feasible() {
				t.Violated++
			}
			t.Over = max(t.Over, over.Over)
		}
	}
	return t, nil
}

// evaluateBeyond is the share over the SLO of the worst load in each of the clusters beyond.
func (s *search) evaluateBeyond(ctx context.Context, t Try) ([]float64, error) {
	var worst []float64
	for _, cluster := range s.Beyond {
		one, err := s.evaluateScene(ctx, t, CalibrationScene{s.App, s.Loads, []pool.Cluster{cluster}}, all)
		if err != nil {
			return nil, err
		}
		worst = append(worst, one.Over)
	}
	return worst, nil
}

// overOf a run: without a request none was over the SLO.
func overOf(out *simulate.Outcome) float64 {
	if over := float64(out.Result.Degraded()); !math.IsNaN(over) {
		return over
	}
	return 0
}
