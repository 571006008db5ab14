package learned

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/loadline/loadline/internal/nn"
)

// naive is the GCN of network.go written from the equations of MSARS in float64, without
// optimisation: weights by name, loops over nodes and neighbours.
type naive struct {
	hidden, node, global int
	steps, traits        int
	edges                [][2]int
}

// logits of one sample, with weights in the order of nn.Net.Params followed by the context,
// step by step.
func (n naive) logits(weights, x, g []float64) []float64 {
	at := 0
	take := func(size int) []float64 { at += size; return weights[at-size : at] }
	w0, b0 := take(n.node*n.hidden), take(n.hidden)
	w1, b1 := take(n.hidden*n.hidden), take(n.hidden)
	half := n.hidden / 2
	wg, bg := take(n.global*half), take(half)
	wc, bc := take((n.hidden+n.node+half)*n.hidden), take(n.hidden)
	wo, bo := take(n.hidden*n.traits), take(n.traits)
	adjacent := make([][]float64, n.steps) // A + I
	for i := range adjacent {
		adjacent[i] = make([]float64, n.steps)
		adjacent[i][i] = 1
	}
	for _, e := range n.edges {
		adjacent[e[0]][e[1]], adjacent[e[1]][e[0]] = 1, 1
	}
	degree := make([]float64, n.steps)
	for i := range degree {
		for _, a := range adjacent[i] {
			degree[i] += a
		}
	}
	layer := func(in [][]float64, w, b []float64, out int, relu bool) [][]float64 {
		list := make([][]float64, len(in))
		for i, row := range in {
			list[i] = make([]float64, out)
			for o := range out {
				sum := b[o]
				for j, v := range row {
					sum += v * w[j*out+o]
				}
				if relu {
					sum = max(sum, 0)
				}
				list[i][o] = sum
			}
		}
		return list
	}
	convolve := func(in [][]float64, w, b []float64, out int) [][]float64 { // eq. 3
		mixed := make([][]float64, n.steps)
		for i := range mixed {
			mixed[i] = make([]float64, len(in[0]))
			for j := range in {
				for f, v := range in[j] {
					mixed[i][f] += adjacent[i][j] / math.Sqrt(degree[i]*degree[j]) * v
				}
			}
		}
		return layer(mixed, w, b, out, true)
	}
	nodes := make([][]float64, n.steps)
	for i := range nodes {
		nodes[i] = x[i*n.node:][:n.node]
	}
	h := convolve(convolve(nodes, w0, b0, n.hidden), w1, b1, n.hidden) // eq. 1, 2
	embedding := layer([][]float64{g}, wg, bg, half, true)[0]          // eq. 4
	combined := make([][]float64, n.steps)
	for i := range combined { // eq. 5, 6, and the node's own features
		combined[i] = append(append(append([]float64{}, h[i]...), nodes[i]...), embedding...)
	}
	var out []float64
	for _, row := range layer(layer(combined, wc, bc, n.hidden, true), wo, bo, n.traits, false) { // eq. 7
		context := take(n.traits)
		z := row[0] + context[0]
		for k := 1; k < n.traits; k++ {
			z += context[k] * row[k]
		}
		out = append(out, z)
	}
	return out
}

// loss over examples.
func (n naive) loss(weights []float64, of []*example) float64 {
	sum := 0.0
	for _, e := range of {
		z := n.logits(weights, wide(e.nodes), wide(e.global))
		all := 0.0
		for _, v := range z {
			all += math.Exp(v)
		}
		for i, v := range z {
			if y := float64(e.labels[i]); y > 0 {
				sum += y * (math.Log(y) - math.Log(math.Exp(v)/all))
			}
		}
	}
	return sum / float64(len(of))
}

// gradient by central differences.
func gradientOf(f func([]float64) float64, at []float64, by float64) []float64 {
	g := make([]float64, len(at))
	x := append([]float64{}, at...)
	for i := range x {
		x[i] = at[i] + by
		up := f(x)
		x[i] = at[i] - by
		g[i] = (up - f(x)) / (2 * by)
		x[i] = at[i]
	}
	return g
}

func wide(v []float32) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = float64(v[i])
	}
	return out
}

// smallGCN is a small GCN with arbitrary examples.
func smallGCN(t *testing.T, seed uint64) (naive, *learner, *preparedTask) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	n := naive{hidden: 4, steps: 5, traits: 3, edges: [][2]int{{0, 1}, {0, 2}, {2, 3}, {2, 4}}}
	n.node, n.global = Bare.widths()
	net, err := build("gcn", Bare, n.hidden, n.traits, rng)
	if err != nil {
		t.Fatal(err)
	}
	for i := range net.Params() { // biases too, and outputs of some size
		net.Params()[i] += float32(0.3 * rng.NormFloat64())
	}
	graph, err := nn.NewGraph(n.steps, n.edges)
	if err != nil {
		t.Fatal(err)
	}
	of := &preparedTask{graph: graph}
	for k := range 8 {
		e := &example{nodes: make([]float32, n.steps*n.node), global: make([]float32, n.global), labels: make([]float32, n.steps)}
		for i := range e.nodes {
			e.nodes[i] = float32(rng.NormFloat64())
		}
		for i := range e.global {
			e.global[i] = float32(rng.NormFloat64())
		}
		sum := float32(0)
		for i := range e.labels {
			e.labels[i] = rng.Float32()
			sum += e.labels[i]
		}
		for i := range e.labels {
			e.labels[i] /= sum
		}
		if k < 5 {
			of.train = append(of.train, e)
		} else {
			of.test = append(of.test, e)
		}
	}
	l := newLearner("gcn", n.traits, net)
	l.meet(n.steps)
	for i := range l.context {
		l.context[i] = float32(0.5 * rng.NormFloat64())
	}
	return n, l, of
}

