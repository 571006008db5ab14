package surface

import (
	"math"
)

// tally counts sojourns in narrow buckets with their sums, so that the mean of
// every part of the distribution is exact but for one bucket's split.
type tally struct {
	count, sum [64 << tallyBits]float64
	n          float64
}

const tallyBits = 7 // buckets per doubling: 128

func (t *tally) add(v float64) {
	b := int(math.Float64bits(v)>>(52-tallyBits)) - (1023-32)<<tallyBits
	b = min(max(b, 0), len(t.count)-1)
	t.count[b]++
	t.sum[b] += v
	t.n++
}

func (t *tally) mean() float64 {
	sum := 0.0
	for _, v := range t.sum {
		sum += v
	}
	return sum / t.n
}

// parts is the mean over each part of the distribution.
func (t *tally) parts() (out [Levels]float64) {
	k, room, sum := 0, Edges[1]*t.n, 0.0
	for b := range t.count {
		left := t.count[b]
		if left == 0 {
			continue
		}
		mean := t.sum[b] / left
		for left >= room && k < Levels-1 {
			left -= room
			out[k] = (sum + room*mean) / ((Edges[k+1] - Edges[k]) * t.n)
			k++
			room, sum = (Edges[k+1]-Edges[k])*t.n, 0
		}
		room -= left
		sum += left * mean
	}
	if held := (Edges[k+1]-Edges[k])*t.n - room; held > 0.5 {
		out[k] = sum / held
	} else {
		out[k] = out[k-1]
	}
	return out
}
