package workload

import (
	"math"
	"math/rand/v2"
	"time"
)

// mixStep is the shortest interval between changes of a drifting mix: shares move over hours.
const mixStep = time.Minute

// driftingMix makes the shares of mix:query=70..30,buy=30..70: from the first to the second
// over the whole workload, or there and back in each period, each share multiplied by a random
// walk of its own if there is drift.
func driftingMix(p part, duration, step time.Duration, rng *rand.Rand) *Mix {
	m := &Mix{Step: max(mixStep, step)}
	walks := make([]func(time.Duration) float64, len(p.shares))
	for i, s := range p.shares {
		m.Kinds = append(m.Kinds, s.kind)
		own := rand.New(rand.NewPCG(rng.Uint64(), uint64(i)))
		walks[i] = lognormalWalk(p.settings["drift"], p.settings.duration("corr"), own)
	}
	still := p.settings["drift"] == 0
	for _, s := range p.shares {
		still = still && s.from == s.to
	}
	if still {
		m.Step = duration
	}
	period := p.settings.duration("period")
	for at := time.Duration(0); at < duration; at += m.Step {
		middle := min(at+m.Step/2, duration)
		moved := float64(middle) / float64(duration)
		if period > 0 {
			moved = (1 - math.Cos(2*math.Pi*float64(middle)/float64(period))) / 2
		}
		for i, s := range p.shares {
			m.Shares = append(m.Shares, (s.from+moved*(s.to-s.from))*walks[i](m.Step))
		}
	}
	return m
}
