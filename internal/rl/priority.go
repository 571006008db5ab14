package rl

import (
	"errors"
	"fmt"
	"math"
)

// Priority draws transitions with large errors more often: prioritised replay (Schaul et al.,
// 2016), the proportional variant. The zero value draws uniformly.
type Priority struct {
	Exponent   float64  // alpha: 0 = uniform, 1 = proportional to the error
	Correction Schedule // beta, over batches drawn: 1 = full correction
}

// leastError ensures that a transition without error can still be drawn.
const leastError = 1e-3

// Validate reports every fault at once.
func (p Priority) Validate() error {
	var faults []error
	if !(p.Exponent >= 0 && p.Exponent <= 1) {
		faults = append(faults, fmt.Errorf("priority is %v, must be from 0 to 1", p.Exponent))
	}
	if p.Exponent > 0 {
		if err := p.Correction.Validate(0, 1); err != nil {
			faults = append(faults, fmt.Errorf("priority-correction %w", err))
		}
	}
	return errors.Join(faults...)
}

// drawByPriority draws from equal parts of the total priority (appendix B.2.1) and weighs each
// row by (N*P(i))^-beta, normalised to a maximum of 1 in the batch (section 3.4).
func (r *Replay) drawByPriority(b *Batch, rng *RNG) {
	part := r.tree.total() / float64(b.Size)
	beta, largest := r.config.Priority.Correction.At(r.draws), float32(0)
	for i := range b.drawn {
		index := min(r.tree.find((float64(i)+rng.Float64())*part), r.count-1)
		b.drawn[i] = index
		share := r.tree.leaf(index) / r.tree.total()
		b.Weights[i] = float32(math.Pow(float64(r.count)*share, -beta))
		largest = max(largest, b.Weights[i])
	}
	for i := range b.Weights {
		b.Weights[i] /= largest
	}
}

// Reprioritise sets the errors of a drawn batch. Without priorities it does nothing.
func (r *Replay) Reprioritise(b *Batch, errors []float32) {
	if r.tree == nil {
		return
	}
	for i, index := range b.drawn {
		// Eq. 1, with p = |error| + a little.
		p := math.Pow(math.Abs(float64(errors[i]))+leastError, r.config.Priority.Exponent)
		r.tree.set(index, p)
		r.tree.largest = max(r.tree.largest, p)
	}
}

// sumTree is a binary tree whose leaves are priorities and whose inner nodes
// are sums: node i has the children 2i and 2i+1, the root is 1.
type sumTree struct {
	nodes   []float64
	leaves  int
	largest float64 // priority ever set
}

func newSumTree(capacity int) *sumTree {
	leaves := 1
	for leaves < capacity {
		leaves *= 2
	}
	return &sumTree{nodes: make([]float64, 2*leaves), leaves: leaves, largest: 1}
}

func (t *sumTree) total() float64         { return t.nodes[1] }
func (t *sumTree) leaf(index int) float64 { return t.nodes[t.leaves+index] }

// set changes one leaf. Sums are always computed from both children, so that they depend on the
// leaves alone and rounding errors do not accumulate.
func (t *sumTree) set(index int, priority float64) {
	i := t.leaves + index
	t.nodes[i] = priority
	for i /= 2; i >= 1; i /= 2 {
		t.nodes[i] = t.nodes[2*i] + t.nodes[2*i+1]
	}
}

// find is the leaf at which the running sum of priorities exceeds level.
func (t *sumTree) find(level float64) int {
	i := 1
	for i < t.leaves {
		i *= 2
		if level >= t.nodes[i] {
			level -= t.nodes[i]
			i++
		}
	}
	return i - t.leaves
}

func (t *sumTree) archive(a *Archive, count int) {
	a.Float(&t.largest)
	for i := range count {
		a.Float(&t.nodes[t.leaves+i])
	}
	for i := t.leaves - 1; i >= 1; i-- {
		t.nodes[i] = t.nodes[2*i] + t.nodes[2*i+1]
	}
}
