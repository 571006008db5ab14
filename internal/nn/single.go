package nn

import "slices"

// A policy acts on one observation at a time. Looking up layers and shapes would then cost more
// than the arithmetic, so a context that gets two batches of one in a row prepares a list of
// steps on fixed memory, and runs that until a larger batch comes. A context that alternates
// between acting and training never prepares, and so never allocates: use one context for each.

// preparable is a layer with a faster way for one row.
type preparable interface {
	single(c *Context) func()
}

// single runs a batch of one from prepared steps, if there are any.
func (c *Context) single(inputs [][]float32) bool {
	if c.steps == nil {
		return false
	}
	if len(inputs) != len(c.net.inputs) {
		c.bind(1, inputs) // panics with the reason
	}
	for i, n := range c.net.inputs {
		own := c.values[n].y
		if len(inputs[i]) != len(own) {
			c.bind(1, inputs)
		}
		copy(own, inputs[i])
	}
	for _, step := range c.steps {
		step()
	}
	return true
}

// countSingles is called after every Forward that was not run from prepared steps.
func (c *Context) countSingles() {
	c.steps = nil
	if c.batch > 1 || slices.Contains(c.net.axes, perItem) {
		c.singles = 0
		return
	}
	if c.singles++; c.singles < 2 {
		return
	}
	for _, n := range c.net.inputs {
		c.values[n].y = slices.Clone(c.values[n].y)
	}
	for _, l := range c.net.layers {
		switch l := l.(type) {
		case nil:
		case preparable:
			c.steps = append(c.steps, l.single(c))
		default:
			c.steps = append(c.steps, func() { l.forward(c) })
		}
	}
}
