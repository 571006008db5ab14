package learned

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
)

// Config of a training. The zero value of each field is the default in brackets.
type Config struct {
	Way     string
	Seed    uint64
	Sight   Sight   // inputs of the network [Whole]
	Hidden  int     // width of the layers [32; of fnn 128]
	Rate    float64 // of Adam at the beginning [2e-3]
	Tasks   int     // in each step [6]
	Batch   int     // samples of each task [12; of meta 20]
	Most    int     // steps, converged or not [12000; of meta 3000]
	Traits  int     // numbers of a service's context, of a GCN [none; of meta 17]
	Workers int     // goroutines; figures do not depend on it [1]

	// Of meta:
	Inner       int     // steps of the inner loop [8]
	InnerRate   float64 // initial rate of them; for fnn and gcn the rate of adapting [0.1, of fnn 0.03]
	ContextRate float64 // initial rate of the context [1]
	Keep        float64 // initial momentum of the inner loop [0.5]
	Early       float64 // weight of the losses before the end of the inner loop; that of the last is 1 [0.2]
	FirstOrder  bool    // omit the second order
}

// WithDefaults replaces zero fields by defaults.
func (c Config) WithDefaults() Config {
	integer := func(v *int, standard int) {
		if *v == 0 {
			*v = standard
		}
	}
	number := func(v *float64, standard float64) {
		if *v == 0 {
			*v = standard
		}
	}
	if c.Sight == "" {
		c.Sight = Whole
	}
	hidden, most, batch, traits, inner := 32, 12000, 12, 0, 0.1
	switch c.Way {
	case "fnn":
		hidden, inner = 128, 0.03
	case "meta":
		most, batch, traits = 3000, 20, 17
	}
	integer(&c.Hidden, hidden)
	integer(&c.Tasks, 6)
	integer(&c.Batch, batch)
	integer(&c.Most, most)
	integer(&c.Workers, 1)
	integer(&c.Inner, 8)
	integer(&c.Traits, traits)
	number(&c.Rate, 2e-3)
	number(&c.InnerRate, inner)
	number(&c.ContextRate, 1)
	number(&c.Keep, 0.5)
	number(&c.Early, 0.2)
	return c
}

// Validate reports every fault.
func (c Config) Validate() error {
	faults := []error{checkWay(c.Way)}
	for _, f := range []struct {
		name         string
		value, least int
	}{{"hidden", c.Hidden, 2}, {"tasks", c.Tasks, 1}, {"batch", c.Batch, 1}, {"most", c.Most, 1}, {"workers", c.Workers, 1},
		{"inner", c.Inner, 1}} {
		if f.value < f.least {
			faults = append(faults, fmt.Errorf("%s is %d, must be at least %d", f.name, f.value, f.least))
		}
	}
	if c.Sight != Whole && c.Sight != Bare {
		faults = append(faults, fmt.Errorf("sight is %q, must be %q or %q", c.Sight, Whole, Bare))
	}
	if !(c.Rate > 0) || !(c.InnerRate > 0) || !(c.ContextRate > 0) {
		faults = append(faults, fmt.Errorf("rates of %v, %v within and %v of the context must be above 0", c.Rate, c.InnerRate,
			c.ContextRate))
	}
	if c.Traits < 0 || c.Traits > 0 && c.Way == "fnn" {
		faults = append(faults, fmt.Errorf("traits is %d, must be from 0 on, and 0 for fnn", c.Traits))
	}
	if !(c.Keep > 0 && c.Keep < 1) || !(c.Early >= 0) {
		faults = append(faults, fmt.Errorf("keep is %v, must be between 0 and 1; early is %v, must be from 0 on", c.Keep, c.Early))
	}
	return errors.Join(faults...)
}

// Point is a network's validation result after some steps of training.
type Point struct {
	Step      int
	Loss      float64 // on the tests of the validation tasks; for meta, after adapting
	Misplaced float64 // part of the slack given to the wrong service
}

const (
	markEvery  = 100
	patience   = 8 // validations without improvement until the rate is halved
	halvings   = 4 // until the training has converged
	betterBy   = 0.002
	clipAt     = 5
	tempoRate  = 0.01 // of Adam, for the tempo of the inner loop
	streamData = 1    // of the seed's random numbers
	streamInit = 2
)

