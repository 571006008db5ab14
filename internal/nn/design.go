package nn

// Kind names a layer; it is what a model file stores.
type Kind string

// The kinds of layers.
const (
	KindInput      Kind = "input"      // one row per sample
	KindSequence   Kind = "sequence"   // one row per sample and time step
	KindNodes      Kind = "nodes"      // one row per sample and graph node
	KindDense      Kind = "dense"      // activation(x*W + b)
	KindNorm       Kind = "norm"       // layer normalisation
	KindGRU        Kind = "gru"        // gated recurrent unit over a sequence
	KindLast       Kind = "last"       // a sequence's last step
	KindNeighbours Kind = "neighbours" // normalised adjacency times node features
	KindSpread     Kind = "spread"     // a sample's row repeated for each of its items
	KindDueling    Kind = "dueling"    // value and advantages to action values
	KindSoftmax    Kind = "softmax"
)

// Node refers to a layer of a Design.
type Node int

// Layer is one step of a Design. From refers to earlier layers only.
type Layer struct {
	Kind       Kind       `json:"kind"`
	Name       string     `json:"name,omitempty"` // of inputs
	Width      int        `json:"width"`          // values per row
	Activation Activation `json:"activation,omitempty"`
	From       []Node     `json:"from,omitempty"`
}

// Design is the architecture of a network, without weights: layers in the order
// they are computed, the last of which is the output. It is plain data, for
// model files; the methods append to it.
type Design struct {
	Layers []Layer `json:"layers"`
}

func (d *Design) add(l Layer) Node {
	d.Layers = append(d.Layers, l)
	return Node(len(d.Layers) - 1)
}

// width is 0 for a node that does not exist; Build reports it.
func (d *Design) width(n Node) int {
	if n < 0 || int(n) >= len(d.Layers) {
		return 0
	}
	return d.Layers[n].Width
}

// Input declares an input of one row per sample. Forward takes inputs in the
// order of their declaration.
func (d *Design) Input(name string, width int) Node {
	return d.add(Layer{Kind: KindInput, Name: name, Width: width})
}

// Sequence declares an input of one row per time step and sample.
func (d *Design) Sequence(name string, width int) Node {
	return d.add(Layer{Kind: KindSequence, Name: name, Width: width})
}

// Nodes declares an input of one row per graph node and sample.
func (d *Design) Nodes(name string, width int) Node {
	return d.add(Layer{Kind: KindNodes, Name: name, Width: width})
}

// Dense is a fully connected layer over the concatenation of its inputs.
func (d *Design) Dense(width int, a Activation, from ...Node) Node {
	return d.add(Layer{Kind: KindDense, Width: width, Activation: a, From: from})
}

// Norm normalises each row, then scales and shifts it by learned weights.
func (d *Design) Norm(a Activation, from Node) Node {
	return d.add(Layer{Kind: KindNorm, Width: d.width(from), Activation: a, From: []Node{from}})
}

// GRU reads a sequence from a zero state and outputs its state at every step.
func (d *Design) GRU(hidden int, sequence Node) Node {
	return d.add(Layer{Kind: KindGRU, Width: hidden, From: []Node{sequence}})
}

// Last is the last step of a sequence.
func (d *Design) Last(sequence Node) Node {
	return d.add(Layer{Kind: KindLast, Width: d.width(sequence), From: []Node{sequence}})
}

// GraphConv is a graph convolution (Kipf and Welling, 2017): features mixed
// among neighbours, then a dense layer shared by all nodes.
func (d *Design) GraphConv(width int, a Activation, nodes Node) Node {
	mixed := d.add(Layer{Kind: KindNeighbours, Width: d.width(nodes), From: []Node{nodes}})
	return d.Dense(width, a, mixed)
}

// Spread repeats a sample's row for each of its nodes or time steps.
func (d *Design) Spread(from Node) Node {
	return d.add(Layer{Kind: KindSpread, Width: d.width(from), From: []Node{from}})
}

// Dueling turns one value followed by advantages into action values,
// Q = V + A - mean(A) (Wang et al., 2016, eq. 9).
func (d *Design) Dueling(from Node) Node {
	return d.add(Layer{Kind: KindDueling, Width: d.width(from) - 1, From: []Node{from}})
}

// Softmax turns each row into probabilities.
func (d *Design) Softmax(from Node) Node {
	return d.add(Layer{Kind: KindSoftmax, Width: d.width(from), From: []Node{from}})
}
