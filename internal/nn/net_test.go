package nn

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

func build(t *testing.T, d Design, init Init, seed uint64) *Net {
	t.Helper()
	net, err := d.Build(init, newRand(seed))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func TestParameterCounts(t *testing.T) {
	cases := []struct {
		name   string
		design Design
		want   int
	}{
		{"DRPC's student has 643 parameters", Student(), 643},
		{"8-64-64-3", MLP{Inputs: []int{8}, Hidden: []int{64, 64}, Outputs: 3}.Design(), 8*64 + 64 + 64*64 + 64 + 64*3 + 3},
		{"critic of 5 and 3", MLP{Inputs: []int{5, 3}, Hidden: []int{20}, Outputs: 1}.Design(), 8*20 + 20 + 21},
		{"dueling adds a value", MLP{Inputs: []int{4}, Hidden: []int{10}, Outputs: 3, Dueling: true}.Design(), 50 + 44},
		{"gru as in PyTorch", forecaster(4, 32, 3), 3*32*(4+32+2) + 33*3},
	}
	for _, c := range cases {
		if got := build(t, c.design, PyTorchUniform, 1).Size(); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestTensorsCoverTheParametersInOrder(t *testing.T) {
	net := build(t, Student(), HeUniform, 1)
	at := 0
	for _, tensor := range net.Tensors() {
		size := 1
		for _, n := range tensor.Shape {
			size *= n
		}
		if len(tensor.Data) != size || &tensor.Data[0] != &net.Params()[at] {
			t.Fatalf("%s is not the view at %d", tensor.Name, at)
		}
		at += size
	}
	if at != net.Size() {
		t.Fatalf("tensors cover %d of %d", at, net.Size())
	}
}

func TestLoadRestoresWhatTensorsGave(t *testing.T) {
	from, to := build(t, Student(), HeUniform, 1), build(t, Student(), HeUniform, 2)
	tensors := from.Tensors()
	slices.Reverse(tensors) // the order must not matter
	if err := to.Load(tensors); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(from.Params(), to.Params()) {
		t.Fatal("weights differ")
	}
}

func TestLoadNamesEveryFaultAndChangesNothing(t *testing.T) {
	net := build(t, Student(), HeUniform, 1)
	before := slices.Clone(net.Params())
	tensors := build(t, Student(), HeUniform, 2).Tensors()
	tensors[0].Name = "elsewhere"
	tensors[1].Shape = []int{4, 5}
	tensors[2].Data = []float32{float32(math.NaN())}
	tensors[2].Data = append(tensors[2].Data, make([]float32, 19)...)
	err := net.Load(append(tensors, tensors[3]))
	for _, want := range []string{"dense1.weight is missing", "dense1.bias has 20 values of shape [4 5], must be [20]",
		"norm1.scale holds values that are not finite", "elsewhere is unknown", "norm1.shift is given twice"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	if !slices.Equal(before, net.Params()) {
		t.Error("a refused load changed the net")
	}
}

func TestDesignSurvivesJSON(t *testing.T) {
	for _, s := range specimens(t) {
		text, err := json.Marshal(s.design)
		if err != nil {
			t.Fatal(err)
		}
		var back Design
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, s.design) {
			t.Fatalf("%s came back as %+v", text, back)
		}
	}
}

func TestFaultyDesignsAreRefused(t *testing.T) {
	layer := func(l ...Layer) Design { return Design{Layers: l} }
	in, steps := Layer{Kind: KindInput, Width: 3}, Layer{Kind: KindSequence, Width: 3}
	cases := []struct {
		name, want string
		design     Design
	}{
		{"nothing", "last layer that is not an input", Design{}},
		{"only an input", "last layer that is not an input", layer(in)},
		{"no width", "width is 0, must be 1 to 65536", layer(in, Layer{Kind: KindDense, From: []Node{0}})},
		{"too large", "must be at most 67108864", layer(Layer{Kind: KindInput, Width: 1 << 16},
			Layer{Kind: KindDense, Width: 1 << 16, From: []Node{0}})},
		{"from the future", "must be earlier layers", layer(in, Layer{Kind: KindDense, Width: 1, From: []Node{1}})},
		{"from nothing", "takes from 0 layers", layer(in, Layer{Kind: KindDense, Width: 1})},
		{"unknown kind", "unknown kind", layer(in, Layer{Kind: "conv", Width: 1, From: []Node{0}})},
		{"unknown activation", "activation is 77", layer(in, Layer{Kind: KindDense, Width: 1, Activation: 77, From: []Node{0}})},
		{"norm changes width", "width is 4, must be 3", layer(in, Layer{Kind: KindNorm, Width: 4, From: []Node{0}})},
		{"gru without steps", "without time steps", layer(in, Layer{Kind: KindGRU, Width: 4, From: []Node{0}})},
		{"gru over nodes", "need a sequence", layer(Layer{Kind: KindNodes, Width: 3}, Layer{Kind: KindGRU, Width: 4, From: []Node{0}})},
		{"neighbours in time", "neighbours need nodes", layer(steps, Layer{Kind: KindNeighbours, Width: 3, From: []Node{0}})},
		{"spread over nothing", "spread needs", layer(in, Layer{Kind: KindSpread, Width: 3, From: []Node{0}})},
		{"activation of a gru", "has no activation", layer(steps, Layer{Kind: KindGRU, Width: 4, Activation: Tanh, From: []Node{0}})},
		{"rows mixed", "use Spread", layer(in, steps, Layer{Kind: KindDense, Width: 4, From: []Node{0, 1}})},
		{"steps and nodes", "not both", layer(steps, Layer{Kind: KindNodes, Width: 3}, Layer{Kind: KindLast, Width: 3, From: []Node{0}})},
	}
	for _, c := range cases {
		if _, err := c.design.Build(HeUniform, newRand(1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v does not say %q", c.name, err, c.want)
		}
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	train := func() []float32 {
		net := build(t, Student(), HeNormal, 5)
		c, adam, rng := net.NewContext(), NewAdam(net.Size(), AdamConfig{Decay: 0.01}), newRand(6)
		x, y, d := randoms(rng, 64*5), randoms(rng, 64*3), make([]float32, 64*3)
		for range 20 {
			Loss(MSE).Mean(d, c.Forward(64, x), y)
			c.Backward(d, ParamGradients)
			ClipNorm(c.Gradient(), 1)
			adam.Step(net.Params(), c.Gradient())
		}
		return net.Params()
	}
	onBothKernels(t, func(t *testing.T) {
		if !slices.Equal(train(), train()) {
			t.Fatal("two runs with one seed differ")
		}
	})
}

func TestInitialisationsHaveTheirVariance(t *testing.T) {
	const in, out = 200, 100
	for init, want := range map[Init]float64{PyTorchUniform: 1.0 / 3 / in, HeUniform: 2.0 / in, HeNormal: 2.0 / in,
		XavierUniform: 2.0 / (in + out)} {
		net := build(t, MLP{Inputs: []int{in}, Outputs: out}.Design(), init, 3)
		sum := 0.0
		for _, w := range net.Tensors()[0].Data {
			sum += float64(w) * float64(w) / (in * out)
		}
		if math.Abs(sum/want-1) > 0.03 {
			t.Errorf("initialisation %d: variance %g, want %g", init, sum, want)
		}
	}
}

// TestManyGoroutinesInferOnOneNet is for the race detector.
func TestManyGoroutinesInferOnOneNet(t *testing.T) {
	net := build(t, Student(), HeUniform, 1)
	x := randoms(newRand(2), 5)
	want := slices.Clone(net.NewContext().Forward(1, x))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			c := net.NewContext()
			for range 200 {
				if !slices.Equal(c.Forward(1, x), want) {
					t.Error("a goroutine saw another result")
					return
				}
			}
		})
	}
	all.Wait()
}

func TestCloneIsIndependent(t *testing.T) {
	net := build(t, Student(), HeUniform, 1)
	clone := net.Clone()
	SoftUpdate(clone.Params(), make([]float32, net.Size()), 1)
	if Finite(net.Params()) && net.Params()[0] == 0 {
		t.Fatal("changing the clone changed the net")
	}
	for _, p := range clone.Params() {
		if p != 0 {
			t.Fatal("a soft update with tau 1 must copy")
		}
	}
}
