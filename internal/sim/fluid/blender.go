package fluid

import "math"

// blender sorts weighted values into narrow buckets by the bits of their floating-point
// representation, and splits the result into the parts of a distribution. Sums of values are
// kept beside weights, so means are exact.
type blender struct {
	bins   [bins + 1]bin
	lo, hi int
}

type bin struct{ weight, sum float64 }

const (
	binBits = 3                      // 8 buckets per doubling
	bins    = 44 << binBits          // from 15 ns to about three days
	binBase = (1023 - 26) << binBits // the bits of the smallest value
	noBin   = int(^uint(0) >> 1)
)

func newBlender() *blender { return &blender{lo: noBin} }

func binOf(v float64) uint {
	b := int(math.Float64bits(v)>>(52-binBits)) - binBase
	return uint(min(max(b, 0), bins))
}

// reach widens the range of buckets in use.
func (b *blender) reach(lo, hi float64) {
	b.lo = min(b.lo, int(binOf(lo)))
	b.hi = max(b.hi, int(binOf(hi)))
}

// add puts a whole distribution in.
func (b *blender) add(d *dist, w float64) {
	b.reach(d.part[0], d.part[levels-1])
	for k, v := range d.part {
		p := w * weight[k]
		c := &b.bins[binOf(v)]
		c.weight += p
		c.sum += p * v
	}
}

// addValue puts one value in.
func (b *blender) addValue(v, w float64) {
	b.reach(v, v)
	c := &b.bins[binOf(v)]
	c.weight += w
	c.sum += w * v
}

// cut empties the blender into a distribution; total is the weight it holds.
func (b *blender) cut(out *dist, total float64) {
	c := cutter{room: weight[0] * total}
	for i := b.lo; i <= b.hi; i++ {
		at := &b.bins[i]
		p := at.weight
		if p == 0 {
			continue
		}
		if p < c.room {
			c.room -= p
			c.sum += at.sum
		} else {
			c.put(out, p, at.sum/p, total)
		}
		*at = bin{}
	}
	c.end(out, total)
	b.lo, b.hi = noBin, 0
}

// cutter cuts a rising stream of weighted values into parts.
type cutter struct {
	k    int
	room float64 // weight that the current part can still take
	sum  float64 // of the values in it, weighted
}

// put takes the next value.
func (c *cutter) put(out *dist, p, v, total float64) {
	for p >= c.room && c.k < levels-1 {
		out.part[c.k] = (c.sum + c.room*v) / (weight[c.k] * total)
		p -= c.room
		c.k++
		c.room, c.sum = weight[c.k]*total, 0
	}
	c.room -= p
	c.sum += p * v
}

// end closes the last part, including what rounding left over, and computes the moments.
func (c *cutter) end(out *dist, total float64) {
	k := c.k
	if held := weight[k]*total - c.room; held > 1e-9*weight[k]*total {
		out.part[k] = c.sum / held
	} else if k > 0 {
		out.part[k] = out.part[k-1]
	}
	for k++; k < levels; k++ {
		out.part[k] = out.part[k-1]
	}
	out.settle()
}
