package learned

import (
	"fmt"
	"math"

	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/slosplit"
)

// curveParts are where a profile is sampled, relative to the load at which it ends.
var curveParts = []float64{0.1, 0.35, 0.55, 0.7, 0.85, 1}

// Sight is the set of a network's inputs.
type Sight string

// The sights.
const (
	// Whole is the default: of each service its visits, load and cost, and its whole profile;
	// of the chain its budget and its slack.
	Whole Sight = "whole"
	// Bare is that of MSARS: of each service two parameters of its profile, the latency without
	// load and the saturation load; of the chain its budget.
	Bare Sight = "bare"
)

// Features of a node and of a chain, all as logarithms: ratios matter, and doubling a speed
// moves a feature by the same amount anywhere.
var (
	wholeNode = append([]string{
		"visits",        // of one request
		"load/end",      // over the load at which the profile ends: the fewest instances that serve it
		"cost",          // of an instance
		"fastest/slack", // time of its visits with the maximum of instances, over the slack
	}, curveNames()...)
	wholeGlobal = []string{"budget", "slack/budget", "services"}
	bareNode    = []string{"p1", "p2"}
	bareGlobal  = []string{"budget"}
)

func curveNames() []string {
	var names []string
	for _, part := range curveParts {
		names = append(names, fmt.Sprintf("latency@%g", part))
	}
	return names
}

// names of the features of a node and of a chain.
func (s Sight) names() (node, global []string) {
	if s == Bare {
		return bareNode, bareGlobal
	}
	return wholeNode, wholeGlobal
}

// widths are the numbers of features of a node and of a chain.
func (s Sight) widths() (node, global int) {
	n, g := s.names()
	return len(n), len(g)
}

// features of both, as a model file lists them.
func (s Sight) features() []string {
	n, g := s.names()
	return append(append([]string{}, n...), g...)
}

// view is a chain as input of a network.
type view struct {
	sight  Sight
	nodes  []float32 // features, step by step
	global []float32
	least  []float64 // seconds of one visit with the maximum of instances, by step
	slack  float64   // seconds of the budget left to divide
}

// leastLog keeps logarithms finite: a microsecond, or a millionth of anything else.
const leastLog = 1e-6

func log(v float64) float32 { return float32(math.Log(max(v, leastLog))) }

// look encodes a chain. Infeasible chains, and services without a profile, are errors, the same
// as parslo's.
func (v *view) look(c *slosplit.Chain) error {
	if err := c.Validate(); err != nil {
		return err
	}
	n := len(c.Steps)
	width, global := v.sight.widths()
	v.nodes, v.global, v.least = sized(v.nodes, n*width), sized(v.global, global), sized(v.least, n)
	v.slack = c.Budget
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Curve == nil {
			return fmt.Errorf("chain of %s: %w of %s: measure one with loadline profile, or split it evenly or proportionally", c.Kind,
				profile.ErrAbsent, s.Name)
		}
		v.least[i] = s.LatencyWith(s.Fastest())
		v.slack -= s.Visits * v.least[i]
	}
	if !(v.slack >= -1e-9*c.Budget) {
		return slosplit.Least(c)
	}
	v.slack = max(v.slack, 0)
	for i := range c.Steps {
		v.node(v.nodes[i*width:][:width], &c.Steps[i], i)
	}
	v.global[0] = log(c.Budget)
	if v.sight != Bare {
		v.global[1], v.global[2] = log(v.slack/c.Budget), log(float64(n))
	}
	return nil
}

// node sets the features of a step.
func (v *view) node(x []float32, s *slosplit.Step, i int) {
	if v.sight == Bare {
		x[0], x[1] = parameters(s.Curve)
		return
	}
	x[0], x[1], x[2] = log(s.Visits), log(s.Load/s.Curve.MaxLoad()), log(s.Cost)
	x[3] = log(s.Visits * v.least[i] / max(v.slack, leastLog))
	for j, part := range curveParts {
		x[4+j] = log(s.Curve.At(part * s.Curve.MaxLoad()))
	}
}

// parameters of a profile: latency = p1/(1 - load/p2), so 1/latency is a straight line over the
// load, which is fitted by least squares. A profile that does not rise has no p2; a hundred
// times the highest measured load is used.
func parameters(c *profile.Curve) (p1, p2 float32) {
	var n, x, y, xx, xy float64
	for i, load := range c.Loads {
		inverse := 1 / max(c.Latencies[i], leastLog)
		n, x, y, xx, xy = n+1, x+load, y+inverse, xx+load*load, xy+load*inverse
	}
	far := 100 * c.MaxLoad()
	spread := n*xx - x*x
	if !(spread > 0) {
		return log(c.Least()), log(far)
	}
	slope := (n*xy - x*y) / spread
	start := (y - slope*x) / n
	if !(slope < 0) || !(start > 0) {
		return log(c.Least()), log(far)
	}
	return log(1 / start), log(min(-start/slope, far))
}

// shares from the parts of the slack that each step's visits get.
func (v *view) shares(c *slosplit.Chain, parts []float64) slosplit.Shares {
	shares := make(slosplit.Shares, len(parts))
	for i, part := range parts {
		shares[i] = v.least[i] + part*v.slack/c.Steps[i].Visits
	}
	return shares
}

// parts of the slack from shares: the inverse. False if there is no slack to divide.
func (v *view) parts(c *slosplit.Chain, shares slosplit.Shares) ([]float64, bool) {
	sum := 0.0
	parts := make([]float64, len(shares))
	for i, share := range shares {
		parts[i] = max(c.Steps[i].Visits*(share-v.least[i]), 0)
		sum += parts[i]
	}
	if !(sum > leastLog*c.Budget) {
		return nil, false
	}
	for i := range parts {
		parts[i] /= sum
	}
	return parts, true
}

// calls are the edges of a chain's graph. Without caller information it is a path.
func calls(c *slosplit.Chain) [][2]int {
	if len(c.Calls) > 0 || len(c.Steps) < 2 {
		return c.Calls
	}
	line := make([][2]int, len(c.Steps)-1)
	for i := range line {
		line[i] = [2]int{i, i + 1}
	}
	return line
}

// sized is a slice of n values, reusing the memory of another if it is large enough.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
