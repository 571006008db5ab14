package forecast

import (
	"math"
	"slices"
)

// Boost forecasts a quantile by gradient-boosted regression trees (Friedman, 2001) with the pinball
// loss: it begins with the quantile of all outcomes; each tree splits a part of the samples by the
// gradient of the loss, and each of its leaves moves the forecast part of the way to the quantile of
// the residuals in it. Features are sorted into bins once, so that a split is found by one pass over
// the samples.
//
// A fit is in steps of bounded cost, a feature or a tree each, so that a control loop can spread it
// over its decisions: Begin, then Step until it returns true. A later fit uses the memory of the one
// before it.
type Boost struct {
	Trees
	y, rows []float32
	binned  int // features so far
	grown   int // trees so far

	cuts      [][]float32 // by feature, ascending: bin b has values up to cuts[b]
	codes     []uint8     // by sample, then feature
	forecast  []float32
	node      []uint8 // of each sample in the present tree
	residuals []float32
	spare     []float32
}

// Trees are the result of a fit: a function of a row of features.
type Trees struct {
	level float64
	width int
	base  float32
	trees []boostTree
}

const (
	boostTrees = 60
	boostDepth = 3
	boostRate  = 0.1 // part of the way that a leaf moves the forecast
	boostLeaf  = 20  // fewest samples of a leaf, of those that a tree is grown on
	// boostPart: a tree is grown on one sample in boostPart, another one each time (Friedman, 2002).
	boostPart   = 4
	boostLeaves = 1 << boostDepth
	boostBins   = 32
	// boostSorted is how many samples the bins of a feature are found by.
	boostSorted = 1024
)

// boostTree is a full binary tree. Inner nodes are numbered from 1, the children of n are 2n and
// 2n+1; a node that is not split sends everything to the left.
type boostTree struct {
	feature, bin [boostLeaves]uint8 // greater bins go to the right
	cut, leaf    [boostLeaves]float32
}

// Fit learns the quantile of the outcomes y from rows of features, one after the other.
func (b *Boost) Fit(rows, y []float32, level float64) {
	b.Begin(rows, y, level)
	for !b.Step() {
	}
}

// Begin a fit. The rows and the outcomes belong to it until it ends.
func (b *Boost) Begin(rows, y []float32, level float64) {
	n := len(y)
	b.rows, b.y, b.level, b.width = rows, y, level, len(rows)/max(n, 1)
	b.trees, b.base, b.binned, b.grown = b.trees[:0], 0, 0, 0
	if n == 0 {
		return
	}
	b.spare = append(b.spare[:0], y...)
	b.base = quantileOf(b.spare, level)
	b.codes, b.node = resized(b.codes, n*b.width), resized(b.node, n)
	b.forecast, b.residuals = resized(b.forecast, n), resized(b.residuals, n)
	for i := range b.forecast {
		b.forecast[i] = b.base
	}
	for len(b.cuts) < b.width {
		b.cuts = append(b.cuts, make([]float32, 0, boostBins))
	}
}

// Step does the next part of a fit; true if that was the last.
func (b *Boost) Step() bool {
	switch {
	case len(b.y) == 0:
		return true
	case b.binned < b.width:
		b.sortFeature(b.binned)
		b.binned++
	default:
		b.trees = append(b.trees, b.grow())
		b.grown++
	}
	return b.grown == boostTrees
}

// Copy the trees of a fit.
func (t *Trees) Copy(from *Trees) {
	t.level, t.width, t.base = from.level, from.width, from.base
	t.trees = append(t.trees[:0], from.trees...)
}

// Fitted: there are trees.
func (t *Trees) Fitted() bool { return len(t.trees) > 0 }

// At is the quantile at a row of features.
func (t *Trees) At(row []float32) float64 {
	sum := t.base
	for k := range t.trees {
		tree := &t.trees[k]
		n := 1
		for n < boostLeaves {
			if row[tree.feature[n]] > tree.cut[n] {
				n = 2*n + 1
			} else {
				n *= 2
			}
		}
		sum += tree.leaf[n-boostLeaves]
	}
	return float64(sum)
}

