package nn

import (
	"math"
	"slices"
	"testing"
)

func TestLossesMatchNumericSlopes(t *testing.T) {
	for name, loss := range map[string]Loss{"MSE": MSE, "Huber": Huber(0.7)} {
		for _, err := range []float64{-3, -0.65, -0.1, 0, 0.3, 0.69, 2} {
			value := func(e float64) float64 { v, _, _ := loss(float32(e)); return float64(v) }
			const step = 1e-2
			_, slope, curvature := loss(float32(err))
			if got := (value(err+step) - value(err-step)) / (2 * step); math.Abs(got-float64(slope)) > 1e-3 {
				t.Errorf("%s at %v: slope %v, numeric %v", name, err, slope, got)
			}
			_, above, _ := loss(float32(err + 1e-3))
			_, below, _ := loss(float32(err - 1e-3))
			if got := float64(above-below) / 2e-3; math.Abs(got-float64(curvature)) > 1e-2 {
				t.Errorf("%s at %v: curvature %v, numeric %v", name, err, curvature, got)
			}
		}
	}
}

func TestMeanAtCountsOnlyTheChosenColumns(t *testing.T) {
	out, d := []float32{1, 2, 3, 4, 5, 6}, []float32{9, 9, 9, 9, 9, 9}
	got := Loss(MSE).MeanAt(d, out, []int{2, 0}, []float32{1, 1}, []float32{1, 0.5})
	if want := float32(4*1+9*0.5) / 2; got != want {
		t.Errorf("loss %v, want %v", got, want)
	}
	if want := []float32{0, 0, 2, 1.5, 0, 0}; !slices.Equal(d, want) {
		t.Errorf("gradient %v, want %v", d, want)
	}
}

// TestPinballIsLeastAtTheQuantile finds the constant forecasts of least loss.
func TestPinballIsLeastAtTheQuantile(t *testing.T) {
	quantiles := []float32{0.1, 0.5, 0.9}
	target := make([]float32, 1000)
	for i := range target {
		target[i] = float32(i) / 1000
	}
	guess := []float32{0.5, 0.2, 0.5}
	out, d := make([]float32, 3000), make([]float32, 3000)
	for range 2000 {
		for i := range target {
			copy(out[3*i:], guess)
		}
		Pinball(d, out, target, quantiles)
		for i := range d {
			guess[i%3] -= 0.02 * d[i] * 3
		}
	}
	for i, q := range quantiles {
		if math.Abs(float64(guess[i]-q)) > 0.01 {
			t.Errorf("quantile %v settled at %v", q, guess[i])
		}
	}
}

// TestAdamFollowsItsPaper repeats the algorithm in float64 with the bias
// corrections where the paper has them.
func TestAdamFollowsItsPaper(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		const n, rate, decay = 37, 0.01, 0.1
		rng := newRand(1)
		params := randoms(rng, n)
		adam := NewAdam(n, AdamConfig{Rate: rate, Decay: decay})
		p, m, v := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range p {
			p[i] = float64(params[i])
		}
		for step := 1; step <= 50; step++ {
			g := randoms(rng, n)
			adam.Step(params, g)
			for i := range p {
				gradient := float64(g[i])
				m[i] = 0.9*m[i] + 0.1*gradient
				v[i] = 0.999*v[i] + 0.001*gradient*gradient
				mean, square := m[i]/(1-math.Pow(0.9, float64(step))), v[i]/(1-math.Pow(0.999, float64(step)))
				p[i] -= rate * decay * p[i]
				p[i] -= rate * mean / (math.Sqrt(square) + 1e-8)
			}
		}
		near(t, "parameters", params, p, 1e-5)
	})
}

