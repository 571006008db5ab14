package report

import (
	"math"
	"slices"
	"testing"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

func TestSignificant(t *testing.T) {
	for v, want := range map[result.Number]result.Number{0: 0, 123456: 123000, 0.0012345: 0.00123, -99.95: -100, 5: 5} {
		if got := significant(v, 3); math.Abs(float64(got-want)) > 1e-12 {
			t.Errorf("%v: %v, want %v", v, got, want)
		}
	}
	if !math.IsNaN(float64(significant(result.Number(math.NaN()), 3))) {
		t.Error("an absent value became one")
	}
	if got := significant(1e-305, 3); got != 1e-305 {
		t.Errorf("the smallest numbers: %v", got)
	}
}

// The textbook's paired sample: differences 2, 4, 6 have mean 4 and standard
// error 2/sqrt(3), and t(0.975, 2) is 4.303.
func TestPairedCost(t *testing.T) {
	d := pairedCost(
		map[uint64]figures{1: {cost: 12}, 2: {cost: 14}, 3: {cost: 16}, 9: {cost: 1000}},
		map[uint64]figures{1: {cost: 10}, 2: {cost: 10}, 3: {cost: 10}, 8: {cost: 1000}},
	)
	half := 4.302653 * 2 / math.Sqrt(3)
	if d.pairs != 3 || math.Abs(d.mean-4) > 1e-9 || math.Abs(d.high-4-half) > 1e-5 || math.Abs(d.low-4+half) > 1e-5 {
		t.Errorf("%+v", d)
	}
	if d.clear() {
		t.Error("an interval around zero is called clear")
	}
	if alone := pairedCost(map[uint64]figures{1: {cost: 1}}, map[uint64]figures{1: {cost: 2}}); alone.clear() || !math.IsNaN(alone.low) {
		t.Errorf("one pair: %+v", alone)
	}
	if none := pairedCost(map[uint64]figures{1: {}}, map[uint64]figures{2: {}}); none.clear() || !math.IsNaN(none.mean) {
		t.Errorf("no pair: %+v", none)
	}
}

func TestFront(t *testing.T) {
	at := func(label, policy string, cost, over float64) contender {
		return contender{label: label, policy: policy, cost: []float64{cost}, over: over}
	}
	r, err := Read(tinyBench(t,
		at("cheap and unsafe", "a", 1, 0.2),
		at("between", "b", 2, 0.01),
		at("beaten on both", "c", 3, 0.05),
		at("safe", "d", 4, 0.001),
		at("as safe, dearer", "e", 5, 0.001),
		at("oracle", "oracle", 0.5, 0.0001),
	))
	if err != nil {
		t.Fatal(err)
	}
	var front []string
	for _, row := range r.Summary.Rows {
		if row.Front {
			front = append(front, r.Summary.Policies[row.Policy].Label)
		}
	}
	if want := []string{"cheap and unsafe", "between", "safe"}; !slices.Equal(front, want) {
		t.Errorf("front %q, want %q", front, want)
	}
}

func TestSurvival(t *testing.T) {
	b := newBuckets()
	for range 2 { // two seeds
		if err := b.add([]bench.Bucket{{UpToMs: 1000, Count: 10}, {UpToMs: 10, Count: 900}, {UpToMs: 100, Count: 90}}); err != nil {
			t.Fatal(err)
		}
	}
	s := b.survival()
	if !slices.Equal(s.Ms, []result.Number{10, 100, 1000}) || !slices.Equal(s.Slower, []result.Number{0.1, 0.01, 0}) {
		t.Errorf("%+v", s)
	}
	fine := newBuckets()
	for i := range 100000 {
		fine.count[1+float64(i)] = 1
	}
	if n := len(fine.survival().Ms); n > 2*curvePoints || n < 40 {
		t.Errorf("%d points of a fine distribution", n)
	}
}

func TestStoryKeepsItsShape(t *testing.T) {
	r := tinyRun("k", bench.Case{}, 1, 1, 0)
	r.DecisionsLeftOut = 5
	s, err := storyOf(&r)
	if err != nil {
		t.Fatal(err)
	}
	if s.From != 15 || s.Step != 15 || s.Steps != 3 || s.T != nil {
		t.Errorf("time: %+v", s)
	}
	if s.Load[1] != 20.1 || !slices.Equal(s.Changed, []int{0, 1, 0}) || s.Decisions != 6 {
		t.Errorf("load %v, changed %v, %d decisions", s.Load, s.Changed, s.Decisions)
	}
	r.Timeline.T = []result.Number{15, 30, 46}
	if s, err = storyOf(&r); err != nil || !slices.Equal(s.T, r.Timeline.T) {
		t.Errorf("uneven time: %v, %v", s.T, err)
	}
	r.Decisions = slices.Repeat(r.Decisions, 10*mostDecisions)
	if s, err = storyOf(&r); err != nil || len(s.Shown) != mostDecisions || s.Changed[1] != 10*mostDecisions {
		t.Errorf("%d of many decisions shown, %v", len(s.Shown), err)
	}
}