// adapts is the adapted parameters of a learner.
func adapts(l *learner) []float64 {
	all := make([]float32, l.size())
	l.save(all)
	return wide(all)
}

func near(t *testing.T, what string, got []float32, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	largest := 0.0
	for _, v := range want {
		largest = max(largest, math.Abs(v))
	}
	for i := range want {
		if !(math.Abs(float64(got[i])-want[i]) <= tolerance*largest) {
			t.Errorf("%s: value %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

func TestGCNIsTheEquations(t *testing.T) {
	n, l, of := smallGCN(t, 1)
	l.forward(of, of.train)
	for s, e := range of.train {
		near(t, "logits", l.logits[s*n.steps:][:n.steps], n.logits(adapts(l), wide(e.nodes), wide(e.global)), 1e-5)
	}
	if loss, want := l.forward(of, of.train), n.loss(adapts(l), of.train); math.Abs(loss-want) > 1e-5*want {
		t.Errorf("loss %v, want %v", loss, want)
	}
}

func TestGradientIsThatOfTheEquations(t *testing.T) {
	n, l, of := smallGCN(t, 2)
	_, g := l.gradient(of, of.train)
	want := gradientOf(func(w []float64) float64 { return n.loss(w, of.train) }, adapts(l), 1e-6)
	near(t, "gradient", g, want, 1e-4)
	// The Hessian times a direction is the derivative of the gradient along it.
	rng := rand.New(rand.NewPCG(3, 3))
	direction := make([]float32, l.size())
	for i := range direction {
		direction[i] = float32(rng.NormFloat64())
	}
	h, err := l.hessianTimes(direction)
	if err != nil {
		t.Fatal(err)
	}
	moved := func(by float64) []float64 {
		w := adapts(l)
		for i := range w {
			w[i] += by * float64(direction[i])
		}
		return gradientOf(func(w []float64) float64 { return n.loss(w, of.train) }, w, 1e-5)
	}
	up, down := moved(1e-4), moved(-1e-4)
	for i := range up {
		up[i] = (up[i] - down[i]) / 2e-4
	}
	near(t, "Hessian", h, up, 2e-3)
}

// TestMetaGradient compares MAML's gradient with finite differences of the whole: the losses on
// test along an inner loop whose gradients are themselves finite differences of the naive
// equations. So are the gradients of the rates and of the momentum.
func TestMetaGradient(t *testing.T) {
	n, l, of := smallGCN(t, 4)
	blocks := blocksOf(l.net.Design())
	free := make([]float64, len(blocks)+n.traits)
	for i := range free {
		free[i] = 0.2 + 0.05*float64(i)
	}
	batches := [][]*example{of.train[:3], of.train[2:]}
	losses := []float32{0.3, 0.5, 1}
	along := func(w, rates []float64, keep float64) float64 {
		w = append(append([]float64{}, w...), make([]float64, n.steps*n.traits)...)
		each, moves := spread(blocks, rates, n.steps), make([]float64, len(w))
		sum := float64(losses[0]) * n.loss(w, of.test)
		for k, examples := range batches {
			for i, g := range gradientOf(func(w []float64) float64 { return n.loss(w, examples) }, w, 1e-6) {
				moves[i] = keep*moves[i] + g
				w[i] -= float64(each[i]) * moves[i]
			}
			sum += float64(losses[k+1]) * n.loss(w, of.test)
		}
		return sum
	}
	const keep = 0.4
	before := wide(l.net.Params())
	in := inner{rates: spread(blocks, free, n.steps), keep: keep}
	found, err := l.metaGradient(of, batches, of.test, losses, in, false)
	if err != nil {
		t.Fatal(err)
	}
	if want := along(before, free, keep); math.Abs(found.loss-want) > 1e-4*want {
		t.Errorf("losses along the inner loop come to %v, want %v", found.loss, want)
	}
	want := gradientOf(func(w []float64) float64 { return along(w, free, keep) }, before, 1e-4)
	near(t, "second order", found.gradient, want, 5e-3)
	near(t, "rates", gather(blocks, n.traits, found.rates), gradientOf(func(r []float64) float64 { return along(before, r, keep) },
		free, 1e-3), 5e-3)
	near(t, "momentum", []float32{float32(found.keep)}, gradientOf(func(k []float64) float64 { return along(before, free, k[0]) },
		[]float64{keep}, 1e-3), 5e-3)
	near(t, "weights", l.net.Params(), before, 0)
	found, err = l.metaGradient(of, batches, of.test, losses, in, true)
	if err != nil {
		t.Fatal(err)
	}
	// The first-order result must differ, or the test above shows nothing.
	apart, length := 0.0, 0.0
	for i := range want {
		apart += (float64(found.gradient[i]) - want[i]) * (float64(found.gradient[i]) - want[i])
		length += want[i] * want[i]
	}
	if apart < 0.0025*length {
		t.Errorf("first order is %v of the gradient's length away from second order", math.Sqrt(apart/length))
	}
}
