package nn

// MLP describes a plain multilayer perceptron; the zero activations are ReLU
// within and none at the output. With several inputs the first layer sees them
// side by side: a critic of states and actions has two.
type MLP struct {
	Inputs  []int
	Hidden  []int
	Outputs int
	Within  Activation // of hidden layers; ReLU if empty
	Output  Activation
	Norm    bool // layer normalisation before each hidden activation
	Dueling bool // outputs are action values from a value and advantages
}

// Design spells the MLP out in layers.
func (m MLP) Design() Design {
	var d Design
	var from []Node
	for _, width := range m.Inputs {
		from = append(from, d.Input("", width))
	}
	within := m.Within
	if within == Identity {
		within = ReLU
	}
	for _, width := range m.Hidden {
		if m.Norm {
			from = []Node{d.Norm(within, d.Dense(width, Identity, from...))}
		} else {
			from = []Node{d.Dense(width, within, from...)}
		}
	}
	if m.Dueling {
		d.Dueling(d.Dense(m.Outputs+1, Identity, from...))
	} else {
		d.Dense(m.Outputs, m.Output, from...)
	}
	return d
}

// Student is DRPC's per-deployment student as its authors coded it: 5 features
// to 20 with layer normalisation and ReLU, to 20 with ReLU, to 3 with tanh; 643
// parameters.
func Student() Design {
	var d Design
	state := d.Input("state", 5)
	first := d.Norm(ReLU, d.Dense(20, Identity, state))
	d.Dense(3, Tanh, d.Dense(20, ReLU, first))
	return d
}
