package study

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loadline/loadline/internal/rl"
)

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestPhysics compares one step of each with the equations of Gymnasium, computed
// independently.
func TestPhysics(t *testing.T) {
	o := make([]float32, 4)
	c := &CartPole{position: 0.03, speed: -0.02, angle: 0.01, turning: 0.04}
	c.Step(&rl.Action{Choice: 1}, o)
	near(t, "position", c.position, 0.0296)
	near(t, "speed", c.speed, 0.1749771351412365)
	near(t, "angle", c.angle, 0.0108)
	near(t, "turning", c.turning, -0.2495111285483345)

	p := &Pendulum{angle: 2.5, speed: -1}
	r := p.Step(&rl.Action{Values: []float32{0.6}}, o[:3])
	near(t, "reward", r.Reward, -6.35144)
	near(t, "speed", p.speed, -0.3711458919220325)
	near(t, "cosine", float64(o[0]), -0.7899002868567409)
	near(t, "sine", float64(o[1]), 0.6132353029821738)
}

func TestEpisodesEnd(t *testing.T) {
	o := make([]float32, 4)
	c := NewCartPole()
	c.Reset(newRand(), o)
	steps, r := 0, rl.Result{}
	for !r.Ends() {
		r = c.Step(&rl.Action{Choice: 1}, o)
		steps++
	}
	if !r.Terminated || r.Truncated || steps > 15 {
		t.Errorf("pushing one way: %+v after %d steps, want a fall", r, steps)
	}
	p := NewPendulum()
	p.Reset(newRand(), o[:3])
	for steps, r = 0, (rl.Result{}); !r.Ends(); steps++ {
		r = p.Step(&rl.Action{Values: []float32{0}}, o[:3])
	}
	if r.Terminated || steps != 200 {
		t.Errorf("pendulum: %+v after %d steps, want a cut after 200", r, steps)
	}
}

// TestTasksKeepTheContract: the same random numbers and actions give the same episode, whatever
// came before, and observations and rewards are finite.
func TestTasksKeepTheContract(t *testing.T) {
	for _, l := range Tasks() {
		t.Run(l.Name, func(t *testing.T) {
			env, err := l.New()
			if err != nil {
				t.Fatal(err)
			}
			spaces := env.Spaces()
			if err := spaces.Validate(); err != nil {
				t.Fatal(err)
			}
			episode := func() []float64 {
				var seen []float64
				rng, actions := newRand(), newRand()
				action, o := spaces.NewAction(), make([]float32, spaces.Observation)
				env.Reset(rng, o)
				for over := false; !over; {
					for i := range action.Values {
						action.Values[i] = 2*actions.Float32() - 1
					}
					if spaces.Discrete() {
						action.Choice = actions.IntN(spaces.Choices)
					}
					r := env.Step(&action, o)
					seen, over = append(seen, r.Reward), r.Ends()
					for _, v := range o {
						seen = append(seen, float64(v))
					}
				}
				return seen
			}
			first := episode()
			if !slices.Equal(first, episode()) {
				t.Error("two episodes of the same seed differ")
			}
			if slices.ContainsFunc(first, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
				t.Error("something is not finite")
			}
		})
	}
}
