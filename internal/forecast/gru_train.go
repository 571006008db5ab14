package forecast

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/loadline/loadline/internal/nn"
)

// longestGradient is the length to which gradients are clipped: a burst must not ruin the
// weights.
const longestGradient = 1

// train trains the members, each from a seed of its own, so that it does not matter which of
// them train in parallel.
func (m *GRU) train(ctx context.Context, w windows) ([]*nn.Net, GRUReport, error) {
	members := m.config.Members
	nets, faults := make([]*nn.Net, members), make([]error, members)
	report := GRUReport{Windows: len(w.ends), Epochs: make([]int, members), Loss: make([]float64, members),
		Curves: make([][]GRUEpoch, members)}
	progress := sharedProgress(members, m.config.Progress)
	free := make(chan struct{}, m.config.Workers)
	var all sync.WaitGroup
	for member := range members {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			rng := rand.New(rand.NewPCG(m.config.Seed, uint64(member)))
			if nets[member], faults[member] = m.design().Build(nn.XavierUniform, rng); faults[member] != nil {
				return
			}
			notify := func(share, loss float64) { progress(member, share, loss) }
			curve, best, err := m.trainMember(ctx, nets[member], w, member, rng, notify)
			if faults[member] = err; err == nil {
				report.Curves[member], report.Epochs[member], report.Loss[member] = curve, best, curve[best-1].Held
			}
		})
	}
	all.Wait()
	for _, err := range faults {
		if err != nil {
			return nil, report, err
		}
	}
	return nets, report, nil
}

// sharedProgress combines the progress of parallel members.
func sharedProgress(members int, report func(share, loss float64)) func(member int, share, loss float64) {
	var lock sync.Mutex
	shares := make([]float64, members)
	return func(member int, share, loss float64) {
		if report == nil {
			return
		}
		lock.Lock()
		defer lock.Unlock()
		shares[member] = share
		sum := 0.0
		for _, s := range shares {
			sum += s
		}
		report(sum/float64(members), loss)
	}
}

// trainMember keeps the weights of the pass, counted from 1, with the lowest held-out loss.
func (m *GRU) trainMember(ctx context.Context, net *nn.Net, w windows, member int, rng *rand.Rand,
	progress func(share, loss float64)) (curve []GRUEpoch, best int, err error) {
	order, held := m.parts(w, member)
	adam := nn.NewAdam(net.Size(), nn.AdamConfig{Rate: float32(m.config.Rate), Decay: float32(m.config.Decay)})
	c, b := net.NewContext(), m.newBatch()
	kept := slices.Clone(net.Params())
	least := math.Inf(1)
	for epoch := 1; epoch <= m.config.Epochs && epoch-best <= m.config.Patience; epoch++ {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		adam.SetRate(float32(m.config.Rate * falling(float64(epoch-1)/float64(m.config.Epochs))))
		sum, known := 0.0, 0.0
		for chunk := range slices.Chunk(order, m.config.Batch) {
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			b.fill(m, w, chunk)
			sum += b.loss(c) * b.known
			known += b.known
			c.Backward(b.dOut, nn.ParamGradients)
			nn.ClipNorm(c.Gradient(), longestGradient)
			adam.Step(net.Params(), c.Gradient())
		}
		latest := m.heldLoss(c, b, w, held)
		if latest < least {
			best, least = epoch, latest
			copy(kept, net.Params())
		}
		curve = append(curve, GRUEpoch{sum / known, latest})
		progress(float64(epoch)/float64(m.config.Epochs), latest)
	}
	if best == 0 {
		return nil, 0, errors.New("training does not converge: the loss is not finite; lower the rate")
	}
	copy(net.Params(), kept)
	progress(1, least)
	return curve, best, nil
}

// falling is a cosine schedule from 1 to a tenth.
func falling(share float64) float64 { return 0.1 + 0.45*(1+math.Cos(math.Pi*share)) }

// heldLoss is the mean pinball loss on held-out windows.
func (m *GRU) heldLoss(c *nn.Context, b *batch, w windows, held []int) float64 {
	sum, n := 0.0, 0.0
	for chunk := range slices.Chunk(held, 256) {
		b.fill(m, w, chunk)
		sum += b.loss(c) * b.known
		n += b.known
	}
	return sum / n
}

// batch is windows side by side, with reused memory.
type batch struct {
	size             int
	sequence, static []float32
	targets          []float32
	missing          []bool
	known            float64 // targets that are present
	dOut             []float32
	levels           []float32
}

func (m *GRU) newBatch() *batch {
	b := &batch{}
	for _, l := range m.task.Levels {
		b.levels = append(b.levels, float32(l))
	}
	return b
}

// resize makes room for so many windows.
func (b *batch) resize(m *GRU, size int) {
	outcomes := size * len(m.task.Horizons)
	b.size, b.known = size, 0
	b.sequence = slices.Grow(b.sequence[:0], size*m.config.Window*m.sequenceWidth())[:size*m.config.Window*m.sequenceWidth()]
	b.static = slices.Grow(b.static[:0], size*m.staticWidth())[:size*m.staticWidth()]
	b.targets = slices.Grow(b.targets[:0], outcomes)[:outcomes]
	b.missing = slices.Grow(b.missing[:0], outcomes)[:outcomes]
	b.dOut = slices.Grow(b.dOut[:0], outcomes*len(b.levels))[:outcomes*len(b.levels)]
}

// fill encodes the windows that end at the given bins.
func (b *batch) fill(m *GRU, w windows, bins []int) {
	b.resize(m, len(bins))
	horizons, static := len(m.task.Horizons), m.staticWidth()
	for s, bin := range bins {
		m.features(&w.tape, bin, b.sequence[s*m.sequenceWidth():], b.static[s*static:][:static], b.size)
		for h, steps := range m.task.Horizons {
			at, value := s*horizons+h, math.NaN()
			if bin+steps < len(w.outcomes) {
				value = w.outcomes[bin+steps][0]
			}
			if b.missing[at] = math.IsNaN(value); b.missing[at] {
				continue
			}
			b.targets[at] = clipped((value - w.tape.target(bin)) / m.scale.Change[h])
			b.known++
		}
	}
}

// loss is the mean pinball loss over the present targets. It sets dOut, which is zero for the
// others.
func (b *batch) loss(c *nn.Context) float64 {
	out := c.Forward(b.size, b.sequence, b.static)
	if int(b.known) == len(b.targets) {
		return float64(nn.Pinball(b.dOut, out, b.targets, b.levels))
	}
	clear(b.dOut)
	sum, n := 0.0, len(b.levels)
	for i, missing := range b.missing {
		if missing {
			continue
		}
		d := b.dOut[i*n:][:n]
		sum += float64(nn.Pinball(d, out[i*n:][:n], b.targets[i:i+1], b.levels))
		for l := range d {
			d[l] /= float32(b.known)
		}
	}
	return sum / max(b.known, 1)
}
