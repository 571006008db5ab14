package papers

import (
	"context"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/slosplit/learned"
)

// msarsMethods in the order of the tables.
var msarsMethods = []string{"meta", "gcn", "fnn"}

// gcnContext is a converged GCN with meta's other feature: a context of each service. It shows
// how much of meta's advantage comes from the architecture; it is not part of the claims.
const gcnContext = "gcn+context"

// msarsAll are all methods that are run on streams.
var msarsAll = append(slices.Clone(msarsMethods), gcnContext)

// msarsStage is the environment of MSARS' allocator: Sock Shop in releases, and applications
// with held-out chains.
type msarsStage struct {
	shop, book, boutique *learned.ReleaseSet
	few                  bool
	profiles             *profile.Set // of the controlled application, once measured
}

func newMSARSStage(few bool) (*msarsStage, error) {
	s := &msarsStage{few: few}
	for name, setup := range map[string]**learned.ReleaseSet{"sockshop": &s.shop, "bookinfo": &s.book, "boutique": &s.boutique} {
		var err error
		if *setup, err = learned.ReleaseSetOf(name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Held-out releases: settings are chosen on the first two.
const (
	tuneRelease = learned.ShopReleases
	testRelease = learned.ShopReleases + 2
)

// trainedSplitters are the splitters of one seed: each method trained on tasks with true
// profiles, and on those together with tasks that show the profiles of other releases. meta has
// only the latter, a GCN with a context only the former.
type trainedSplitters struct {
	plain, both map[string]*learned.Model
	took        map[string]time.Duration // to train, by method
}

func (c *trainedSplitters) model(method string, how manner) *learned.Model {
	if how.late {
		return c.both[method]
	}
	return c.plain[method]
}

// teach trains the splitters of one seed.
func (s *msarsStage) teach(ctx context.Context, o Options, seed uint64, progress func(share float64)) (*trainedSplitters, error) {
	desired := Options{Progress: progress}
	subjects := func(list []learned.Subject) []learned.Subject {
		if s.few { // two chains of three releases
			var some []learned.Subject
			for _, x := range list {
				if x.Chain < 2 && x.Release%5 == 0 && !slices.ContainsFunc(some,
					func(y learned.Subject) bool { return y.Chain == x.Chain && y.Release == x.Release }) {
					some = append(some, x)
				}
			}
			return some
		}
		return list
	}
	config := learned.DataConfig{Seed: seed}
	if s.few {
		config.Samples, config.Verify = 8, -1
	}
	gathered := 0.0
	gather := func(list []learned.Subject) ([]learned.Task, error) {
		from := gathered
		gathered += 0.1
		return learned.Tasks(ctx, subjects(list), config, desired.part(from, gathered).Progress)
	}
	train, err := gather(learned.ShopSubjects(s.shop, false))
	if err != nil {
		return nil, err
	}
	late, err := gather(learned.ShopSubjects(s.shop, true))
	if err != nil {
		return nil, err
	}
	valid, err := gather(learned.ShopValidation(s.shop, false))
	if err != nil {
		return nil, err
	}
	lateValid, err := gather(learned.ShopValidation(s.shop, true))
	if err != nil {
		return nil, err
	}
	c := &trainedSplitters{map[string]*learned.Model{}, map[string]*learned.Model{}, map[string]time.Duration{}}
	for _, method := range msarsMethods {
		settings := learned.Config{Way: method, Seed: seed, Most: o.Steps}
		began := o.now()
		if c.both[method], _, err = learned.Train(ctx, append(append([]learned.Task{}, train...), late...),
			append(append([]learned.Task{}, valid...), lateValid...), settings, desired.part(0.4, 0.95).Progress); err != nil {
			return nil, err
		}
		c.took[method] = o.now().Sub(began)
		if method == "meta" {
			continue // it learns to adapt to what its inputs do not show
		}
		if c.plain[method], _, err = learned.Train(ctx, train, valid, settings, nil); err != nil {
			return nil, err
		}
	}
	like := learned.Config{Way: "gcn", Seed: seed, Most: o.Steps, Traits: learned.Config{Way: "meta"}.WithDefaults().Traits}
	c.plain[gcnContext], _, err = learned.Train(ctx, train, valid, like, nil)
	return c, err
}

// now is the clock; without one, time is constant.
func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Time{}
	}
	return o.Now()
}

// chains is the number of chains of the streams.
func (s *msarsStage) chains() int {
	if s.few {
		return 1
	}
	return learned.ShopChains
}

// jumps of one chain: a release with its own profiles, then two others, each of which changes
// the profiles; late means that the change is not visible.
func (s *msarsStage) jumps(ctx context.Context, chain, from, slots int, late bool, seed uint64) ([]*stretch, error) {
	var list []*stretch
	for i := range 3 {
		of := learned.Subject{Releases: s.shop, Chain: chain, Release: from + i, Profiled: from + i}
		if late && i > 0 {
			of.Profiled--
		}
		one, err := newStretch(ctx, of, slots, seed+uint64(i))
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// msarsPaces are a method's candidate optimisers; those with a context have rates for it, and
// meta its own inner loop instead of plain descent.
func msarsPaces(method string) []learned.Optimiser {
	list := []learned.Optimiser{{Rate: 0.1}, {Rate: 0.3}, {Rate: 0.5}}
	if method == "meta" {
		list = []learned.Optimiser{{Own: true, Rate: 0.5}, {Own: true, Rate: 1}, {Own: true, Rate: 2}}
	}
	for _, rate := range []float64{3e-3, 1e-2, 2e-2} {
		list = append(list, learned.Optimiser{Adam: true, Rate: rate})
	}
	if method != "meta" && method != gcnContext {
		for _, rate := range []float64{3e-3, 1e-2, 2e-2, 4e-2} {
			list = append(list, learned.Optimiser{Adam: true, Rate: rate, Ease: paceEase})
		}
		return list
	}
	for _, context := range []float64{0.02, 0.05, 0.1} {
		list = append(list, learned.Optimiser{Adam: true, Rate: 1e-2, Context: context, Ease: paceEase})
	}
	return append(list, learned.Optimiser{Adam: true, Rate: 2e-2, Context: 0.05, Ease: paceEase})
}

const (
	paceEase  = 20 // slots
	tuneDraws = 3  // streams of each chain to choose on: with one, the choice is random
)

// tune chooses each method's manner: the one that recovers in the fewest steps on jumps to
// releases used for nothing else. The target level is the same for all of them, that of the
// evaluated methods.
func (s *msarsStage) tune(ctx context.Context, o Options, c *trainedSplitters, seed uint64) (map[string]manner, error) {
	type candidate struct {
		method string
		how    manner
		curves [][][]float64 // by stream
	}
	var list []*candidate
	for _, method := range msarsAll {
		for _, late := range []bool{true, false} {
			if late && c.both[method] == nil || !late && c.plain[method] == nil {
				continue
			}
			for _, reset := range []bool{true, false} {
				for _, pace := range msarsPaces(method) {
					list = append(list, &candidate{method: method, how: manner{late, reset, pace}})
				}
			}
		}
	}
	var streams [][]*stretch
	draws := tuneDraws
	if s.few {
		draws = 1
	}
	for draw := range uint64(draws) {
		for chain := range s.chains() {
			// The first of three was trained on.
			jumps, err := s.jumps(ctx, chain, tuneRelease-1, o.slots(), true, seed+100*draw)
			if err != nil {
				return nil, err
			}
			streams = append(streams, jumps)
		}
	}
	err := o.each(ctx, len(list), func(i int) error {
		for _, stretches := range streams {
			curves, err := follow(c.model(list[i].method, list[i].how), list[i].how, stretches)
			if err != nil {
				return err
			}
			list[i].curves = append(list[i].curves, curves)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	best, chosen := map[string]float64{}, map[string]manner{}
	var targets [][]float64
	for stream := range streams {
		var all [][][]float64
		for _, x := range list {
			if slices.Contains(msarsMethods, x.method) {
				all = append(all, x.curves[stream])
			}
		}
		targets = append(targets, levels(ways[len(ways)-1], all...))
	}
	for _, x := range list {
		sum := 0.0
		for stream := range streams {
			for i := 1; i < len(targets[stream]); i++ {
				sum += recoversAfter(x.curves[stream][i], targets[stream][i])
			}
		}
		if known, ok := best[x.method]; !ok || sum < known {
			best[x.method], chosen[x.method] = sum, x.how
		}
	}
	return chosen, nil
}
