package event

import (
	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// call is one node of a compiled call tree.
type call struct {
	service   int32
	kind      int32
	times     int32
	edge      int32 // from its caller; none = a user's request
	optional  bool
	always    bool    // probability 1 and any version of the caller
	retries   uint8   // attempts after the first one
	deadlines int32   // index into Engine.deadlines; none = no time-out
	prob      float64 // of being made
	work      float64
	versions  uint64 // bit set of the caller's versions that make it; 0 = all
	stages    []span
	backoff   float64 // ns, the base of its retries' back-off
}

// span is one stage: calls[from:to] in parallel.
type span struct{ from, to int32 }

// compile lays all call trees out in one slice, the calls of a stage side by
// side, and returns the root of each kind and the calls' deadlines.
func compile(app *loadline.App, edges []sim.Edge) (calls []call, roots []int32, waits []deadlines) {
	var children func(at int32, c *loadline.Call, kind int32)
	node := func(c *loadline.Call, kind int32) call {
		n := call{service: int32(c.Service), kind: kind, times: int32(max(c.Times, 1)), edge: none, optional: c.Optional,
			prob: c.Probability, work: c.Work, deadlines: none, retries: uint8(c.Retries.Attempts),
			backoff: float64(c.Retries.Backoff)}
		for _, v := range c.Versions {
			n.versions |= 1 << v
		}
		n.always = n.prob >= 1 && n.versions == 0
		if c.Timeout > 0 {
			n.deadlines = int32(len(waits))
			waits = append(waits, deadlines{timeout: int64(c.Timeout)})
		}
		return n
	}
	children = func(at int32, c *loadline.Call, kind int32) {
		var spans []span
		for _, stage := range c.Stages {
			from := int32(len(calls))
			for i := range stage {
				n := node(&stage[i], kind)
				n.edge = int32(sim.EdgeIndex(edges, sim.Edge{From: c.Service, To: stage[i].Service}))
				calls = append(calls, n)
			}
			spans = append(spans, span{from, int32(len(calls))})
			for i := range stage {
				children(from+int32(i), &stage[i], kind)
			}
		}
		calls[at].stages = spans
	}
	for k := range app.Kinds {
		at := int32(len(calls))
		root := app.Kinds[k].Root
		root.Timeout, root.Retries = app.Kinds[k].Timeout, app.Kinds[k].Retries
		calls = append(calls, node(&root, int32(k)))
		roots = append(roots, at)
		children(at, &root, int32(k))
	}
	return calls, roots, waits
}