// Train trains a splitter to convergence: the rate is halved whenever the validation loss stops
// improving, and after some halvings the best weights are kept. Of the training tasks, fnn and
// gcn learn from all samples; meta adapts on their training samples and learns from their tests
// (eq. 9), so all use the same data. The same seed gives the same model.
func Train(ctx context.Context, tasks, validation []Task, config Config, progress func(share float64)) (*Model, []Point, error) {
	c := config.WithDefaults()
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	s, err := measureScales(tasks, c.Sight)
	if err != nil {
		return nil, nil, err
	}
	prepared, err := s.prepareTasks(tasks)
	if err != nil {
		return nil, nil, err
	}
	valid, err := s.prepareTasks(validation)
	if err != nil {
		return nil, nil, err
	}
	if len(valid) == 0 {
		return nil, nil, errors.New("there are no validation tasks, which are needed for early stopping")
	}
	net, err := build(c.Way, c.Sight, c.Hidden, c.Traits, rand.New(rand.NewPCG(c.Seed, streamInit)))
	if err != nil {
		return nil, nil, err
	}
	t := trainer{config: c, tasks: prepared, valid: valid, net: net, tempo: newTempo(net.Design(), c),
		rng: rand.New(rand.NewPCG(c.Seed, streamData))}
	for range c.Workers {
		t.learners = append(t.learners, newLearner(c.Way, c.Traits, net.Clone()))
	}
	marks, err := t.run(ctx, progress)
	if err != nil {
		return nil, nil, err
	}
	settings := Settings{Sight: c.Sight, Hidden: c.Hidden, Steps: c.Inner, Rate: c.InnerRate, Traits: c.Traits}
	if c.Way == "meta" {
		settings.Rates, settings.Keep = t.tempo.rates(), t.tempo.keep()
	}
	m := newModel(c.Way, settings, s, net)
	samples := 0
	for _, l := range prepared {
		samples += len(l.train) + len(l.test)
	}
	last := marks[len(marks)-1]
	m.Training = modelfile.Training{Data: fmt.Sprintf("%d tasks", len(tasks)), Samples: samples, Seed: c.Seed}
	m.Results = []modelfile.Result{{Name: "part of the slack misplaced", On: "tasks that were not trained on", Value: last.Misplaced}}
	return m, marks, nil
}

type trainer struct {
	config   Config
	tasks    []*preparedTask
	valid    []*preparedTask
	net      *nn.Net
	tempo    *tempo
	rng      *rand.Rand
	learners []*learner
}

// run trains until converged. The last point is that of the weights that are kept.
func (t *trainer) run(ctx context.Context, progress func(float64)) ([]Point, error) {
	adam := nn.NewAdam(t.net.Size(), nn.AdamConfig{Rate: float32(t.config.Rate)})
	pace := nn.NewAdam(len(t.tempo.free), nn.AdamConfig{Rate: tempoRate})
	best := Point{Loss: math.Inf(1)}
	kept, keptTempo := t.net.Clone(), slices.Clone(t.tempo.free)
	rate, waited, halved := t.config.Rate, 0, 0
	var marks []Point
	for step := 1; step <= t.config.Most; step++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g, slopes, err := t.gradient()
		if err != nil {
			return nil, err
		}
		if nn.Finite(g) && nn.Finite(slopes) {
			nn.ClipNorm(g, clipAt)
			adam.Step(t.net.Params(), g)
			if t.config.Way == "meta" {
				nn.ClipNorm(slopes, clipAt)
				pace.Step(t.tempo.free, slopes)
			}
		}
		if step%markEvery != 0 && step != t.config.Most {
			continue
		}
		m := t.mark(step)
		marks = append(marks, m)
		if waited++; m.Loss < best.Loss*(1-betterBy) {
			waited = 0
		}
		if m.Loss < best.Loss {
			best = m
			copy(kept.Params(), t.net.Params())
			copy(keptTempo, t.tempo.free)
		}
		if waited >= patience {
			if halved++; halved > halvings {
				break
			}
			rate, waited = rate/2, 0
			adam.SetRate(float32(rate))
			copy(t.net.Params(), kept.Params())
			copy(t.tempo.free, keptTempo)
		}
		if progress != nil {
			progress(max(float64(step)/float64(t.config.Most), float64(halved)/(halvings+1)))
		}
	}
	if math.IsInf(best.Loss, 1) {
		return nil, fmt.Errorf("the training of %s diverged: no loss was finite; lower the learning rates", t.config.Way)
	}
	copy(t.net.Params(), kept.Params())
	copy(t.tempo.free, keptTempo)
	return append(marks, best), nil
}

