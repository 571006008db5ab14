package rl

import "math/rand/v2"

// Chance is a seeded source of random numbers whose state can be saved. Agents
// take a seed rather than a *rand.Rand for that reason.
type Chance struct {
	*rand.Rand
	source *rand.PCG
}

// NewChance gives the same numbers for the same seed and stream. Streams of one
// seed, and seeds that differ by one, have nothing to do with each other.
func NewChance(seed, stream uint64) *Chance {
	source := rand.NewPCG(0, 0)
	c := &Chance{rand.New(source), source}
	c.Restart(seed, stream)
	return c
}

// Restart makes it as NewChance would.
func (c *Chance) Restart(seed, stream uint64) {
	c.source.Seed(scramble(seed), scramble(scramble(seed)+stream))
}

// scramble is a step of SplitMix64 (Steele, Lea and Flood, 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Archive saves or restores the state.
func (c *Chance) Archive(a *Archive) {
	state, err := c.source.MarshalBinary()
	a.Fail(err)
	a.Bytes(&state)
	if a.Restoring() && a.Err() == nil {
		a.Fail(c.source.UnmarshalBinary(state))
	}
}
