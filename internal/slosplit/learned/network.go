package learned

import (
	"fmt"
	"math/rand/v2"

	"github.com/loadline/loadline/internal/nn"
)

// The networks output one number for each step of a chain; a softmax over the steps turns them
// into parts of the slack, so that shares sum to the budget and none is infeasible for its
// service.
//
// gcn is equations 1 to 7 of MSARS. Deviations:
//   - The last layer sees the node's own features too. Two convolutions over a chain
//     mix each node with its neighbours' neighbours, and what is its own is lost.
//   - There is a hidden layer before the output: with one linear layer the global
//     embedding would add the same to every node, which a softmax cancels.
//   - The output has no ReLU (eq. 7), which can die, but the softmax.
//   - meta gives traits beside each logit, for the context of context.go.
//
// fnn gets the nodes one after the other in a row of fixed length, and no edges.

// fnnMost is the maximum number of services of a chain for an FNN.
const fnnMost = 16

// designOf returns the design of a way's network.
func designOf(way string, sight Sight, hidden, traits int) nn.Design {
	var d nn.Design
	node, global := sight.widths()
	if way == "fnn" {
		all := d.Input("chain", fnnMost*node+global)
		d.Dense(fnnMost, nn.Identity, d.Dense(hidden, nn.ReLU, d.Dense(hidden, nn.ReLU, all)))
		return d
	}
	x := d.Nodes("nodes", node)
	g := d.Input("global", global)
	h := d.GraphConv(hidden, nn.ReLU, d.GraphConv(hidden, nn.ReLU, x)) // eq. 1, 2
	embedding := d.Spread(d.Dense(hidden/2, nn.ReLU, g))               // eq. 4, 5
	combined := d.Dense(hidden, nn.ReLU, h, x, embedding)              // eq. 6
	d.Dense(max(traits, 1), nn.Identity, combined)                     // eq. 7
	return d
}

// build makes a network with seeded weights. Logits begin small, so that the first parts are
// nearly equal.
func build(way string, sight Sight, hidden, traits int, rng *rand.Rand) (*nn.Net, error) {
	net, err := designOf(way, sight, hidden, traits).Build(nn.HeUniform, rng)
	if err != nil {
		return nil, fmt.Errorf("network of %s: %w", way, err)
	}
	tensors := net.Tensors()
	last := tensors[len(tensors)-2].Data
	for i := range last {
		if i%max(traits, 1) == 0 {
			last[i] *= 0.1
		}
	}
	return net, nil
}

// batch is samples of chains of one graph, laid out for a network.
type batch struct {
	flat    bool // for an FNN
	samples int
	steps   int
	traits  int // of a step's context; 0 = none
	graph   *nn.Graph
	first   []float32 // nodes, item by item; or whole chains, sample by sample
	global  []float32 // of a graph
	labels  []float32 // parts, sample by sample
}

// fill copies the samples.
func (b *batch) fill(flat bool, traits int, graph *nn.Graph, of []*example) {
	b.flat, b.samples, b.steps, b.traits, b.graph = flat, len(of), len(of[0].labels), traits, graph
	b.labels = sized(b.labels, b.samples*b.steps)
	for s, e := range of {
		copy(b.labels[s*b.steps:], e.labels)
	}
	node, global := len(of[0].nodes)/b.steps, len(of[0].global)
	if flat {
		width := fnnMost*node + global
		b.first = sized(b.first, b.samples*width)
		clear(b.first)
		for s, e := range of {
			row := b.first[s*width:][:width]
			copy(row, e.nodes)
			copy(row[fnnMost*node:], e.global)
		}
		return
	}
	b.first, b.global = sized(b.first, b.samples*b.steps*node), sized(b.global, b.samples*global)
	for s, e := range of {
		for i := range b.steps {
			copy(b.first[(i*b.samples+s)*node:], e.nodes[i*node:][:node])
		}
		copy(b.global[s*global:], e.global)
	}
}

// at is the index of a step of a sample in the network's output: its logit, followed by its
// traits.
func (b *batch) at(sample, step int) int {
	if b.flat {
		return sample*fnnMost + step
	}
	return (step*b.samples + sample) * max(b.traits, 1)
}

// forward runs the network over the batch.
func (b *batch) forward(c *nn.Context) []float32 {
	if b.flat {
		return c.Forward(b.samples, b.first)
	}
	c.SetGraph(b.graph)
	return c.Forward(b.samples, b.first, b.global)
}
