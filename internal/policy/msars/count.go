package msars

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
)

// counter estimates the request rate of each kind. In a cluster the metrics do not always
// distinguish kinds: those that were never counted share the rest of their entry's rate, in the
// proportions of the application's model. It is for one goroutine.
type counter struct {
	app      *loadline.App
	topology *formulation.Topology
	seen     []bool            // by kind: it was counted at least once
	last     []float64         // of those, the last requests per second
	now      []loadline.Sample // by kind
}

func newCounter(app *loadline.App) *counter {
	n := len(app.Kinds)
	return &counter{app: app, topology: formulation.NewTopology(app), seen: make([]bool, n), last: make([]float64, n),
		now: make([]loadline.Sample, n)}
}

// take adds a measurement. A kind that was counted before and is not now is absent, which does
// not mean that its rate is 0.
func (c *counter) take(o *loadline.Observation) {
	for k := range c.now {
		c.now[k] = o.Kinds[k].Rate
		if c.now[k].Present() {
			c.seen[k], c.last[k] = true, c.now[k].Value
		}
	}
	for k := range c.now {
		if !c.seen[k] {
			c.now[k] = c.shared(o, k)
		}
	}
}

// shared is a kind's share of its entry's rate beyond what was counted.
func (c *counter) shared(o *loadline.Observation, kind int) loadline.Sample {
	entry := c.entry(kind)
	rest := o.Services[entry].Rate
	shares := 0.0
	for k, visits := range c.topology.Services[entry].Visits {
		switch {
		case c.seen[k]:
			rest.Value -= visits * c.last[k]
		case c.entry(k) == entry:
			shares += visits * c.app.Kinds[k].Share
		}
	}
	if !rest.Present() || !(shares > 0) {
		return loadline.Sample{}
	}
	rest.Value = max(rest.Value, 0) * c.app.Kinds[kind].Share / shares
	return rest
}

func (c *counter) entry(kind int) int { return c.app.Kinds[kind].Root.Service }

// unknown names the first kind without data; empty if there is none.
func (c *counter) unknown() string {
	for k := range c.now {
		if !c.now[k].Present() {
			return fmt.Sprintf("no request of %s was counted, nor what %s is asked", c.app.Kinds[k].Name, c.app.Services[c.entry(k)].Name)
		}
	}
	return ""
}

// guessed lists, in words, the kinds whose rates are shares of their entries' rates; empty if
// all were counted.
func (c *counter) guessed() string {
	var kinds, entries []string
	for k := range c.seen {
		if c.seen[k] {
			continue
		}
		kinds = append(kinds, c.app.Kinds[k].Name)
		if name := c.app.Services[c.entry(k)].Name; !slices.Contains(entries, name) {
			entries = append(entries, name)
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s by their shares of what %s is asked)", strings.Join(kinds, ", "), strings.Join(entries, ", "))
}

// forget discards the counts.
func (c *counter) forget() { clear(c.seen) }
