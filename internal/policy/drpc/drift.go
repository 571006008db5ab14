package drpc

import "github.com/loadline/loadline"

// Mix is the shares of the kinds of requests.
type Mix []float64

// MixOf an observation; nil if no rate was measured.
func MixOf(o *loadline.Observation) Mix {
	m, all := make(Mix, len(o.Kinds)), 0.0
	for k := range o.Kinds {
		m[k] = o.Kinds[k].Rate.Or(0)
		all += m[k]
	}
	if all == 0 {
		return nil
	}
	for k := range m {
		m[k] /= all
	}
	return m
}

// Drift is the share of requests that have moved to another kind since (total variation
// distance): 0 is the same mix, 1 is none in common. It is 0 if either is unknown.
func (m Mix) Drift(since Mix) float64 {
	if len(m) == 0 || len(m) != len(since) {
		return 0
	}
	sum := 0.0
	for k := range m {
		sum += max(m[k]-since[k], since[k]-m[k])
	}
	return sum / 2
}

// Follow moves a mix a share of the way to another: the mix that a teacher has been trained on,
// step by step.
func (m Mix) Follow(to Mix, share float64) Mix {
	if len(m) != len(to) {
		return append(Mix(nil), to...)
	}
	for k := range m {
		m[k] += share * (to[k] - m[k])
	}
	return m
}