func TestAdamRestoredEndsWhereTheUnbrokenRunEnds(t *testing.T) {
	gradient := func(i int) []float32 { return randoms(newRand(uint64(i)), 20) }
	whole, params := NewAdam(20, AdamConfig{}), make([]float32, 20)
	for i := range 10 {
		whole.Step(params, gradient(i))
	}
	first, second, broken := NewAdam(20, AdamConfig{}), NewAdam(20, AdamConfig{}), make([]float32, 20)
	for i := range 5 {
		first.Step(broken, gradient(i))
	}
	if err := second.Restore(first.State()); err != nil {
		t.Fatal(err)
	}
	for i := 5; i < 10; i++ {
		second.Step(broken, gradient(i))
	}
	if !slices.Equal(params, broken) {
		t.Fatal("the resumed run ended elsewhere")
	}
	if second.Restore(AdamState{M1: make([]float32, 3), M2: make([]float32, 20)}) == nil {
		t.Fatal("a state of the wrong size was accepted")
	}
}

func TestClipNorm(t *testing.T) {
	g := []float32{3, 4}
	if norm := ClipNorm(g, 10); norm != 5 || g[0] != 3 {
		t.Errorf("short gradient changed: %v %v", norm, g)
	}
	if ClipNorm(g, 1); math.Abs(float64(g[0])-0.6) > 1e-6 || math.Abs(float64(g[1])-0.8) > 1e-6 {
		t.Errorf("clipped to %v", g)
	}
	bad := []float32{float32(math.Inf(1)), 1}
	if norm := ClipNorm(bad, 1); !math.IsInf(float64(norm), 1) || bad[1] != 1 {
		t.Errorf("infinite gradient: %v %v", norm, bad)
	}
}

// TestStudentLearnsAFunction trains by imitation, as behaviour cloning does.
func TestStudentLearnsAFunction(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		net := build(t, Student(), PyTorchUniform, 1)
		c, adam, rng := net.NewContext(), NewAdam(net.Size(), AdamConfig{Rate: 3e-3}), newRand(2)
		goal, d := make([]float32, 64*3), make([]float32, 64*3)
		loss := float32(0)
		for range 800 {
			x := randoms(rng, 64*5)
			for i := range 64 {
				goal[3*i] = float32(math.Tanh(float64(x[5*i] * x[5*i+1])))
				goal[3*i+1] = float32(math.Tanh(float64(x[5*i+2])))
				goal[3*i+2] = float32(math.Sin(float64(x[5*i+3])))
			}
			loss = Loss(MSE).Mean(d, c.Forward(64, x), goal)
			c.Backward(d, ParamGradients)
			adam.Step(net.Params(), c.Gradient())
		}
		if loss > 0.05 {
			t.Errorf("loss is still %v", loss)
		}
	})
}

// TestMetaGradient is second-order MAML on a graph convolution network: the
// gradient of the test loss after one inner step, through that step, against
// central differences in float64.
func TestMetaGradient(t *testing.T) {
	const rate = 0.05
	s := specimens(t)[9]
	if s.graph == nil {
		t.Fatal("specimen 9 is not the graph network")
	}
	train, test := randoms(newRand(1), 15), randoms(newRand(2), 15)

	c, adapted := s.context(), s.net.Clone()
	s.gradient(c, train, ParamGradients)
	AddScaled(adapted.Params(), -rate, c.Gradient())
	after := adapted.NewContext()
	after.SetGraph(s.graph)
	s.gradient(after, test, ParamGradients)
	tangent, err := c.Tangent(after.Gradient())
	if err != nil {
		t.Fatal(err)
	}
	meta := slices.Clone(after.Gradient())
	AddScaled(meta, -rate, c.HessianVector(tangent))

	// The same by differences: the inner gradient is numeric too.
	r := newReference(s.net, s.batch, s.items, s.graph)
	origin := slices.Clone(r.params)
	testLoss := func() float64 {
		start := slices.Clone(r.params)
		for i, g := range s.numericGradient(r, train) {
			r.params[i] = start[i] - rate*g
		}
		loss := s.loss(r.run(s.inputs...), test)
		copy(r.params, start)
		return loss
	}
	const step = 1e-4
	for i := 0; i < len(origin); i += 11 {
		r.params[i] = origin[i] + step
		up := testLoss()
		r.params[i] = origin[i] - step
		down := testLoss()
		r.params[i] = origin[i]
		if want := (up - down) / (2 * step); math.Abs(float64(meta[i])-want) > 2e-3*(1+math.Abs(want)) {
			t.Fatalf("parameter %d: %v, numeric %v", i, meta[i], want)
		}
	}
}