// sortFeature sorts the values of a feature into bins of about equally many samples.
func (b *Boost) sortFeature(f int) {
	n := len(b.y)
	every := (n + boostSorted - 1) / boostSorted
	some := b.spare[:0]
	for i := 0; i < n; i += every {
		some = append(some, b.rows[i*b.width+f])
	}
	slices.Sort(some)
	cuts := b.cuts[f][:0]
	for k := 1; k < boostBins; k++ {
		if v := some[k*len(some)/boostBins]; (len(cuts) == 0 || v > cuts[len(cuts)-1]) && v < some[len(some)-1] {
			cuts = append(cuts, v)
		}
	}
	b.cuts[f] = cuts
	for i := range n {
		at, _ := slices.BinarySearch(cuts, b.rows[i*b.width+f])
		b.codes[i*b.width+f] = uint8(at)
	}
}

// boostSum is the gradient of the samples of a bin.
type boostSum struct {
	gradient float64
	count    int
}

// grow one tree on a part of the samples, level by level.
func (b *Boost) grow() (tree boostTree) {
	n, first := len(b.y), b.grown%boostPart
	for i := first; i < n; i += boostPart {
		b.residuals[i] = b.y[i] - b.forecast[i]
		b.node[i] = 1
	}
	for root := 1; root < boostLeaves; root *= 2 {
		b.splitNodes(&tree, root, first)
		for i := first; i < n; i += boostPart {
			b.node[i] = tree.child(b.node[i], b.codes[i*b.width:])
		}
	}
	for leaf := range tree.leaf {
		in := b.spare[:0]
		for i := first; i < n; i += boostPart {
			if int(b.node[i]) == boostLeaves+leaf {
				in = append(in, b.residuals[i])
			}
		}
		if len(in) > 0 {
			tree.leaf[leaf] = boostRate * quantileOf(in, b.level)
		}
	}
	for i := range n {
		node := uint8(1)
		for node < boostLeaves {
			node = tree.child(node, b.codes[i*b.width:])
		}
		b.forecast[i] += tree.leaf[node-boostLeaves]
	}
	return tree
}

func (t *boostTree) child(node uint8, codes []uint8) uint8 {
	if codes[t.feature[node]] > t.bin[node] {
		return 2*node + 1
	}
	return 2 * node
}

// splitNodes finds the split of each node of a level of the tree, whose first node is root.
func (b *Boost) splitNodes(tree *boostTree, root, first int) {
	var best [boostLeaves]float64
	var sums [boostLeaves][boostBins]boostSum
	for f := range b.width {
		for node := root; node < 2*root; node++ {
			sums[node] = [boostBins]boostSum{}
		}
		for i := first; i < len(b.y); i += boostPart {
			s := &sums[b.node[i]][b.codes[i*b.width+f]]
			s.count++
			s.gradient += b.level
			if b.residuals[i] <= 0 {
				s.gradient--
			}
		}
		for node := root; node < 2*root; node++ {
			if gain, bin := bestCut(&sums[node], len(b.cuts[f])); gain > best[node] {
				best[node] = gain
				tree.feature[node], tree.bin[node], tree.cut[node] = uint8(f), uint8(bin), b.cuts[f][bin]
			}
		}
	}
	for node := root; node < 2*root; node++ {
		if best[node] == 0 {
			tree.bin[node], tree.cut[node] = boostBins, float32(math.Inf(1))
		}
	}
}

// bestCut of a node by one feature: the gain in squared gradients. 0 = none.
func bestCut(sums *[boostBins]boostSum, cuts int) (gain float64, bin int) {
	var all, left boostSum
	for _, s := range sums[:cuts+1] {
		all.gradient, all.count = all.gradient+s.gradient, all.count+s.count
	}
	if all.count < 2*boostLeaf {
		return 0, 0
	}
	whole := all.gradient * all.gradient / float64(all.count)
	for k, s := range sums[:cuts] {
		left.gradient, left.count = left.gradient+s.gradient, left.count+s.count
		if left.count < boostLeaf || all.count-left.count < boostLeaf {
			continue
		}
		right := all.gradient - left.gradient
		if g := left.gradient*left.gradient/float64(left.count) + right*right/float64(all.count-left.count) - whole; g > gain {
			gain, bin = g, k
		}
	}
	return gain, bin
}

// quantileOf is the order statistic of rank ceil(n * level). It reorders the values (Hoare's
// selection, 1961).
func quantileOf(values []float32, level float64) float32 {
	k := min(max(int(math.Ceil(float64(len(values))*level))-1, 0), len(values)-1)
	for low, high := 0, len(values)-1; low < high; {
		pivot, i, j := values[(low+high)/2], low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return values[k]
		}
	}
	return values[k]
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
