package rl

import (
	"math"
	"strings"
	"testing"
)

// The corridor has three cells; choice 1 goes right, and leaving it at the right
// end gives a reward of 1 and terminates.
var corridor = Spaces{Observation: 1, Choices: 2}

func config() TabularConfig {
	c := DefaultTabular()
	c.Edges = [][]float32{{1, 2}}
	return c
}

func right(cell int, end Result) Transition {
	return Transition{Observation: []float32{float32(cell)}, Action: Action{Choice: 1}, Result: end,
		Next: []float32{float32(cell + 1)}}
}

var won = Result{Reward: 1, Terminated: true}

func near(t *testing.T, what string, got float32, want float64) {
	t.Helper()
	if math.Abs(float64(got)-want) > 1e-6 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestQLearnsTheCorridor(t *testing.T) {
	c := config()
	c.Rate = 0.5
	q, err := NewTabularQ(c, corridor, 1)
	if err != nil {
		t.Fatal(err)
	}
	q.Learn(right(2, won))
	near(t, "one step from the end, once", q.row(2)[1], 0.5)
	q.Learn(right(1, Result{}))
	near(t, "two steps from the end", q.row(1)[1], 0.5*0.9*0.5)
	for range 200 {
		q.Learn(right(0, Result{}))
		q.Learn(right(1, Result{}))
		q.Learn(right(2, won))
	}
	for cell, want := range []float64{0.81, 0.9, 1} {
		near(t, "a cell's value", q.row(cell)[1], want)
	}
	// Staying without reward is worth what follows, if the episode was cut off.
	stay := Transition{Observation: []float32{2}, Result: Result{Truncated: true}, Next: []float32{2}}
	for range 200 {
		q.Learn(stay)
	}
	near(t, "a cut-off", q.row(2)[0], 0.9)
}

func TestSARSATraces(t *testing.T) {
	const alpha, gamma, lambda = 0.5, 0.9, 0.8
	for name, row := range map[string]struct {
		traces Traces
		visits int     // to the first cell, by choice 1
		want   float64 // its value then
	}{
		"a trace fades by gamma and lambda each step":  {Replacing, 1, alpha * math.Pow(gamma*lambda, 2)},
		"a replaced trace forgets the visit before":    {Replacing, 2, alpha * math.Pow(gamma*lambda, 2)},
		"an accumulated one keeps it":                  {Accumulating, 2, alpha * (math.Pow(gamma*lambda, 2) + math.Pow(gamma*lambda, 3))},
		"an accumulated one is no other after a visit": {Accumulating, 1, alpha * math.Pow(gamma*lambda, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			c := config()
			c.Rate, c.Lambda, c.Traces = alpha, lambda, row.traces
			s, err := NewSARSA(c, corridor, 1)
			if err != nil {
				t.Fatal(err)
			}
			for range row.visits {
				s.Learn(right(0, Result{}))
			}
			s.Learn(right(1, Result{}))
			s.Learn(right(2, won))
			near(t, "the first cell", s.row(0)[1], row.want)
			near(t, "the last cell", s.row(2)[1], alpha)
			if len(s.traced) != 0 || s.open {
				t.Error("traces outlive the episode")
			}
		})
	}
}

// TestSARSALearnsTheValueOfWhatItDoes: unlike Q-learning, it accounts for the second step being
// random half of the time.
func TestSARSALearnsTheValueOfWhatItDoes(t *testing.T) {
	c := config()
	c.Rate, c.Lambda = 0.01, 0
	s, err := NewSARSA(c, corridor, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40_000 {
		s.Learn(right(1, Result{}))
		last := right(2, won)
		if i%2 == 0 {
			last.Action.Choice, last.Reward = 0, 0
		}
		s.Learn(last)
	}
	if got := float64(s.row(1)[1]); math.Abs(got-0.45) > 0.01 {
		t.Errorf("value %.3f, want 0.45", got)
	}
}

func TestStatesAreCells(t *testing.T) {
	c := config()
	c.Edges = [][]float32{{0.5}, {1, 2, 3}}
	q, err := NewTabularQ(c, Spaces{Observation: 2, Choices: 3}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range [][]float32{{0, 0}, {0, 1}, {0.4, 2.5}, {-9, 3}, {0.5, -9}, {1, 1.5}, {1, 2}, {7, 99}} {
		if got := q.state(o); got != want {
			t.Errorf("%v is cell %d, want %d", o, got, want)
		}
	}
	if len(q.values) != 8*3 {
		t.Errorf("%d values, want 24", len(q.values))
	}
}

func TestTabularConfigNamesEveryFault(t *testing.T) {
	c := TabularConfig{Edges: [][]float32{{2, 1}}, Rate: 2, Discount: -1, Lambda: 7, Traces: "none", Initial: math.Inf(1)}
	err := c.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"edges", "rate is 2", "discount", "lambda", "traces", "initial", "explore"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if _, err := NewTabularQ(config(), Spaces{Observation: 2, Choices: 2}, 1); err == nil {
		t.Error("took edges of one feature for two")
	}
	huge := config()
	huge.Edges = EvenEdges(12, 10, 0, 1)
	if huge.Validate() == nil {
		t.Error("took a table of 10^12 states")
	}
}
