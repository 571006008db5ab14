package nn

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/loadline/loadline/internal/nn/gemm"
)

// Net is a design with weights. Many goroutines may read the weights; changing them needs
// exclusive access.
type Net struct {
	*program
	params []float32
}

// program is shared by clones of a Net: everything but the weights.
type program struct {
	design  Design
	axes    []axis
	layers  []layer // nil for inputs
	inputs  []Node
	tensors []tensor
	size    int

	// carries[g][n]: with requested gradients g, Backward must reach node n.
	carries [1 + (ParamGradients | InputGradients)][]bool
}

// tensor is a named part of the flat parameters, from start to end.
type tensor struct {
	name       string
	shape      []int
	start, end int
}

func (t *tensor) size() int { return t.end - t.start }

func (t *tensor) of(flat []float32) []float32 { return flat[t.start:t.end:t.end] }

// Build checks the design and gives it weights drawn from rng.
func (d Design) Build(init Init, rng *rand.Rand) (*Net, error) {
	axes, err := d.axes()
	if err != nil {
		return nil, err
	}
	p := &program{design: Design{Layers: slices.Clone(d.Layers)}, axes: axes, layers: make([]layer, len(d.Layers))}
	ordinal := map[Kind]int{}
	for i, l := range d.Layers {
		ordinal[l.Kind]++
		if slices.Contains(inputKinds, l.Kind) {
			p.inputs = append(p.inputs, Node(i))
			continue
		}
		p.layers[i] = p.newLayer(Node(i), l, fmt.Sprintf("%s%d", l.Kind, ordinal[l.Kind]))
	}
	if p.size > maxParams {
		return nil, fmt.Errorf("nn: a design of %d parameters, must be at most %d", p.size, maxParams)
	}
	p.findCarriers()
	n := &Net{program: p, params: make([]float32, p.size)}
	for _, l := range p.layers {
		if w, ok := l.(weighted); ok {
			w.initialise(n.params, init, rng)
		}
	}
	return n, nil
}

// reserve adds a tensor to the flat parameters.
func (p *program) reserve(name string, shape ...int) tensor {
	size := 1
	for _, n := range shape {
		size *= n
	}
	t := tensor{name: name, shape: shape, start: p.size, end: p.size + size}
	p.tensors = append(p.tensors, t)
	p.size = t.end
	return t
}

func (p *program) width(n Node) int { return p.design.Layers[n].Width }

// findCarriers marks the layers with weights, or the inputs, and all that depend on them.
func (p *program) findCarriers() {
	for want := range Gradients(len(p.carries)) {
		carries := make([]bool, len(p.layers))
		for i, l := range p.layers {
			_, hasWeights := l.(weighted)
			carries[i] = (want&InputGradients != 0 && l == nil) || (want&ParamGradients != 0 && hasWeights)
			for _, from := range p.design.Layers[i].From {
				carries[i] = carries[i] || carries[from]
			}
		}
		p.carries[want] = carries
	}
}

// Design is the architecture, to be stored beside the weights.
func (n *Net) Design() Design { return Design{Layers: slices.Clone(n.design.Layers)} }

// Size is the number of parameters.
func (n *Net) Size() int { return n.size }

// Params are all weights, in the order of Tensors.
func (n *Net) Params() []float32 { return n.params }

// Outputs is the number of values per row of the output.
func (n *Net) Outputs() int { return n.width(Node(len(n.layers) - 1)) }

// Clone has the same design and a copy of the weights.
func (n *Net) Clone() *Net { return &Net{program: n.program, params: slices.Clone(n.params)} }

// Tensor is a named view of part of a network's weights. Weights of a dense
// layer have the shape inputs x outputs.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// Tensors are views of all parameters: writing to their data changes the net.
func (n *Net) Tensors() []Tensor {
	var out []Tensor
	for _, t := range n.tensors {
		out = append(out, Tensor{t.name, slices.Clone(t.shape), t.of(n.params)})
	}
	return out
}

// Load copies tensors into the net. It reports every missing, unknown, misshapen or non-finite
// one at once, and then does not change the net.
func (n *Net) Load(tensors []Tensor) error {
	var faults []error
	given := map[string]Tensor{}
	for _, t := range tensors {
		if _, twice := given[t.Name]; twice {
			faults = append(faults, fmt.Errorf("nn: tensor %s is given twice", t.Name))
		}
		given[t.Name] = t
	}
	for _, t := range n.tensors {
		got, ok := given[t.name]
		switch delete(given, t.name); {
		case !ok:
			faults = append(faults, fmt.Errorf("nn: tensor %s is missing", t.name))
		case !slices.Equal(got.Shape, t.shape) || len(got.Data) != t.size():
			faults = append(faults, fmt.Errorf("nn: tensor %s has %d values of shape %v, must be %v", t.name, len(got.Data), got.Shape,
				t.shape))
		case !Finite(got.Data):
			faults = append(faults, fmt.Errorf("nn: tensor %s holds values that are not finite", t.name))
		}
	}
	for name := range given {
		faults = append(faults, fmt.Errorf("nn: tensor %s is unknown to this design", name))
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	for i, t := range n.tensors {
		at := slices.IndexFunc(tensors, func(g Tensor) bool { return g.Name == n.tensors[i].name })
		copy(t.of(n.params), tensors[at].Data)
	}
	return nil
}

// Finite reports whether no value is infinite or NaN.
func Finite(values []float32) bool {
	return !slices.ContainsFunc(values, func(v float32) bool {
		return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0)
	})
}

// SoftUpdate moves target by tau of the way to online: target = tau*online +
// (1-tau)*target. Papers that write rho*target + (1-rho)*online mean tau = 1-rho.
func SoftUpdate(target, online []float32, tau float32) { gemm.Lerp(target, online, tau) }

// AddScaled adds factor*x to y: an inner step of MAML, or a sum of gradients.
func AddScaled(y []float32, factor float32, x []float32) { gemm.Axpy(y, factor, x) }
