package nn

import (
	"errors"
	"testing"
)

// specimen is a design with a batch to run it on.
type specimen struct {
	name         string
	design       Design
	batch, items int
	graph        *Graph
	inputs       [][]float32
	net          *Net
}

func specimens(t *testing.T) []specimen {
	chain, err := NewGraph(5, [][2]int{{0, 1}, {1, 2}, {1, 3}, {3, 4}})
	if err != nil {
		t.Fatal(err)
	}
	var sequence, stacked, gcn, shared Design
	sequence.Dense(3, Identity, sequence.Last(sequence.GRU(6, sequence.Sequence("window", 2))))
	stacked.Dense(2, Tanh, stacked.GRU(5, stacked.GRU(4, stacked.Sequence("window", 3))))

	features, slo := gcn.Nodes("profile", 3), gcn.Input("slo", 2)
	h := gcn.GraphConv(7, ReLU, gcn.GraphConv(6, Tanh, features))
	gcn.Dense(1, Sigmoid, h, gcn.Spread(gcn.Dense(4, ReLU, slo)))

	// One node with three readers: its gradients must add up.
	x := shared.Dense(4, Tanh, shared.Input("x", 3))
	n := shared.Norm(Tanh, x)
	s := shared.Softmax(x)
	shared.Softmax(shared.Dense(3, Identity, x, n, s))

	// Maps without weights that share an input.
	var maps, twice Design
	node, global := maps.Dense(4, Tanh, maps.Nodes("n", 3)), maps.Dense(3, Tanh, maps.Input("g", 2))
	maps.Dense(2, Identity, maps.GraphConv(5, Tanh, node), maps.GraphConv(4, Tanh, node), maps.Spread(global), maps.Spread(global),
		maps.Dueling(node), maps.Dueling(node))
	states := twice.GRU(4, twice.Sequence("window", 2))
	twice.Dense(2, Identity, twice.Last(states), twice.Last(twice.GRU(3, states)), twice.Last(states))

	all := []specimen{
		{name: "q network", design: MLP{Inputs: []int{8}, Hidden: []int{9, 11}, Outputs: 3}.Design(), batch: 7},
		{name: "dueling", design: MLP{Inputs: []int{4}, Hidden: []int{10}, Outputs: 3, Dueling: true}.Design(), batch: 5},
		{name: "critic of state and action", design: MLP{Inputs: []int{5, 2}, Hidden: []int{8, 8}, Outputs: 1}.Design(), batch: 9},
		{name: "actor with normalisation", design: MLP{Inputs: []int{5}, Hidden: []int{12, 9}, Outputs: 2, Norm: true,
			Output: Tanh}.Design(), batch: 6},
		{name: "sigmoid layers", design: MLP{Inputs: []int{3}, Hidden: []int{5}, Outputs: 2, Within: Sigmoid, Output: Sigmoid}.Design(),
			batch: 1},
		{name: "student", design: Student(), batch: 4},
		{name: "gru forecaster", design: sequence, batch: 3, items: 6},
		{name: "gru over one step", design: sequence, batch: 4, items: 1},
		{name: "stacked gru", design: stacked, batch: 2, items: 4},
		{name: "graph convolution", design: gcn, batch: 3, items: 5, graph: chain},
		{name: "shared nodes", design: shared, batch: 5},
		{name: "shared by maps", design: maps, batch: 2, items: 5, graph: chain},
		{name: "states read twice", design: twice, batch: 3, items: 3},
	}
	for i := range all {
		all[i].build(t, uint64(i))
	}
	return all
}

func (s *specimen) build(t *testing.T, seed uint64) {
	rng := newRand(seed)
	net, err := s.design.Build(PyTorchUniform, rng)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	// Layer normalisation starts at exactly 1 and 0, where mistakes can hide.
	for i := range net.params {
		net.params[i] += 0.2 * float32(rng.NormFloat64())
	}
	s.net = net
	for _, n := range net.inputs {
		rows := s.batch
		if net.axes[n] == perItem {
			rows *= s.items
		}
		s.inputs = append(s.inputs, randoms(rng, rows*net.width(n)))
	}
}

