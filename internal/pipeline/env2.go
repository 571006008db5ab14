package pipeline

import (
	"context"
	"fmt"
	"sync"

	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/train"
)

// tryENV2 scores policies on Scaling-Ops' equations over the whole held-out part, service by
// service. A policy that needs other inputs is excluded, with the reason.
func (f *Folder) tryENV2(ctx context.Context, entries []Entry, j EvaluationSettings) error {
	places, err := placesOf(f.App, f.HeldOut, nil)
	if err != nil {
		return err
	}
	var known []train.ServiceScenario
	for _, p := range places {
		if _, ok := f.Subject.Delays[p.Service]; ok {
			known = append(known, p)
		}
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	done := 0
	free := make(chan struct{}, max(j.Workers, 1))
	faults := make([]error, len(entries))
	for i := range entries {
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			faults[i] = entries[i].tryENV2(ctx, known, f.Subject.Delays)
			mu.Lock()
			defer mu.Unlock()
			done++
			j.Progress(0.95 + 0.05*float64(done)/float64(len(entries)))
		})
	}
	group.Wait()
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Entry) tryENV2(ctx context.Context, places []train.ServiceScenario, delays map[string]train.Delays) error {
	switch {
	case e.Role == RoleReference:
		e.NotENV2 = "an oracle: it is given the load in advance"
		return nil
	case len(places) == 0:
		e.NotENV2 = "no service has a linear model"
		return nil
	}
	score := &ENV2{Services: map[string]train.ENV2Score{}}
	n := result.Number(len(places))
	for _, place := range places {
		policy, err := policy.New(e.Policy, place.App)
		if err != nil {
			e.NotENV2 = fmt.Sprintf("it cannot be set to work on %s alone: %v", place.Service, err)
			return nil
		}
		s, err := train.EvaluateENV2(ctx, train.ENV2Config{Scenario: place, Delays: delays[place.Service]}, policy)
		if err != nil {
			return fmt.Errorf("%s on ENV2: %w", e.Label, err)
		}
		if s.Held > s.Made {
			e.NotENV2 = "it needs measurements that the equations do not give"
			return nil
		}
		score.Services[place.Service] = s
		score.MeanPods += result.Number(s.MeanPods)
		score.Delay += result.Number(s.Delay) / n
		score.OverSLA += result.Number(s.OverSLA) / n
		score.AtMin += result.Number(s.AtMin) / n
		score.AtMax += result.Number(s.AtMax) / n
	}
	score.Bound = boundOf(float64(score.AtMin), float64(score.AtMax))
	e.ENV2 = score
	return nil
}
