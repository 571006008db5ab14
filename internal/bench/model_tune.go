package bench

import (
	"context"
	"math"

	"github.com/loadline/loadline/internal/policy"
)

// BestTrained of several trainings of one method is the one with the highest score; of equals,
// the first.
func BestTrained(tried []*Trained) *Trained {
	var best *Trained
	for _, t := range tried {
		if y := float64(t.Score); best == nil || y > float64(best.Score) || math.IsNaN(float64(best.Score)) && !math.IsNaN(y) {
			best = t
		}
	}
	return best
}

// Tune trains with every setting and returns the best. Callers that tune the same task at the
// same time begin at different settings (from) and wait for each other's, so that the work is
// shared.
func (f *ModelFolder) Tune(ctx context.Context, t TrainingTask, from int, progress func(share float64)) (*Trained, error) {
	settings := TrainingSettings()
	n := len(settings)
	tried := make([]*Trained, n)
	for i := range n {
		at := (from + i) % n
		one := t
		one.Setting = settings[at]
		var err error
		if tried[at], err = f.Train(ctx, one, policy.Part(progress, float64(i)/float64(n), float64(i+1)/float64(n))); err != nil {
			return nil, err
		}
	}
	return BestTrained(tried), nil
}

// TuneAndTrain chooses a setting with one seed, and trains with it on another.
func (f *ModelFolder) TuneAndTrain(ctx context.Context, t TrainingTask, tuning uint64, from int,
	progress func(share float64)) (*Trained, error) {
	first := t
	first.Seed = tuning
	share := float64(len(TrainingSettings())) / float64(len(TrainingSettings())+1)
	best, err := f.Tune(ctx, first, from, policy.Part(progress, 0, share))
	if err != nil {
		return nil, err
	}
	t.Setting = best.Setting
	return f.Train(ctx, t, policy.Part(progress, share, 1))
}
