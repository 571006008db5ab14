package learned

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/loadline/loadline/internal/slosplit"
)

// Adaptive is a splitter that adapts its model to each chain, that is, to its services and
// their profiles. It adapts again only when one of these changes. It is safe for concurrent
// use.
type Adaptive struct {
	model *Model

	mu    sync.Mutex
	cache map[[sha256.Size]byte]*Model
	count int
}

// NewAdaptive makes an adaptive splitter from a model.
func NewAdaptive(m *Model) *Adaptive {
	return &Adaptive{model: m, cache: map[[sha256.Size]byte]*Model{}}
}

// adaptiveMost is the maximum number of chains kept.
const adaptiveMost = 1024

// Split splits the chain with the model adapted to it.
func (a *Adaptive) Split(c *slosplit.Chain) (slosplit.Shares, error) {
	m, err := a.of(c)
	if err != nil {
		return nil, err
	}
	return m.Split(c)
}

// Adapted is the number of adaptations so far.
func (a *Adaptive) Adapted() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count
}

// of is the model for a chain. Loads and budgets vary all the time, so they are not part of the
// key.
func (a *Adaptive) of(c *slosplit.Chain) (*Model, error) {
	bare := slosplit.Chain{Kind: c.Kind, Percentile: c.Percentile, Calls: c.Calls}
	for _, s := range c.Steps {
		s.Load = 0
		bare.Steps = append(bare.Steps, s)
	}
	text, err := json.Marshal(bare)
	if err != nil {
		return nil, fmt.Errorf("chain of %s: %w", c.Kind, err)
	}
	key := sha256.Sum256(text)
	a.mu.Lock()
	defer a.mu.Unlock()
	if m := a.cache[key]; m != nil {
		return m, nil
	}
	if len(a.cache) >= adaptiveMost {
		clear(a.cache)
	}
	m := a.model
	// A chain that can never meet its budget has no samples; the model reports why.
	if samples := Around(c, AroundSamples, rand.New(rand.NewPCG(uint64(len(c.Steps)), 0))); len(samples) > 0 {
		if m, err = a.model.Adapt(samples, 0); err != nil {
			return nil, err
		}
	}
	a.cache[key] = m
	a.count++
	return m, nil
}

// AroundSamples is how many samples a model adapts on.
const AroundSamples = 16

// Around draws samples of a chain with varied load and budget, labelled by parslo. Infeasible
// ones are skipped.
func Around(c *slosplit.Chain, n int, rng *rand.Rand) []Sample {
	var list []Sample
	for range 3 * n {
		if len(list) == n {
			break
		}
		near := *c
		near.Steps = append([]slosplit.Step{}, c.Steps...)
		factor := math.Exp(math.Log(2) * (2*rng.Float64() - 1))
		for i := range near.Steps {
			near.Steps[i].Load *= factor
		}
		near.Budget *= math.Exp(math.Log(2) * (2*rng.Float64() - 1))
		if shares, err := Label(&near); err == nil {
			list = append(list, Sample{near, shares})
		}
	}
	return list
}
