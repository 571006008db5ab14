package nn

import (
	"encoding/json"
	"testing"
)

// FuzzDesign: a design from a file is rejected or runs.
func FuzzDesign(f *testing.F) {
	var conv Design
	conv.GraphConv(2, Tanh, conv.Nodes("n", 2))
	for _, d := range []Design{Student(), forecaster(2, 3, 1), conv, MLP{Inputs: []int{2, 1}, Hidden: []int{3}, Outputs: 2,
		Dueling: true}.Design()} {
		text, err := json.Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var d Design
		if json.Unmarshal(text, &d) != nil || d.Validate() != nil {
			return
		}
		for _, l := range d.Layers {
			if l.Width > 64 || len(d.Layers) > 32 {
				return // keep the fuzzer quick
			}
		}
		net, err := d.Build(HeUniform, newRand(1))
		if err != nil {
			t.Fatalf("valid, but not built: %v", err)
		}
		c := net.NewContext()
		const batch, items = 2, 3
		g, err := NewGraph(items, [][2]int{{0, 1}})
		if err != nil {
			t.Fatal(err)
		}
		c.SetGraph(g)
		var inputs [][]float32
		for _, n := range net.inputs {
			rows := batch
			if net.axes[n] == perItem {
				rows = batch * items
			}
			inputs = append(inputs, make([]float32, rows*net.width(n)))
		}
		out := c.Forward(batch, inputs...)
		c.Backward(make([]float32, len(out)), ParamGradients|InputGradients)
		if _, err := c.Tangent(make([]float32, net.Size())); err == nil {
			c.HessianVector(make([]float32, len(out)))
		}
	})
}
