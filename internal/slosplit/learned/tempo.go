package learned

import (
	"math"
	"slices"

	"github.com/loadline/loadline/internal/nn"
)

// tempo is the learning rates of the inner loop. The outer loop learns them beside the weights,
// as Meta-SGD does (Li and others, 2017), but with one rate for each block of weights and each
// trait: a context has to move far, the shared weights little.
type tempo struct {
	blocks []block
	traits int
	// free are the rates' logarithms, by block and then by trait, followed by the logit of the
	// momentum: rates are always above 0 and the momentum below 1.
	free []float32
}

// block is a part of the weights: those of one layer for one of its inputs, or its
// biases.
type block struct{ start, end int }

// blocksOf returns the blocks of a network, in the order of its weights.
func blocksOf(d nn.Design) []block {
	var list []block
	at := 0
	add := func(size int) {
		list = append(list, block{at, at + size})
		at += size
	}
	for _, l := range d.Layers {
		if l.Kind != nn.KindDense {
			continue
		}
		for _, from := range l.From {
			add(d.Layers[from].Width * l.Width)
		}
		add(l.Width)
	}
	return list
}

func newTempo(d nn.Design, c Config) *tempo {
	t := &tempo{blocks: blocksOf(d), traits: c.Traits}
	t.free = slices.Repeat([]float32{float32(math.Log(c.InnerRate))}, len(t.blocks))
	for range c.Traits {
		t.free = append(t.free, float32(math.Log(c.ContextRate)))
	}
	t.free = append(t.free, float32(math.Log(c.Keep/(1-c.Keep))))
	return t
}

func (t *tempo) rates() []float64 {
	list := make([]float64, len(t.free)-1)
	for i := range list {
		list[i] = math.Exp(float64(t.free[i]))
	}
	return list
}

func (t *tempo) keep() float64 { return 1 / (1 + math.Exp(-float64(t.free[len(t.free)-1]))) }

// inner is the inner loop at this tempo over a chain of the given number of steps.
func (t *tempo) inner(steps int) inner {
	return inner{rates: spread(t.blocks, t.rates(), steps), keep: float32(t.keep())}
}

// slopes are the gradients of free, from those of an inner loop's rates and momentum.
func (t *tempo) slopes(rates []float32, keep float64, in inner) []float32 {
	each := make([]float32, len(rates))
	for i := range rates {
		each[i] = rates[i] * in.rates[i]
	}
	k := float64(in.keep)
	return append(gather(t.blocks, t.traits, each), float32(keep*k*(1-k)))
}

// spread gives each weight the rate of its block, and each number of a chain's context that of
// its trait.
func spread(blocks []block, rates []float64, steps int) []float32 {
	var list []float32
	for i, b := range blocks {
		list = append(list, slices.Repeat([]float32{float32(rates[i])}, b.end-b.start)...)
	}
	for range steps {
		for _, r := range rates[len(blocks):] {
			list = append(list, float32(r))
		}
	}
	return list
}

// gather sums the values of each rate: the transpose of spread.
func gather(blocks []block, traits int, values []float32) []float32 {
	list := make([]float32, len(blocks)+traits)
	for i, b := range blocks {
		for _, v := range values[b.start:b.end] {
			list[i] += v
		}
	}
	for i, v := range values[blocks[len(blocks)-1].end:] {
		list[len(blocks)+i%traits] += v
	}
	return list
}
