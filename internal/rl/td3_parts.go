package rl

import (
	"fmt"
	"math"

	"github.com/loadline/loadline/internal/nn"
)

// td3Parts divide a large problem into equal ones: the services of an application, each with as
// much of the whole in its observation as it needs. One actor and one critic of a part are
// shared by all, so that every step is as many examples as there are parts. The value of the
// whole is the sum of the parts' values (value decomposition, Sunehag et al., 2018): this
// assigns the common reward to the parts that caused it. The sum is divided by the root of
// their number, so that a part's value is of the size of its effect.
//
// Batches are laid out by sample and part, which the networks see as one larger batch: nothing
// is copied.
type td3Parts struct {
	count                   int
	observation, dimensions int     // of one part
	share                   float32 // weight of a part's value in the sum

	sums   []float32 // by sample
	slopes []float32 // by sample and part
}

func newTD3Parts(config TD3Config, spaces Spaces) (td3Parts, error) {
	n := max(config.Parts, 1)
	if spaces.Observation%n != 0 || spaces.Dimensions%n != 0 {
		return td3Parts{}, fmt.Errorf("td3: observations of %d and actions of %d values cannot be divided into %d parts",
			spaces.Observation, spaces.Dimensions, n)
	}
	return td3Parts{
		count: n, observation: spaces.Observation / n, dimensions: spaces.Dimensions / n,
		share: float32(1 / math.Sqrt(float64(n))),
		sums:  make([]float32, config.Batch), slopes: make([]float32, config.Batch*n),
	}, nil
}

// acting is a workspace for one observation, which is a batch of its parts. It prepares itself
// on its second use, and prepared rows may round differently: a resumed run must be prepared
// too.
func (p *td3Parts) acting(actor *nn.Net) *nn.Context {
	c := actor.NewContext()
	for range 2 {
		c.Forward(p.count, make([]float32, p.count*p.observation))
	}
	return c
}

// sum is the values of the whole, by sample; valid until the next call.
func (p *td3Parts) sum(values []float32) []float32 {
	if p.count == 1 {
		return values
	}
	for i := range p.sums {
		var sum float32
		for _, v := range values[i*p.count:][:p.count] {
			sum += v
		}
		p.sums[i] = p.share * sum
	}
	return p.sums
}

// spread converts gradients with respect to the whole's values to those with respect to the
// parts'.
func (p *td3Parts) spread(slopes []float32) []float32 {
	if p.count == 1 {
		return slopes
	}
	for i, s := range slopes {
		part := p.slopes[i*p.count:][:p.count]
		for j := range part {
			part[j] = p.share * s
		}
	}
	return p.slopes
}
