package learned

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/slosplit"
)

// Subject is what a task is about: one chain of an application in one release.
type Subject struct {
	Releases *ReleaseSet
	Chain    int // index in the order of slosplit.Cut for the unchanged application
	Release  int
	// Profiled is the release of the known profiles: Release itself, or an earlier one until
	// the new one is measured.
	Profiled int
}

// DataConfig is how many samples a task has, and how many are measured. The zero value of each
// field is the default in brackets.
type DataConfig struct {
	Seed    uint64
	Samples int // of a task [60]
	Verify  int // samples of each chain of a release that are measured in the event engine [1; below 0 none]
	Workers int // goroutines; figures do not depend on it [1]
}

// WithDefaults replaces zero fields by defaults; Verify stays 0 if it is below that.
func (c DataConfig) WithDefaults() DataConfig {
	if c.Samples == 0 {
		c.Samples = 60
	}
	if c.Verify == 0 {
		c.Verify = 1
	}
	c.Workers = max(c.Workers, 1)
	return c
}

// Tasks makes the tasks of subjects: for each, instance sizes are drawn once, and loads and
// SLOs for every sample, labelled by parslo. Budgets exceed the SLOs by the factor that was
// measured to be met, once for each chain of a release.
func Tasks(ctx context.Context, subjects []Subject, config DataConfig, progress func(share float64)) ([]Task, error) {
	c := config.WithDefaults()
	progressPart := func(from, to float64) func(float64) {
		return func(share float64) {
			if progress != nil {
				progress(from + (to-from)*share)
			}
		}
	}
	var first []Subject // of each chain of a release
	for _, s := range subjects {
		if !slices.ContainsFunc(first, s.alike) {
			first = append(first, s)
		}
	}
	verified := make([]verdict, len(first))
	if err := c.each(ctx, len(first), progressPart(0, 0.6), func(i int, rng *rand.Rand) (err error) {
		verified[i], err = first[i].verified(ctx, c, rng)
		return err
	}); err != nil {
		return nil, err
	}
	tasks := make([]Task, len(subjects))
	err := c.each(ctx, len(subjects), progressPart(0.6, 1), func(i int, rng *rand.Rand) (err error) {
		of := slices.IndexFunc(first, subjects[i].alike)
		tasks[i], err = subjects[i].task(ctx, c, verified[of].factor, rng)
		if slices.IndexFunc(subjects, subjects[i].alike) == i { // counted once
			tasks[i].Verified, tasks[i].Runs = verified[of].samples, verified[of].runs
		}
		return err
	})
	return tasks, err
}

