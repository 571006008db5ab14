package policy

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// stepRate is 20/s, and 200/s from one minute to two.
func stepRate(_ int, t time.Duration) (float64, time.Duration) {
	switch {
	case t < time.Minute:
		return 20, time.Minute
	case t < 2*time.Minute:
		return 200, 2 * time.Minute
	}
	return 20, math.MaxInt64
}

func seen(t *testing.T, spec string, rate Rate) *Oracle {
	t.Helper()
	p, err := New(spec, boundApp())
	if err != nil {
		t.Fatal(err)
	}
	c := p.(*Oracle)
	c.SetFuture(scenarioStart, 3*time.Minute, rate, nil)
	return c
}

func TestOracleStartsAheadAndLeavesInTime(t *testing.T) {
	plan := seen(t, "oracle:level=0.5", stepRate).schedule[0]
	// 2 cores of work at half of 0.5 cores each are 8 replicas; 0.2 are one. They
	// take 10 s to start, two steps; one more is for the step itself.
	want := slices.Concat(slices.Repeat([]int{1}, 12-3), slices.Repeat([]int{8}, 12+3), slices.Repeat([]int{1}, 12))
	if !slices.Equal(plan, want) {
		t.Errorf("%v, want %v", plan, want)
	}
}

func TestOracleKeepsToItsLevels(t *testing.T) {
	c := seen(t, "oracle:level=0.5,web=1,stars=0.25", stepRate)
	if most := []int{slices.Max(c.schedule[0]), slices.Max(c.schedule[1]), slices.Max(c.schedule[2])}; !slices.Equal(most,
		[]int{4, 1, 16}) {
		t.Errorf("at most %v replicas", most)
	}
	if sum, least := c.ReplicaSteps(1); sum != 36 || least != 36 {
		t.Errorf("db: %d replica steps, least %d", sum, least)
	}
}

func TestOracleSizesWithTheCPUAmongItsAxes(t *testing.T) {
	c := seen(t, "oracle:axes=replicas+cpu,level=1", stepRate)
	p, err := c.Decide(scenarioStart.Add(time.Minute), loadline.Situation{App: c.app})
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Services[0].Setting; s.CPURequest.Value != 0.05 || s.CPULimit.Value != 2 || s.Replicas.Value != 1 {
		t.Errorf("%+v", s)
	}
}

func TestOracleHoldsWhatItHasNotForeseen(t *testing.T) {
	p, err := New("oracle", boundApp())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Decide(scenarioStart, loadline.Situation{}); !errors.Is(err, loadline.ErrNoData) {
		t.Errorf("err %v", err)
	}
	c := seen(t, "oracle", stepRate)
	if p, err := c.Decide(scenarioStart.Add(time.Hour), loadline.Situation{App: c.app}); err != nil || len(p.Services) != 0 {
		t.Errorf("after the end: %+v, %v", p, err)
	}
}

func TestOracleKnowsOfAHeavierVersion(t *testing.T) {
	c := seen(t, "oracle:level=0.5", constantRate(20))
	before := slices.Max(c.schedule[0])
	c.SetFuture(scenarioStart, 3*time.Minute, constantRate(20), []DemandChange{{At: 90 * time.Second, Service: 0, Factor: 4}})
	if first, last := c.schedule[0][0], c.schedule[0][35]; before != 1 || first != 1 || last != 4 {
		t.Errorf("%d replicas without it, %d before it and %d after, want 1, 1 and 4", before, first, last)
	}
}

func TestShortNeedsCanBeIgnored(t *testing.T) {
	need := []int{1, 1, 5, 1, 1, 4, 4, 4, 1, 1}
	if got := dropShort(need, 1); !slices.Equal(got, []int{1, 1, 1, 1, 1, 4, 4, 4, 1, 1}) {
		t.Errorf("%v", got)
	}
	if got := dropShort(need, 0); !slices.Equal(got, need) {
		t.Errorf("%v", got)
	}
}
