package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/loadline/loadline/internal/policy"
)

// Each configures how candidates are trained side by side.
type Each struct {
	Workers int
	// Have are the models of candidates that were trained before, by name: these are not
	// trained again.
	Have map[string]policy.Model
	// Done is called with every trained candidate, one at a time. An error stops those that
	// have not begun.
	Done func(*Trained) error
	// Progress is called with the completed share of all steps; it may be nil.
	Progress func(share float64)
}

// FailedError are the candidates whose training failed, by name. The others are trained.
type FailedError map[string]error

func (e FailedError) Error() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		lines = append(lines, e[name].Error())
	}
	return strings.Join(lines, "\n")
}

// TrainEach trains candidates side by side and passes on each as it is done. Those that start
// from another's weights wait for it. The training of one may fail without the others: a
// FailedError has the reasons.
func TrainEach(ctx context.Context, s *Subject, candidates []Candidate, each Each) error {
	if err := checkCandidates(s, candidates); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t := &team{models: map[string]policy.Model{}, ready: map[string]chan struct{}{}, done: each.Done}
	for _, c := range candidates {
		t.ready[c.Name] = make(chan struct{})
	}
	shares := newShares(candidates, each.Progress)
	faults := make([]error, len(candidates))
	free := make(chan struct{}, max(each.Workers, 1))
	var group sync.WaitGroup
	for i, c := range candidates {
		if m := each.Have[c.Name]; m != nil || c.Policy != "" {
			t.keep(c.Name, m)
			shares.of(i)(1)
			continue
		}
		group.Go(func() {
			defer close(t.ready[c.Name])
			from := t.await(c.From)
			if c.From != "" && from == nil {
				faults[i] = fmt.Errorf("candidate %s starts from the weights of %s, which was not trained", c.Name, c.From)
				return
			}
			free <- struct{}{}
			defer func() { <-free }()
			if ctx.Err() != nil {
				return
			}
			trained, err := Train(ctx, s, c, from, shares.of(i))
			if err != nil {
				faults[i] = err
				return
			}
			if err := t.store(trained); err != nil {
				stop(err)
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	failed := FailedError{}
	for i, err := range faults {
		if err != nil {
			failed[candidates[i].Name] = err
		}
	}
	if len(failed) > 0 {
		return failed
	}
	return nil
}

// checkCandidates reports every fault before anything is trained.
func checkCandidates(s *Subject, candidates []Candidate) error {
	if err := s.Check(); err != nil {
		return err
	}
	if len(candidates) == 0 {
		return errors.New("there is no candidate to train")
	}
	var faults []error
	before := map[string]bool{}
	for _, c := range candidates {
		if before[c.Name] {
			faults = append(faults, fmt.Errorf("candidate %s is there twice: give one of them another name", c.Name))
		}
		if c.From != "" && !before[c.From] {
			faults = append(faults, fmt.Errorf("candidate %s begins with the weights of %s, which must come before it", c.Name, c.From))
		}
		faults = append(faults, c.check())
		before[c.Name] = true
	}
	return errors.Join(faults...)
}

// team is the candidates with their dependencies.
type team struct {
	mu     sync.Mutex
	models map[string]policy.Model
	ready  map[string]chan struct{}
	done   func(*Trained) error
}

func (t *team) keep(name string, m policy.Model) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.models[name] = m
	close(t.ready[name])
}

// await the weights of another candidate; nil = none, or it failed.
func (t *team) await(name string) policy.Model {
	if name == "" {
		return nil
	}
	<-t.ready[name]
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.models[name]
}

func (t *team) store(trained *Trained) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.models[trained.Candidate.Name] = trained.Model
	if t.done == nil {
		return nil
	}
	return t.done(trained)
}
