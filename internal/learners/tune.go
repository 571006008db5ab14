package learners

import (
	"context"
	"math"
)

// Best of several trainings is the one with the highest yardstick; of equals, the
// first.
func Best(tried []*Trained) *Trained {
	var best *Trained
	for _, t := range tried {
		if y := float64(t.Yardstick); best == nil || y > float64(best.Yardstick) || math.IsNaN(float64(best.Yardstick)) && !math.IsNaN(y) {
			best = t
		}
	}
	return best
}

// Tune trains with every setting and gives out the best. Those who tune the same at
// the same time begin at different settings (from), and wait for each other's: the
// work is shared.
func (f *Folder) Tune(ctx context.Context, t Task, from int, progress func(share float64)) (*Trained, error) {
	settings := Settings()
	n := len(settings)
	tried := make([]*Trained, n)
	for i := range n {
		at := (from + i) % n
		one := t
		one.Setting = settings[at]
		var err error
		if tried[at], err = f.Train(ctx, one, part(progress, float64(i)/float64(n), float64(i+1)/float64(n))); err != nil {
			return nil, err
		}
	}
	return Best(tried), nil
}

// TuneAndTrain chooses a setting with one seed, and trains with it on another.
func (f *Folder) TuneAndTrain(ctx context.Context, t Task, tuning uint64, from int, progress func(share float64)) (*Trained, error) {
	first := t
	first.Seed = tuning
	share := float64(len(Settings())) / float64(len(Settings())+1)
	best, err := f.Tune(ctx, first, from, part(progress, 0, share))
	if err != nil {
		return nil, err
	}
	t.Setting = best.Setting
	return f.Train(ctx, t, part(progress, share, 1))
}

// part of the work, told as a share of the whole.
func part(tell func(float64), from, to float64) func(float64) {
	if tell == nil {
		return nil
	}
	return func(share float64) { tell(from + (to-from)*share) }
}
