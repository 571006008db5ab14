package nn

import (
	"math"
	"testing"
)

func TestAdjacencyIsNormalisedSymmetrically(t *testing.T) {
	g, err := NewGraph(3, [][2]int{{0, 1}, {2, 1}, {1, 0}}) // a duplicate edge
	if err != nil {
		t.Fatal(err)
	}
	// With self-loops the degrees are 2, 3, 2.
	end, middle, edge := 1.0/2, 1.0/3, 1/math.Sqrt(6)
	near(t, "adjacency", g.weights, []float64{end, edge, 0, edge, middle, edge, 0, edge, end}, 1e-6)
	for _, bad := range [][2]int{{0, 3}, {-1, 0}} {
		if _, err := NewGraph(3, [][2]int{bad}); err == nil {
			t.Errorf("edge %v was accepted", bad)
		}
	}
	if _, err := NewGraph(0, nil); err == nil {
		t.Error("a graph without nodes was accepted")
	}
}
