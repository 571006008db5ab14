package policy

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// jumping is a load of 100 that is multiplied for a minute by a factor drawn from 1 + exponential of
// a mean, in every minute anew: the quantiles of its growth are known.
func jumping(seed uint64, minutes int, mean func(minute int) float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 7))
	series := make([]float64, 0, 4*minutes)
	for m := range minutes {
		factor := 1 + mean(m)*rng.ExpFloat64()
		for k := range 4 {
			load := 100.0
			if k == 3 {
				load *= factor
			}
			series = append(series, load)
		}
	}
	return series
}

func learnAll(f *loadForecast, from int, series []float64, each func(i int)) {
	for i, load := range series {
		f.learn(plannerStart.Add(time.Duration(from+i)*15*time.Second), load)
		if each != nil {
			each(i)
		}
	}
}

// TestChosenForecastHoldsTheShareOfAKnownSeries: with an exponential factor of mean m on one load in
// four, the least capacity with a share s in excess is known, and what is held costs about as much.
func TestChosenForecastHoldsTheShareOfAKnownSeries(t *testing.T) {
	const mean, share = 0.5, 0.01
	f := newLoadForecast(share)
	learnAll(f, 0, jumping(1, 36*60, func(int) float64 { return mean }), nil)
	// Of the largest load within a minute, 1 + x with x exponential, what exceeds 1 + c is on average
	// mean * exp(-c/mean), of 1 + mean.
	want := 100 * (1 + mean*math.Log(mean/(share*(1+mean))))
	capacity, load, excess := 0.0, 0.0, 0.0
	series := jumping(2, 12*60, func(int) float64 { return mean })
	learnAll(f, 4*36*60, series, func(i int) {
		if i%4 != 0 || i+4 >= len(series) { // the load of the next minute's start is 100
			return
		}
		most, held := series[i+3], f.ahead(time.Minute)
		capacity, load, excess = capacity+held, load+most, excess+max(most-held, 0)
	})
	n := float64(len(series)/4 - 1)
	if got := capacity / n; math.Abs(got/want-1) > 0.12 {
		t.Errorf("%.0f is held, want %.0f", got, want)
	}
	if got := excess / load; got > 1.6*share || got < 0.4*share {
		t.Errorf("%.4f of the load was in excess, want %.3f", got, share)
	}
}

// TestChoiceFollowsTheNatureOfTheSeries: bursts at the same minutes of every hour are known to the
// trees, by what followed a day ago, and analogs must hold their height always. Once bursts come at
// random times, that is what it takes.
func TestChoiceFollowsTheNatureOfTheSeries(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const day = 5760
	burst := 0
	load := func(i int) float64 {
		if i%240 == 0 {
			burst = 160
			if i >= 5*day {
				burst = rng.IntN(200)
			}
		}
		if in := i % 240; in >= burst && in < burst+40 {
			return 400
		}
		return 100 * math.Exp(0.03*rng.NormFloat64())
	}
	f, lead := newLoadForecast(0.002), leadIndex(warmLead)
	held, n := 0.0, 0.0
	for i := range 7 * day {
		f.unchecked = i < 3*day
		f.learn(plannerStart.Add(time.Duration(i)*15*time.Second), load(i))
		switch {
		case i >= 4*day+day/2 && i < 5*day && i%240 < 80: // long before a burst
			held, n = held+f.ahead(warmLead), n+1
		case i == 5*day-1:
			if c := f.records[lead].chosen; c < byTrees {
				t.Errorf("%s is chosen for bursts at fixed times", candidateName(c))
			}
			if held/n > 150 {
				t.Errorf("%.0f is held long before a burst at a known time, and 110 is needed", held/n)
			}
		}
	}
	if c := f.records[lead].chosen; c >= byTrees {
		t.Errorf("%s is chosen for bursts at random times", candidateName(c))
	}
}

// TestChosenForecastIsTheSameEachTime and does not depend on what comes later.
func TestChosenForecastIsTheSameEachTime(t *testing.T) {
	series := growthSeries(3, 5000)
	later := append(append([]float64(nil), series[:4500]...), growthSeries(4, 500)...)
	var first []float64
	for _, s := range [][]float64{series, series, later} {
		f := newLoadForecast(0.005)
		var got []float64
		learnAll(f, 0, s, func(i int) {
			if i >= 4000 && i < 4500 {
				got = append(got, f.ahead(time.Minute), f.ahead(2*time.Minute))
			}
		})
		if first == nil {
			first = got
		}
		for i := range got {
			if got[i] != first[i] {
				t.Fatalf("forecast %d is %v, and %v before", i, got[i], first[i])
			}
		}
	}
	f := newLoadForecast(0.005)
	learnAll(f, 0, series, nil)
	if !f.trees.of[leadIndex(warmLead)].Fitted() || f.records[leadIndex(warmLead)].count < recordLeast {
		t.Error("neither trees nor a record: this test shows nothing")
	}
}

// TestChosenForecastDoesNotAllocate, also while trees are fitted.
func TestChosenForecastDoesNotAllocate(t *testing.T) {
	f := newLoadForecast(0.005)
	series := growthSeries(3, 1000)
	at := plannerStart
	step := func(every time.Duration) {
		at = at.Add(every)
		f.learn(at, series[int(at.Unix()/15)%len(series)])
		f.ahead(time.Minute)
		f.ahead(warmLead)
	}
	for len(f.past) < mostAnalogs {
		f.unchecked = len(f.past) < mostAnalogs-100
		step(75 * time.Second)
	}
	for range 2 * 480 { // four hours: every lead has been fitted
		step(15 * time.Second)
	}
	if n := testing.AllocsPerRun(480, func() { step(15 * time.Second) }); n > 0 {
		t.Errorf("a decision allocates %.2f times", n)
	}
	if f.trees.fitted[leadIndex(warmLead)] == 0 || f.trees.fitted[leadIndex(time.Minute)] == 0 {
		t.Error("no trees were fitted: this test shows nothing")
	}
}

func TestChoiceMeetsTheShareAtTheLeastCapacity(t *testing.T) {
	record := func(of map[int]struct{ capacity, excess float64 }) *forecastRecord {
		r := &forecastRecord{load: 1000, count: recordLeast}
		for c := range r.of {
			r.of[c].capacity, r.of[c].excess = 50_000, 0
		}
		for c, v := range of {
			r.of[c].capacity, r.of[c].excess = v.capacity, v.excess
		}
		return r
	}
	type held = struct{ capacity, excess float64 }
	for _, c := range []struct {
		name string
		of   map[int]held
		now  int
		want int
	}{
		{"the cheapest within the share", map[int]held{0: {1300, 1}, byLevel: {1200, 1}, byTrees: {1100, 9}}, 0, byLevel},
		{"the present one if another is as good", map[int]held{0: {1201, 1}, byLevel: {1200, 1}}, 0, 0},
		{"another if the present one has too much in excess", map[int]held{0: {1100, 9}, byTrees: {1200, 1}}, 0, byTrees},
		{"not one that holds far more than analogs", map[int]held{0: {1200, 30}, byLevel: {1900, 2.1}, byTrees: {1700, 9}}, 0, byTrees},
		{"not one that avoids an excess at an absurd capacity", map[int]held{0: {1200, 5}, byLevel: {2300, 2.1}}, 0, 0},
	} {
		r := record(c.of)
		r.chosen = c.now
		if r.choose(0.002); r.chosen != c.want {
			t.Errorf("%s: %s is chosen, want %s", c.name, candidateName(r.chosen), candidateName(c.want))
		}
	}
}
