package policy

import (
	"math"
	"time"
)

// decayingHistogram is the recommender's history of a resource: weights in buckets whose width
// grows by 5 % each, where a sample weighs twice as much as one that is a half-life older.
type decayingHistogram struct {
	firstBucket float64 // width; the resource's unit
	halfLife    time.Duration
	epoch       time.Time // at which a sample's weight counts once
	weights     []float64
	total       float64
}

const (
	bucketGrowth = 1.05
	// lightest is the weight at the epoch below which a bucket is empty: the rest of removed
	// samples is rounding.
	lightest = 0.0001
	// After this many half-lives weights are rescaled, before they overflow.
	maxHalfLives = 100
)

// newDecayingHistogram covers values up to the largest; higher ones count as the largest.
func newDecayingHistogram(firstBucket, largest float64, halfLife time.Duration) decayingHistogram {
	buckets := int(math.Ceil(math.Log(largest*(bucketGrowth-1)/firstBucket+1)/math.Log(bucketGrowth))) + 1
	return decayingHistogram{firstBucket: firstBucket, halfLife: halfLife, weights: make([]float64, buckets)}
}

// start of a bucket: the sum of the widths before it.
func (h *decayingHistogram) start(bucket int) float64 {
	return h.firstBucket * (math.Pow(bucketGrowth, float64(bucket)) - 1) / (bucketGrowth - 1)
}

func (h *decayingHistogram) bucket(value float64) int {
	if value < h.firstBucket {
		return 0
	}
	b := int(math.Log(value*(bucketGrowth-1)/h.firstBucket+1) / math.Log(bucketGrowth))
	return min(b, len(h.weights)-1)
}

// add counts a sample.
func (h *decayingHistogram) add(value, weight float64, at time.Time) {
	w := weight * h.factor(at)
	h.weights[h.bucket(value)] += w
	h.total += w
}

// takeBack removes a sample that was added with the same arguments.
func (h *decayingHistogram) takeBack(value, weight float64, at time.Time) {
	b := h.bucket(value)
	w := weight * h.factor(at)
	if w > h.weights[b]-lightest {
		w = h.weights[b]
	}
	h.weights[b] -= w
	h.total -= w
}

// factor is the weight of a sample of that age, relative to the epoch.
func (h *decayingHistogram) factor(at time.Time) float64 {
	if h.epoch.IsZero() {
		h.epoch = at
	}
	halfLives := float64(at.Sub(h.epoch)) / float64(h.halfLife)
	if halfLives > maxHalfLives {
		for i := range h.weights {
			h.weights[i] *= math.Exp2(-halfLives)
		}
		h.total *= math.Exp2(-halfLives)
		h.epoch, halfLives = at, 0
	}
	return math.Exp2(halfLives)
}

func (h *decayingHistogram) empty() bool { return h.total < lightest }

// quantile is the end of the bucket in which the share q of the weight is reached:
// recommendations err upwards.
func (h *decayingHistogram) quantile(q float64) float64 {
	sum, last := 0.0, 0
	for b, w := range h.weights {
		if w < lightest {
			continue
		}
		sum += w
		last = b
		if sum >= q*h.total {
			break
		}
	}
	if last == len(h.weights)-1 {
		return h.start(last)
	}
	return h.start(last + 1)
}
