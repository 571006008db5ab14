package rl

import (
	"math"
	"testing"

	"github.com/loadline/loadline/internal/nn"
)

var oneByTwo = Spaces{Observation: 1, Choices: 2}

// story adds transitions numbered from 0: step i goes from i to i+1 with the reward 2^i; ends
// maps steps to how they end.
func story(r *Replay, from, to int, ends map[int]Result) {
	for i := from; i < to; i++ {
		result := ends[i]
		result.Reward = math.Pow(2, float64(i))
		r.Add(Transition{[]float32{float32(i)}, Action{Choice: i % 2}, result, []float32{float32(i + 1)}})
	}
}

func TestReplayKeepsReturnsOfSeveralSteps(t *testing.T) {
	for name, row := range map[string]struct {
		end  Result
		want [][4]float32 // observation, return, discount, next
	}{
		"an episode that terminates has no value after it": {
			Result{Terminated: true},
			[][4]float32{{0, 1 + 0.5*2 + 0.25*4, 0.125, 3}, {1, 2 + 0.5*4 + 0.25*8, 0, 4}, {2, 4 + 0.5*8, 0, 4}, {3, 8, 0, 4}},
		},
		"an episode that is cut off goes on in value": {
			Result{Truncated: true},
			[][4]float32{{0, 3, 0.125, 3}, {1, 6, 0.125, 4}, {2, 8, 0.25, 4}, {3, 8, 0.5, 4}},
		},
		"an episode that goes on keeps its last steps open": {
			Result{},
			[][4]float32{{0, 3, 0.125, 3}, {1, 6, 0.125, 4}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReplay(oneByTwo, ReplayConfig{Capacity: 10, Steps: 3, Discount: 0.5})
			story(r, 0, 4, map[int]Result{3: row.end})
			if r.Len() != len(row.want) {
				t.Fatalf("%d rows, want %d", r.Len(), len(row.want))
			}
			for i, want := range row.want {
				got := r.rows[i*r.layout.width:][:r.layout.width]
				if got[0] != want[0] || got[2] != want[1] || got[3] != want[2] || got[4] != want[3] || got[1] != float32(i%2) {
					t.Errorf("row %d is %v, want %v", i, got, want)
				}
			}
		})
	}
}

func TestReplayForgetsTheOldest(t *testing.T) {
	r := NewReplay(oneByTwo, ReplayConfig{Capacity: 4, Steps: 1, Discount: 1})
	story(r, 0, 6, nil)
	b, rng, seen := r.NewBatch(64), NewRNG(1, 1), map[float32]int{}
	for range 100 {
		r.Draw(b, rng)
		for i, v := range b.Observations {
			seen[v]++
			if b.Next[i] != v+1 || b.Choices[i] != int(v)%2 || b.Discounts[i] != 1 {
				t.Fatalf("drew %v to %v by %d", v, b.Next[i], b.Choices[i])
			}
		}
	}
	for v := range 6 {
		if share := float64(seen[float32(v)]) / 6400; (v < 2) != (share == 0) || (v >= 2 && math.Abs(share-0.25) > 0.02) {
			t.Errorf("%v was drawn in %.3f of cases", v, share)
		}
	}
}

func TestReplayDrawsByPriority(t *testing.T) {
	c := ReplayConfig{Capacity: 5, Steps: 1, Discount: 1, Priority: Priority{Exponent: 0.5, Correction: Always(1)}}
	r := NewReplay(oneByTwo, c)
	story(r, 0, 4, nil)
	b := r.NewBatch(4)
	copy(b.drawn, []int{0, 1, 2, 3})
	r.Reprioritise(b, []float32{1, -4, 9, 0}) // priorities of about 1, 2, 3 and 0.03
	shares := map[float32]float64{}
	total := 1 + 2 + 3 + math.Sqrt(leastError)
	big, rng := r.NewBatch(50), NewRNG(1, 1)
	for range 1_000 {
		r.Draw(big, rng)
		for _, v := range big.Observations {
			shares[v] += 1.0 / 50_000
		}
		for i, v := range big.Observations {
			// Fully corrected, a weight is one over the priority, normalised to the largest in
			// the batch.
			want := big.Weights[0] * float32(r.tree.leaf(int(big.Observations[0]))/r.tree.leaf(int(v)))
			if math.Abs(float64(big.Weights[i]-want)) > 1e-5 {
				t.Fatalf("weight %v, want %v", big.Weights[i], want)
			}
		}
	}
	for v, p := range map[float32]float64{0: 1, 1: 2, 2: 3, 3: math.Sqrt(leastError)} {
		if got := shares[v]; math.Abs(got-p/total) > 0.005 {
			t.Errorf("%v was drawn in %.4f of cases, want %.4f", v, got, p/total)
		}
	}
}

func TestSumTreeFindsWhatACountWouldFind(t *testing.T) {
	tree, rng := newSumTree(13), NewRNG(1, 1)
	for range 2_000 {
		tree.set(rng.IntN(13), math.Floor(rng.Float64()*8))
		if tree.total() == 0 {
			continue
		}
		level := math.Floor(rng.Float64()*tree.total()) + 0.5
		want, sum := 0, tree.leaf(0)
		for sum <= level {
			want++
			sum += tree.leaf(want)
		}
		if got := tree.find(level); got != want {
			t.Fatalf("level %v of %v: found %d, want %d", level, tree.total(), got, want)
		}
	}
}

func TestSchedules(t *testing.T) {
	for text, want := range map[string][3]float64{ // after 0, 50 and 10,000 steps
		"0.1":                    {0.1, 0.1, 0.1},
		"linear:1:0.05:100":      {1, 0.525, 0.05},
		"exponential:0.9:0.1:50": {0.9, 0.1 + 0.8/math.E, 0.1},
	} {
		var s Schedule
		if err := s.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		for i, step := range []int{0, 50, 10_000} {
			if got := s.At(step); math.Abs(got-want[i]) > 1e-9 {
				t.Errorf("%s after %d steps: %v, want %v", text, step, got, want[i])
			}
		}
		if back, err := s.MarshalText(); err != nil || string(back) != text || s.Validate(0, 1) != nil {
			t.Errorf("%s is written as %s (%v)", text, back, err)
		}
	}
	for _, bad := range []string{"", "fast", "linear:1:0", "linear:1:0:x", "cubic:1:0:5"} {
		if err := new(Schedule).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	for _, bad := range []Schedule{{Linear, 1, 0, 0}, {Linear, 2, 0, 5}, {"", 0, 0, 0}, {Linear, math.NaN(), 0, 5}} {
		if bad.Validate(0, 1) == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

// TestFadedMeansAreDropped: subnormal numbers would make steps of the optimiser very slow.
func TestFadedMeansAreDropped(t *testing.T) {
	net, err := nn.MLP{Inputs: []int{2}, Hidden: []int{4}, Outputs: 1}.Design().Build(nn.HeUniform, NewRNG(1, 1).Rand)
	if err != nil {
		t.Fatal(err)
	}
	learner := NewLearner(net, nn.AdamConfig{}, 0)
	for step := range 120_000 {
		learner.Context.Forward(1, []float32{1, -1})
		slope := float32(0)
		if step == 0 {
			slope = 1
		}
		learner.Descend([]float32{slope})
		for _, means := range [][]float32{learner.adam.State().M1, learner.adam.State().M2} {
			for _, m := range means {
				if m != 0 && math.Abs(float64(m)) < 0x1p-126 {
					t.Fatalf("step %d: a mean of %v", step, m)
				}
			}
		}
	}
}
