package rl

import "math/rand/v2"

// RNG is a seeded random number generator whose state can be saved. Agents
// take a seed rather than a *rand.Rand for that reason.
type RNG struct {
	*rand.Rand
	source *rand.PCG
}

// NewRNG returns the same numbers for the same seed and stream. Streams of one seed, and
// of neighbouring seeds, are independent.
func NewRNG(seed, stream uint64) *RNG {
	source := rand.NewPCG(0, 0)
	c := &RNG{rand.New(source), source}
	c.Reseed(seed, stream)
	return c
}

// Reseed resets it to the state of NewRNG.
func (c *RNG) Reseed(seed, stream uint64) {
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
func (c *RNG) Archive(a *Archive) {
	state, err := c.source.MarshalBinary()
	a.Fail(err)
	a.Bytes(&state)
	if a.Restoring() && a.Err() == nil {
		a.Fail(c.source.UnmarshalBinary(state))
	}
}
