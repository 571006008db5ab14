package report

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

// buckets is a latency distribution, summed over seeds.
type buckets struct{ count map[float64]float64 }

func newBuckets() *buckets { return &buckets{map[float64]float64{}} }

var errBucket = errors.New("a bucket must have a latency that is not negative and a count that is not negative")

func (b *buckets) add(list []bench.Bucket) error {
	for _, one := range list {
		upTo, count := float64(one.UpToMs), float64(one.Count)
		if !(upTo >= 0) || math.IsInf(upTo, 0) || !(count >= 0) || math.IsInf(count, 0) {
			return fmt.Errorf("up to %v ms, count %v: %w", upTo, count, errBucket)
		}
		b.count[upTo] += count
	}
	return nil
}

// survival is a distribution as the share of slower requests: a logarithmic axis then magnifies
// the tail.
type survival struct {
	Ms     []result.Number `json:"ms"`
	Slower []result.Number `json:"slower"` // share above Ms; the last is 0
}

// curvePoints is how many steps of a curve can be distinguished.
const curvePoints = 160

func (b *buckets) survival() survival {
	var s survival
	edges := make([]float64, 0, len(b.count))
	total := 0.0
	for edge, count := range b.count {
		if count > 0 {
			edges = append(edges, edge)
		}
	}
	slices.Sort(edges)
	for _, edge := range edges { // in order: sums of floats depend on it
		total += b.count[edge]
	}
	below, kept := 0.0, math.Inf(-1)
	for i, edge := range edges {
		below += b.count[edge]
		slower := max(0, 1-below/total)
		if i == len(edges)-1 {
			slower = 0
		}
		// Kept where the curve has moved visibly, on a page that shows about four decades
		// either way.
		height := math.Log10(max(slower, 1e-6)) * curvePoints / 8
		width := math.Log10(max(edge, 1e-3)) * curvePoints / 8
		if at := math.Floor(width) - math.Floor(height); at > kept || i == len(edges)-1 {
			kept = at
			s.Ms = append(s.Ms, significant(result.Number(edge), 4))
			s.Slower = append(s.Slower, significant(result.Number(slower), 4))
		}
	}
	return s
}

// survivals of a scenario: by kind of request, then by row.
func (b *builder) survivals(rows []int) map[string]map[int]survival {
	out := map[string]map[int]survival{}
	for _, row := range rows {
		for kind, list := range b.latency[row] {
			if out[kind] == nil {
				out[kind] = map[int]survival{}
			}
			out[kind][row] = list.survival()
		}
		b.latency[row] = nil
	}
	return out
}
