package nn_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/loadline/loadline/internal/nn"
)

// A network with an unusual shape: per-node features and one global feature,
// one output per node.
func Example() {
	var d nn.Design
	profile, slo := d.Nodes("profile", 2), d.Input("slo", 1)
	hidden := d.GraphConv(16, nn.ReLU, d.GraphConv(16, nn.ReLU, profile))
	goal := d.Spread(d.Dense(4, nn.ReLU, slo))
	d.Dense(1, nn.Identity, hidden, goal)

	net, err := d.Build(nn.HeUniform, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		fmt.Println(err)
		return
	}
	chain, err := nn.NewGraph(3, [][2]int{{0, 1}, {1, 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := net.NewContext()
	ctx.SetGraph(chain)
	// Two samples of three nodes: rows go node by node.
	out := ctx.Forward(2, make([]float32, 3*2*2), []float32{0.25, 0.5})
	fmt.Println(len(out), "outputs,", net.Size(), "parameters")
	for _, t := range net.Tensors()[:2] {
		fmt.Println(t.Name, t.Shape)
	}
	// Output:
	// 6 outputs, 349 parameters
	// dense1.weight [2 16]
	// dense1.bias [16]
}