// gradient over some tasks, each on a batch of its own, by the weights and by the tempo of the
// inner loop. Tasks are drawn first, and their gradients summed in order, so that the number of
// workers changes nothing.
func (t *trainer) gradient() (weights, tempo []float32, err error) {
	c := t.config
	type draw struct {
		of      *preparedTask
		batches [][]*example
		test    []*example
		found   []float32
		slopes  []float32 // of the tempo
		err     error
	}
	draws := make([]draw, c.Tasks)
	for i := range draws {
		d := &draws[i]
		d.of = t.tasks[t.rng.IntN(len(t.tasks))]
		if c.Way != "meta" {
			d.batches = [][]*example{t.some(slices.Concat(d.of.train, d.of.test))}
			continue
		}
		for range c.Inner {
			d.batches = append(d.batches, t.some(d.of.train))
		}
		d.test = d.of.test
	}
	along := slices.Repeat([]float32{float32(c.Early)}, c.Inner+1)
	along[c.Inner] = 1
	t.each(len(draws), func(l *learner, i int) {
		d := &draws[i]
		if c.Way != "meta" {
			l.meet(d.of.graph.Nodes())
			_, g := l.gradient(d.of, d.batches[0])
			d.found = append(d.found, g[:t.net.Size()]...)
			return
		}
		in := t.tempo.inner(d.of.graph.Nodes())
		found, err := l.metaGradient(d.of, d.batches, d.test, along, in, c.FirstOrder)
		if d.err = err; err == nil {
			d.found, d.slopes = append(d.found, found.gradient...), t.tempo.slopes(found.rates, found.keep, in)
		}
	})
	weights, tempo = make([]float32, t.net.Size()), make([]float32, len(t.tempo.free))
	share := 1 / float32(len(draws))
	for i := range draws {
		if draws[i].err != nil {
			return nil, nil, draws[i].err
		}
		nn.AddScaled(weights, share, draws[i].found)
		if c.Way == "meta" {
			nn.AddScaled(tempo, share, draws[i].slopes)
		}
	}
	return weights, tempo, nil
}

// some of the examples, drawn without replacement.
func (t *trainer) some(of []*example) []*example {
	n := min(t.config.Batch, len(of))
	list := make([]*example, n)
	for i, at := range t.rng.Perm(len(of))[:n] {
		list[i] = of[at]
	}
	return list
}

// mark evaluates the network on the validation tasks; meta after adapting on their training
// samples.
func (t *trainer) mark(step int) Point {
	losses, parts := make([]float64, len(t.valid)), make([]float64, len(t.valid))
	t.each(len(t.valid), func(l *learner, i int) {
		of := t.valid[i]
		l.meet(of.graph.Nodes())
		if t.config.Way == "meta" {
			batches := make([][]*example, t.config.Inner)
			for k := range batches {
				batches[k] = of.train
			}
			l.descend(of, batches, t.tempo.inner(of.graph.Nodes()))
		}
		losses[i], parts[i] = l.score(of, of.test)
	})
	m := Point{Step: step}
	for i := range losses {
		m.Loss += losses[i] / float64(len(losses))
		m.Misplaced += parts[i] / float64(len(parts))
	}
	return m
}

// each runs n jobs with the learners, whose weights are the network's.
func (t *trainer) each(n int, do func(l *learner, i int)) {
	var group sync.WaitGroup
	for w, l := range t.learners {
		group.Go(func() {
			for i := w; i < n; i += len(t.learners) {
				copy(l.net.Params(), t.net.Params())
				do(l, i)
			}
		})
	}
	group.Wait()
}