func (s *specimen) context() *Context {
	c := s.net.NewContext()
	c.SetGraph(s.graph)
	return c
}

// loss is the weighted sum and half the squares of the outputs: a loss with a
// gradient and a curvature that both matter.
func (s *specimen) loss(out []float64, weights []float32) float64 {
	sum := 0.0
	for i, o := range out {
		sum += float64(weights[i])*o + o*o/2
	}
	return sum
}

// numericGradient differentiates the reference's loss by central differences.
func (s *specimen) numericGradient(r *reference, weights []float32) []float64 {
	const step = 1e-5
	out := make([]float64, len(r.params))
	for i, p := range r.params {
		r.params[i] = p + step
		up := s.loss(r.run(s.inputs...), weights)
		r.params[i] = p - step
		down := s.loss(r.run(s.inputs...), weights)
		r.params[i] = p
		out[i] = (up - down) / (2 * step)
	}
	return out
}

func (s *specimen) gradient(c *Context, weights []float32, want Gradients) {
	out := c.Forward(s.batch, s.inputs...)
	dOut := make([]float32, len(out))
	for i, o := range out {
		dOut[i] = weights[i] + o
	}
	c.Backward(dOut, want)
}

func TestForwardMatchesTheReference(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		for _, s := range specimens(t) {
			got := s.context().Forward(s.batch, s.inputs...)
			near(t, s.name, got, newReference(s.net, s.batch, s.items, s.graph).run(s.inputs...), 2e-5)
		}
	})
}

func TestGradientsMatchNumericOnes(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		for _, s := range specimens(t) {
			c, r := s.context(), newReference(s.net, s.batch, s.items, s.graph)
			weights := randoms(newRand(99), len(r.run(s.inputs...)))
			want := s.numericGradient(r, weights)
			s.gradient(c, weights, ParamGradients|InputGradients)
			near(t, s.name, c.Gradient(), want, 2e-4)
			// A reused context gives the same result.
			s.gradient(c, weights, ParamGradients)
			near(t, s.name+" again", c.Gradient(), want, 2e-4)
		}
	})
}

func TestInputGradientsMatchNumericOnes(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		for _, s := range specimens(t) {
			c, r := s.context(), newReference(s.net, s.batch, s.items, s.graph)
			weights := randoms(newRand(98), len(r.run(s.inputs...)))
			s.gradient(c, weights, InputGradients)
			for i, in := range s.inputs {
				want := make([]float64, len(in))
				for j, v := range in {
					const step = 1.0 / 4096 // exact in float32 beside inputs of size 1
					in[j] = v + step
					up, above := s.loss(r.run(s.inputs...), weights), float64(in[j])
					in[j] = v - step
					down, below := s.loss(r.run(s.inputs...), weights), float64(in[j])
					in[j] = v
					want[j] = (up - down) / (above - below)
				}
				near(t, s.name, c.InputGradient(i), want, 1e-3)
			}
		}
	})
}

// TestHessianVectorMatchesDifferencesOfGradients moves the parameters along a
// random direction and differentiates the numeric gradient.
func TestHessianVectorMatchesDifferencesOfGradients(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		for _, s := range specimens(t) {
			c, r := s.context(), newReference(s.net, s.batch, s.items, s.graph)
			weights := randoms(newRand(97), len(r.run(s.inputs...)))
			direction := randoms(newRand(96), s.net.Size())
			s.gradient(c, weights, ParamGradients)
			tOut, err := c.Tangent(direction)
			if errors.Is(err, ErrNoSecondOrder) {
				if s.items > 0 && s.graph == nil {
					continue
				}
			}
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			got := c.HessianVector(tOut) // the loss's curvature is one

			const step = 1e-4
			move := func(by float64) []float64 {
				for i, d := range direction {
					r.params[i] += by * float64(d)
				}
				return s.numericGradient(r, weights)
			}
			up := move(step)
			down := move(-2 * step)
			want := make([]float64, len(up))
			for i := range want {
				want[i] = (up[i] - down[i]) / (2 * step)
			}
			near(t, s.name, got, want, 1e-3)
		}
	})
}
