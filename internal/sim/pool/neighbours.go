package pool

import "time"

// Others are everything on a node that is not the application.
type Others struct {
	Want    float64 // cores that they would use if they had them
	Request Amount  // their weight, and room that pods do not have
	Memory  int64   // bytes in use
}

// On is what neighbours want at an instant on a node that offers the given amount.
func (n Neighbours) On(offered Amount, at time.Duration) Others {
	return Others{
		Want:    n.Use * n.Shape.At(at) * offered.Cores,
		Request: Amount{n.Request * offered.Cores, int64(n.Memory * float64(offered.Memory))},
		Memory:  int64(n.Memory * float64(offered.Memory)),
	}
}

// At is the factor at an instant.
func (s Shape) At(at time.Duration) float64 {
	if len(s.Factor) == 0 || s.Step <= 0 {
		return 1
	}
	return s.Factor[int(at/s.Step)%len(s.Factor)]
}

// What neighbours are like where nothing is said of it.
const (
	// DefaultVary is the median over 14 production machines of the deviation from the hour's
	// mean (docs/cluster.md).
	DefaultVary        = 0.2
	DefaultBurst       = 20 * time.Millisecond
	DefaultPodsPerCore = 4
)

// WithDefaults returns the neighbours with zero fields filled in.
func (n Neighbours) WithDefaults() Neighbours {
	if n.Vary == 0 {
		n.Vary = DefaultVary
	}
	if n.Burst == 0 {
		n.Burst = DefaultBurst
	}
	if n.PodsPerCore == 0 {
		n.PodsPerCore = DefaultPodsPerCore
	}
	return n
}
