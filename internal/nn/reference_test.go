package nn

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/loadline/loadline/internal/nn/gemm"
)

// reference runs designs in float64 with simple loops, one sample and one item at a time. It
// shares only the layout with the code under test.
type reference struct {
	net    *Net
	params []float64
	batch  int
	items  int
	graph  *Graph
	values [][]float64
}

func newReference(net *Net, batch, items int, g *Graph) *reference {
	r := &reference{net: net, batch: batch, items: items, graph: g, values: make([][]float64, len(net.layers))}
	for _, p := range net.params {
		r.params = append(r.params, float64(p))
	}
	return r
}

func (r *reference) tensor(t tensor) []float64 { return r.params[t.start:][:t.size()] }

func (r *reference) rows(n Node) int {
	if r.net.axes[n] == perItem {
		return r.batch * r.items
	}
	return r.batch
}

func (r *reference) run(inputs ...[]float32) []float64 {
	for i, n := range r.net.inputs {
		r.values[n] = nil
		for _, v := range inputs[i] {
			r.values[n] = append(r.values[n], float64(v))
		}
	}
	for i, l := range r.net.layers {
		switch l := l.(type) {
		case *dense:
			r.values[i] = r.dense(l)
		case *norm:
			r.values[i] = r.norm(l)
		case *gru:
			r.values[i] = r.gru(l)
		case *softmax:
			r.values[i] = r.softmax(l)
		case *linear:
			r.values[i] = r.linear(l)
		}
	}
	return r.values[len(r.values)-1]
}

func activate64(a Activation, x float64) float64 {
	switch a {
	case ReLU:
		return max(x, 0)
	case Tanh:
		return math.Tanh(x)
	case Sigmoid:
		return 1 / (1 + math.Exp(-x))
	}
	return x
}

func (r *reference) dense(l *dense) (out []float64) {
	w, b, width := r.tensor(l.weight), r.tensor(l.bias), l.weight.shape[1]
	for row := range r.rows(l.node) {
		for j := range width {
			sum, k := b[j], 0
			for _, in := range l.inputs {
				for _, x := range r.values[in.node][row*in.width:][:in.width] {
					sum += x * w[k*width+j]
					k++
				}
			}
			out = append(out, activate64(l.activation, sum))
		}
	}
	return out
}

func (r *reference) norm(l *norm) (out []float64) {
	width := r.net.width(l.node)
	for row := range r.rows(l.node) {
		x := r.values[l.from][row*width:][:width]
		mean, variance := 0.0, 0.0
		for _, v := range x {
			mean += v / float64(width)
		}
		for _, v := range x {
			variance += (v - mean) * (v - mean) / float64(width)
		}
		for j, v := range x {
			u := (v - mean) / math.Sqrt(variance+normEpsilon)
			out = append(out, activate64(l.activation, r.tensor(l.scale)[j]*u+r.tensor(l.shift)[j]))
		}
	}
	return out
}

func (r *reference) gru(l *gru) []float64 {
	h, in := l.hidden, r.net.width(l.from)
	out := make([]float64, r.batch*r.items*h)
	for s := range r.batch {
		state := make([]float64, h)
		for t := range r.items {
			x := r.values[l.from][(t*r.batch+s)*in:][:in]
			sums := func(weight, bias tensor, values []float64, j int) float64 {
				sum := r.tensor(bias)[j]
				for i, v := range values {
					sum += v * r.tensor(weight)[i*gates*h+j]
				}
				return sum
			}
			next := make([]float64, h)
			for j := range h {
				input := func(gate int) float64 { return sums(l.inputWeight, l.inputBias, x, gate*h+j) }
				hidden := func(gate int) float64 { return sums(l.hiddenWeight, l.hiddenBias, state, gate*h+j) }
				reset := activate64(Sigmoid, input(0)+hidden(0))
				update := activate64(Sigmoid, input(1)+hidden(1))
				fresh := math.Tanh(input(2) + reset*hidden(2))
				next[j] = (1-update)*fresh + update*state[j]
			}
			state = next
			copy(out[(t*r.batch+s)*h:], state)
		}
	}
	return out
}

func (r *reference) softmax(l *softmax) (out []float64) {
	width := r.net.width(l.node)
	for row := range r.rows(l.node) {
		sum := 0.0
		for _, v := range r.values[l.from][row*width:][:width] {
			sum += math.Exp(v)
		}
		for _, v := range r.values[l.from][row*width:][:width] {
			out = append(out, math.Exp(v)/sum)
		}
	}
	return out
}

func (r *reference) linear(l *linear) (out []float64) {
	width := r.net.width(l.node)
	x := r.values[l.from]
	at := func(item, sample, j int) float64 { return x[(item*r.batch+sample)*r.net.width(l.from)+j] }
	for row := range r.rows(l.node) {
		item, sample := row/r.batch, row%r.batch
		for j := range width {
			v := 0.0
			switch l.linearMap.(type) {
			case last:
				v = at(r.items-1, sample, j)
			case spread:
				v = at(0, sample, j)
			case neighbours:
				for other := range r.items {
					v += float64(r.graph.weights[item*r.items+other]) * at(other, sample, j)
				}
			case dueling:
				v = at(item, sample, 0) + at(item, sample, 1+j)
				for k := range width {
					v -= at(item, sample, 1+k) / float64(width)
				}
			}
			out = append(out, v)
		}
	}
	return out
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

func randoms(rng *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(rng.NormFloat64())
	}
	return out
}

func onBothKernels(t *testing.T, test func(t *testing.T)) {
	for _, plain := range []bool{true, false} {
		restore := gemm.UsePortable(plain)
		t.Run(gemm.Name(), test)
		restore()
	}
}

// near compares with a tolerance relative to the largest expected value.
func near(t *testing.T, what string, got []float32, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	largest := 1e-3
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}
	for i, w := range want {
		if !(math.Abs(float64(got[i])-w) <= tolerance*largest) {
			t.Fatalf("%s: value %d of %d is %v, want %v (largest %v)", what, i, len(want), got[i], w, largest)
		}
	}
}