// each runs n jobs concurrently, each with its own random numbers.
func (c DataConfig) each(ctx context.Context, n int, progress func(float64), do func(i int, rng *rand.Rand) error) error {
	faults := make([]error, n)
	var group sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for w := range c.Workers {
		group.Go(func() {
			for i := w; i < n && ctx.Err() == nil; i += c.Workers {
				faults[i] = do(i, rand.New(rand.NewPCG(c.Seed, uint64(i))))
				mu.Lock()
				done++
				progress(float64(done) / float64(n))
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(faults...)
}

// alike reports whether two subjects have the same chain and release.
func (s Subject) alike(o Subject) bool {
	return s.Releases == o.Releases && s.Chain == o.Chain && s.Release == o.Release
}

// verdict is the event engine's result for a subject's labels.
type verdict struct {
	factor        float64 // by which the budget may exceed the SLO
	samples, runs int
}

func (s Subject) verified(ctx context.Context, c DataConfig, rng *rand.Rand) (verdict, error) {
	v := verdict{factor: 1}
	for range c.Verify {
		d, err := s.Draw(ctx, rng, s.Sizes(rng), verifyRate)
		if err != nil {
			return v, fmt.Errorf("%s: %w", s.Name(), err)
		}
		factor, runs, err := d.verify(ctx)
		if err != nil {
			return v, fmt.Errorf("%s: %w", s.Name(), err)
		}
		// The lowest of several: it was measured to be met by all.
		if v.samples == 0 || factor < v.factor {
			v.factor = factor
		}
		v.samples++
		v.runs += runs
	}
	return v, nil
}

// Name of the subject.
func (s Subject) Name() string {
	name := fmt.Sprintf("%s chain %d release %d", s.Releases.app.Name, s.Chain+1, s.Release+1)
	if s.Profiled != s.Release {
		name += fmt.Sprintf(" seen as %d", s.Profiled+1)
	}
	return name
}

func (s Subject) task(ctx context.Context, c DataConfig, factor float64, rng *rand.Rand) (Task, error) {
	t := Task{Name: s.Name(), Factor: factor}
	sizes := s.Sizes(rng)
	fail := func(err error) (Task, error) { return t, fmt.Errorf("task %s: %w", t.Name, err) }
	var all []Sample
	for range c.Samples {
		d, err := s.Draw(ctx, rng, sizes, math.Inf(1))
		if err != nil {
			return fail(err)
		}
		sample, err := d.Sample(t.Factor)
		if err != nil {
			return fail(err)
		}
		all = append(all, sample)
	}
	cut := int(math.Round(trainShare * float64(len(all))))
	t.Train, t.Test = all[:cut], all[cut:]
	return t, nil
}

// Sizes draws the instance sizes of all services.
func (s Subject) Sizes(rng *rand.Rand) []Choice {
	deployed := s.Releases.Uniform(s.Release)
	for i := range deployed {
		deployed[i].Size = Sizes[rng.IntN(len(Sizes))]
	}
	return deployed
}

// Drawn is a chain under a load and an SLO.
type Drawn struct {
	Chain     slosplit.Chain // its budget is the SLO
	Seen      slosplit.Chain // the same with the known profiles
	releases  *ReleaseSet
	deployed  []Choice
	perSecond []float64
}

// App is the application of the chain, as deployed.
func (d *Drawn) App() *loadline.App { return d.releases.App(d.deployed) }

// PerSecond is the request rate of each kind.
func (d *Drawn) PerSecond() []float64 { return slices.Clone(d.perSecond) }

// Loads are between these parts of what the maximum of instances can serve; SLOs between these
// multiples of the least possible latency.
const (
	loadLeast, loadMost = 0.08, 0.85
	sloLeast, sloMost   = 1.15, 6
	othersMost          = 0.5 // rate of other kinds of requests, relative to the chain's own
)

// Draw draws a load and an SLO for a chain whose instances have these sizes, with at most the
// given requests per second of its kind.
func (s Subject) Draw(ctx context.Context, rng *rand.Rand, deployed []Choice, most float64) (*Drawn, error) {
	kinds := s.Releases.app.Kinds
	d := &Drawn{releases: s.Releases, deployed: deployed, perSecond: make([]float64, len(kinds))}
	shapes, err := s.Releases.shapes()
	if err != nil {
		return nil, err
	}
	if s.Chain >= len(shapes) {
		return nil, fmt.Errorf("%s has %d chains", s.Releases.app.Name, len(shapes))
	}
	like := &shapes[s.Chain]
	for k := range d.perSecond {
		d.perSecond[k] = othersMost * rng.Float64()
	}
	d.perSecond[s.Releases.app.KindIndex(like.Kind)] = 1
	if d.Chain, err = s.Releases.chain(ctx, deployed, d.perSecond, like); err != nil {
		return nil, err
	}
	known := slices.Clone(deployed)
	for i := range known {
		known[i].Release = s.Profiled
	}
	if d.Seen, err = s.Releases.chain(ctx, known, d.perSecond, like); err != nil {
		return nil, err
	}
	rate := min(min(bears(&d.Chain), bears(&d.Seen))*between(rng, loadLeast, loadMost), most)
	for k := range d.perSecond {
		d.perSecond[k] *= rate
	}
	slo := between(rng, sloLeast, sloMost)
	for _, c := range []*slosplit.Chain{&d.Chain, &d.Seen} {
		for i := range c.Steps {
			c.Steps[i].Load *= rate
		}
	}
	d.Chain.Budget = slo * max(slosplit.Least(&d.Chain).Least, slosplit.Least(&d.Seen).Least)
	return d, nil
}

// bears is the factor by which the load can grow until some step reaches its maximum of
// instances.
func bears(c *slosplit.Chain) float64 {
	most := math.Inf(1)
	for i := range c.Steps {
		s := &c.Steps[i]
		most = min(most, float64(s.Max)*s.Curve.MaxLoad()/s.Load)
	}
	return most
}

// between draws a number between two, uniform in the logarithm.
func between(rng *rand.Rand, least, most float64) float64 {
	return least * math.Exp(rng.Float64()*math.Log(most/least))
}

// Sample is the chain as known, labelled at the SLO times a factor.
func (d *Drawn) Sample(factor float64) (Sample, error) {
	c, seen := d.Chain, d.Seen
	c.Budget = max(c.Budget*factor, 1.02*max(slosplit.Least(&c).Least, slosplit.Least(&seen).Least))
	seen.Budget = c.Budget
	shares, err := Label(&c)
	return Sample{seen, shares}, err
}
