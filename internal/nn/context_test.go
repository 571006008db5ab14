package nn

import (
	"slices"
	"testing"
)

func TestNothingAllocatesAfterTheFirstCall(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		for _, s := range specimens(t) {
			c, adam := s.context(), NewAdam(s.net.Size(), AdamConfig{})
			dOut := make([]float32, len(c.Forward(s.batch, s.inputs...)))
			direction := randoms(newRand(1), s.net.Size())
			if s.batch == 1 {
				c.Forward(1, s.inputs...) // prepares single rows
			}
			allocations := testing.AllocsPerRun(10, func() {
				out := c.Forward(s.batch, s.inputs...)
				Loss(MSE).Mean(dOut, out, dOut)
				c.Backward(dOut, ParamGradients|InputGradients)
				ClipNorm(c.Gradient(), 1)
				if tangent, err := c.Tangent(direction); err == nil {
					c.HessianVector(tangent)
				}
				adam.Step(s.net.Params(), c.Gradient())
			})
			if allocations > 0 {
				t.Errorf("%s: %v allocations per update", s.name, allocations)
			}
		}
	})
}

func TestSingleObservationsDoNotAllocate(t *testing.T) {
	net, x := build(t, Student(), HeUniform, 1), randoms(newRand(2), 5)
	acting, turns, batch := net.NewContext(), net.NewContext(), randoms(newRand(3), 64*5)
	acting.Forward(1, x)
	acting.Forward(1, x)
	turns.Forward(64, batch)
	for name, call := range map[string]func(){
		"acting":                       func() { acting.Forward(1, x) },
		"acting and training in turns": func() { turns.Forward(1, x); turns.Forward(64, batch) },
	} {
		if n := testing.AllocsPerRun(100, call); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestRepeatedSinglesEqualTheFirst covers the prepared steps of single.go.
func TestRepeatedSinglesEqualTheFirst(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		for _, s := range specimens(t) {
			if s.items > 0 {
				continue
			}
			one := s
			one.batch, one.inputs = 1, nil
			for i, n := range s.net.inputs {
				one.inputs = append(one.inputs, s.inputs[i][:s.net.width(n)])
			}
			c := one.context()
			first := slices.Clone(c.Forward(1, one.inputs...))
			weights := randoms(newRand(4), len(first))
			one.gradient(c, weights, ParamGradients)
			gradient := slices.Clone(c.Gradient())
			for range 3 {
				one.gradient(c, weights, ParamGradients)
				if !slices.Equal(c.Forward(1, one.inputs...), first) || !slices.Equal(c.Gradient(), gradient) {
					t.Fatalf("%s: a repeated single row differs from the first", s.name)
				}
			}
			if c.steps == nil {
				t.Fatalf("%s: no steps were prepared", s.name)
			}
			// The weights are read again each time, and so are the inputs.
			s.net.params[len(s.net.params)-1] += 0.5
			changed := randoms(newRand(5), len(one.inputs[0]))
			inputs := append([][]float32{changed}, one.inputs[1:]...)
			got := slices.Clone(c.Forward(1, inputs...))
			near(t, s.name, got, newReference(s.net, 1, 0, nil).run(inputs...), 2e-5)
			near(t, s.name, c.Forward(s.batch, s.inputs...), newReference(s.net, s.batch, 0, nil).run(s.inputs...), 2e-5)
		}
	})
}

func TestContextsFollowTheBatchSize(t *testing.T) {
	net := build(t, MLP{Inputs: []int{3}, Hidden: []int{17}, Outputs: 2}.Design(), HeUniform, 1)
	c, x := net.NewContext(), randoms(newRand(2), 40*3)
	for _, batch := range []int{5, 40, 1, 1, 1, 12, 1, 40} {
		got := c.Forward(batch, x[:batch*3])
		near(t, "outputs", got, newReference(net, batch, 0, nil).run(x[:batch*3]), 2e-5)
		c.Backward(make([]float32, len(got)), ParamGradients)
	}
}

func TestWrongShapesPanic(t *testing.T) {
	net := build(t, Student(), HeUniform, 1)
	c := net.NewContext()
	ready := net.NewContext()
	for range 3 {
		ready.Forward(1, make([]float32, 5))
	}
	cases := map[string]func(){
		"too few values":      func() { c.Forward(2, make([]float32, 9)) },
		"no input":            func() { c.Forward(2) },
		"empty batch":         func() { c.Forward(0, nil) },
		"single too long":     func() { ready.Forward(1, make([]float32, 6)) },
		"single without":      func() { ready.Forward(1) },
		"gradient too short":  func() { ready.Backward(make([]float32, 2), ParamGradients) },
		"tangent too early":   func() { _, _ = ready.Tangent(make([]float32, net.Size())) },
		"direction too short": func() { _, _ = ready.Tangent(make([]float32, 2)) },
	}
	for name, call := range cases {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Fatal("accepted")
				}
			}()
			call()
		})
	}
}
