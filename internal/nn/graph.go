package nn

import (
	"fmt"
	"math"
)

// Graph is how the nodes of every sample are connected.
type Graph struct {
	nodes   int
	weights []float32
}

// NewGraph is the normalised adjacency of undirected edges with self-loops,
// D^-1/2 (A+I) D^-1/2 (Kipf and Welling, 2017, eq. 2).
func NewGraph(nodes int, edges [][2]int) (*Graph, error) {
	if nodes < 1 {
		return nil, fmt.Errorf("nn: a graph of %d nodes", nodes)
	}
	adjacency := make([]float32, nodes*nodes)
	for i := range nodes {
		adjacency[i*nodes+i] = 1
	}
	for _, e := range edges {
		if min(e[0], e[1]) < 0 || max(e[0], e[1]) >= nodes {
			return nil, fmt.Errorf("nn: edge %v leaves the graph of %d nodes", e, nodes)
		}
		adjacency[e[0]*nodes+e[1]], adjacency[e[1]*nodes+e[0]] = 1, 1
	}
	root := make([]float64, nodes)
	for i := range root {
		for _, a := range adjacency[i*nodes:][:nodes] {
			root[i] += float64(a)
		}
		root[i] = math.Sqrt(root[i])
	}
	for i := range nodes {
		for j := range nodes {
			adjacency[i*nodes+j] /= float32(root[i] * root[j])
		}
	}
	return &Graph{nodes, adjacency}, nil
}

// Nodes is the number of nodes.
func (g *Graph) Nodes() int { return g.nodes }
