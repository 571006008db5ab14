package rl

// Explorer runs an episode of exploring and learning, and counts it. Every Trainee is
// one.
type Explorer interface {
	Explore(e *Episode) error
}

// Explore runs one episode and counts it, without evaluating. The explorer need not be
// the trainee: DRPC's students explore for their teacher. The stream separates its random
// numbers from those of other explorers.
func (t *Training) Explore(x Explorer, stream uint64) error {
	t.rng.Reseed(t.seed, stream+uint64(t.episodes))
	e := &Episode{Rand: t.rng.Rand, training: t}
	if err := x.Explore(e); err != nil {
		return err
	}
	t.episodes++
	t.since.returns += e.sum
	t.since.steps += e.steps
	t.since.episodes++
	if t.run != nil {
		t.run.last = e.sum
	}
	return nil
}
