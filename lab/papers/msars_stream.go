package papers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/loadline/loadline/internal/slosplit/learned"
)

// Each slot of a stream has some samples, and a network takes one step on the last of them.
// parslo labels a sample within a millisecond, so a minute has time for many.
const (
	slotSamples  = 16
	slotMemory   = 32
	judgeSamples = 48
)

// stretch is a time in which only load and SLO change.
type stretch struct {
	stream []learned.Sample // slotSamples for each slot
	judge  []learned.Sample // others of the same, to measure the error
}

// newStretch draws a stretch of one chain; instance sizes are constant.
func newStretch(ctx context.Context, of learned.Subject, slots int, seed uint64) (*stretch, error) {
	rng := rand.New(rand.NewPCG(seed, uint64(of.Chain)<<32|uint64(of.Release)<<16|uint64(of.Profiled)))
	sizes := of.Sizes(rng)
	s := &stretch{}
	for i := range slots*slotSamples + judgeSamples {
		drawn, err := of.Draw(ctx, rng, sizes, math.Inf(1))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", of.Name(), err)
		}
		sample, err := drawn.Sample(1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", of.Name(), err)
		}
		if i < judgeSamples {
			s.judge = append(s.judge, sample)
		} else {
			s.stream = append(s.stream, sample)
		}
	}
	return s, nil
}

// manner is how a method is updated on a stream.
type manner struct {
	late  bool // also trained on outdated profiles
	reset bool // restarts from its trained weights when a profile changes
	pace  learned.Optimiser
}

func (m manner) String() string {
	text := m.pace.String()
	if m.reset {
		text += ", from its training anew at each jump"
	} else {
		text += ", from where it is at each jump"
	}
	if m.late {
		return text + ", trained on both kinds of tasks"
	}
	return text + ", trained on true profiles only"
}

// follow runs stretches one after the other: the error at each slot of each, in percent, before
// the step taken there.
func follow(m *learned.Model, how manner, stretches []*stretch) ([][]float64, error) {
	model := m.OnlineLearner(how.pace)
	var all [][]float64
	for i, s := range stretches {
		stream, err := m.Prepare(s.stream)
		if err != nil {
			return nil, err
		}
		judge, err := m.Prepare(s.judge)
		if err != nil {
			return nil, err
		}
		if i > 0 && how.reset {
			model.Reset()
		}
		var errors []float64
		for to := slotSamples; to <= stream.Len(); to += slotSamples {
			errors = append(errors, 100*model.Misplaced(judge))
			model.Step(stream, max(0, to-slotMemory), to)
		}
		all = append(all, errors)
	}
	return all, nil
}

// recoversAfter is the number of steps until the error is at a level for three consecutive
// slots; all of them if it never is.
func recoversAfter(errors []float64, level float64) float64 {
	for i := 0; i+2 < len(errors); i++ {
		if max(errors[i], errors[i+1], errors[i+2]) <= level {
			return float64(i)
		}
	}
	return float64(len(errors))
}

// ways are the shares of the way back that are reported. The last one counts as recovered, as
// it counts as converged elsewhere.
var ways = []float64{0.5, 0.75, 0.9}

// levels are the errors, stretch by stretch, at which a share of the way is made: from the
// least initial error of any method to the lowest that any reaches.
func levels(share float64, curves ...[][]float64) []float64 {
	list := make([]float64, len(curves[0]))
	for i := range list {
		begin, lowest := math.Inf(1), math.Inf(1)
		for _, c := range curves {
			begin = min(begin, c[i][0])
			lowest = min(lowest, slices.Min(c[i]))
		}
		list[i] = begin - share*(begin-lowest)
	}
	return list
}
