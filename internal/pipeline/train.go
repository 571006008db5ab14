package pipeline

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/train"
)

// Trained is a candidate and its model.
type Trained struct {
	Candidate Candidate
	*policy.Trained
}

// TrainAll trains candidates side by side and returns them in their order. Progress is called
// with the completed share of all steps; it may be nil.
func TrainAll(ctx context.Context, s *Subject, candidates []Candidate, workers int, progress func(share float64)) ([]*Trained, error) {
	trained := make([]*Trained, len(candidates))
	err := TrainEach(ctx, s, candidates, Each{Workers: workers, Progress: progress, Done: func(t *Trained) error {
		trained[slices.IndexFunc(candidates, func(c Candidate) bool { return c.Name == t.Candidate.Name })] = t
		return nil
	}})
	return trained, err
}

// Train trains one candidate, from another's weights if they are given.
func Train(ctx context.Context, s *Subject, c Candidate, from policy.Model, progress func(share float64)) (*Trained, error) {
	m, err := policy.Trainable(c.Method)
	if err != nil {
		return nil, fmt.Errorf("candidate %s: %w", c.Name, err)
	}
	scenario, err := s.scenario()
	if err != nil {
		return nil, err
	}
	trained, err := m.Train(ctx, policy.Task{
		Scenario: scenario, Steps: c.Steps, Seed: c.Seed, Rate: 1, Settings: c.Settings, From: from, Shares: c.Shares,
		Past: &policy.Past{History: s.History, Delays: s.Delays}, Progress: progress,
	})
	if err != nil {
		return nil, fmt.Errorf("candidate %s: %w", c.Name, err)
	}
	return &Trained{Candidate: c, Trained: trained}, nil
}

// scenario that candidates are trained on: the training part.
func (s *Subject) scenario() (train.Scenario, error) {
	load, err := s.Training.For(s.App)
	if err != nil {
		return train.Scenario{}, err
	}
	return train.Scenario{App: s.App, Load: load, Duration: s.Training.Duration(), Source: fmt.Sprintf("%s: %s", s.Name, s.Source)}, nil
}

// shares adds up the progress of the candidates.
type shares struct {
	mu       sync.Mutex
	each     []float64
	weight   []float64
	all      float64
	progress func(float64)
}

func newShares(candidates []Candidate, progress func(float64)) *shares {
	s := &shares{each: make([]float64, len(candidates)), progress: progress}
	for _, c := range candidates {
		s.weight = append(s.weight, float64(c.Steps))
		s.all += float64(c.Steps)
	}
	return s
}

// of returns the progress function of one candidate.
func (s *shares) of(i int) func(float64) {
	return func(share float64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.each[i] = share
		sum := 0.0
		for j, e := range s.each {
			sum += e * s.weight[j]
		}
		if s.progress != nil {
			s.progress(sum / s.all)
		}
	}
}
