package policy

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"
	"time"
)

// The multipliers are those that the recommender's documentation tabulates.
func TestVPAConfidenceMultipliers(t *testing.T) {
	for _, c := range []struct {
		history      time.Duration
		upper, lower float64 // 0: not tabulated
	}{
		{5 * time.Minute, 0, 0.6},
		{30 * time.Minute, 0, 0.9},
		{time.Hour, 0, 0.95},
		{12 * time.Hour, 3, 0},
		{24 * time.Hour, 2, 0},
		{7 * 24 * time.Hour, 1.14, 0},
	} {
		u := newVPAUsage(24 * time.Hour)
		cfg := vpaConfig{quantile: 0.9, halfLife: 24 * time.Hour}
		for at := time.Duration(0); at <= c.history; at += time.Minute {
			u.addCPU(sampleAt(1, at), 1)
		}
		e := cfg.estimate(&u.cpu, cfg.confidence(&u), 0, 0, 0)
		if got := e.upper / e.target; c.upper > 0 && math.Abs(got-c.upper) > 0.01 {
			t.Errorf("%v: upper bound * %v, want %v", c.history, got, c.upper)
		}
		if got := e.lower / e.target; c.lower > 0 && math.Abs(got-c.lower) > 0.02 {
			t.Errorf("%v: lower bound * %v, want %v", c.history, got, c.lower)
		}
	}
}

// The histogram compared with a naive one: all samples kept, weighted by age.
func TestDecayingHistogramAgainstAllSamples(t *testing.T) {
	const halfLife = time.Hour
	rng := rand.New(rand.NewPCG(1, 1))
	h := newDecayingHistogram(0.01, 1000, halfLife)
	type weighted struct{ value, weight float64 }
	var all []weighted
	const n = 10000 // 166 half-lives: the epoch moves meanwhile
	for i := range n {
		value := math.Exp(rng.NormFloat64() + float64(i)/5000)
		at := sampleAt(value, time.Duration(i)*time.Minute).At
		h.add(value, 1, at)
		all = append(all, weighted{value, math.Exp2(float64(i-n) / 60)})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].value < all[j].value })
	total := 0.0
	for _, w := range all {
		total += w.weight
	}
	for _, q := range []float64{0.1, 0.5, 0.9, 0.95, 0.99} {
		sum, want := 0.0, 0.0
		for _, w := range all {
			if sum += w.weight; sum >= q*total {
				want = w.value
				break
			}
		}
		if got := h.quantile(q); got < want || got > want*bucketGrowth+0.011 {
			t.Errorf("quantile %v is %v, want %v or up to a bucket above", q, got, want)
		}
	}
}

func TestDecayingHistogramTakesBack(t *testing.T) {
	h := newDecayingHistogram(1e7, 1e12, time.Hour)
	at := scenarioStart
	h.add(2e8, 1, at)
	h.add(9e8, 1, at)
	h.takeBack(9e8, 1, at)
	if got := h.quantile(1); got < 2e8 || got > 2.2e8 {
		t.Errorf("largest is %v after the larger one was taken back", got)
	}
	h.takeBack(2e8, 1, at)
	if !h.empty() {
		t.Error("not empty")
	}
}

// One peak per pod and day: lower usage does not count, higher usage replaces it.
func TestVPACountsPeaksOfADay(t *testing.T) {
	u := newVPAUsage(24 * time.Hour)
	pod := &podPeak{}
	for i, mib := range []float64{100, 400, 200, 300} {
		u.addPeak(pod, mib*(1<<20), scenarioStart.Add(time.Duration(i)*time.Hour), false)
	}
	if low, high := u.memory.quantile(0.01), u.memory.quantile(1); low != high || low < 400<<20 || low > 430<<20 {
		t.Errorf("peaks from %v to %v, want one of 400 MiB", low, high)
	}
	u.addPeak(pod, 200*(1<<20), scenarioStart.Add(25*time.Hour), false)
	if low := u.memory.quantile(0.01); low > 215<<20 {
		t.Errorf("the next day has no peak of its own: %v", low)
	}
}
