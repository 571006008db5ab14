package rl_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/nn/gemm"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/lab/study"
)

var measuredPeak = sync.OnceValue(func() float64 { return gemm.MeasurePeak(time.Now) })

// measure repeats an update. Besides the mean rate it prints the best of short stretches, since
// other load on the machine only slows one down, and its share of the core's peak, found
// likewise. Only matrix products count as arithmetic.
func measure(b *testing.B, flops float64, update func()) {
	// About a millisecond; an even number, as only every second update of TD3 is a complete
	// one.
	stretch := 2 * max(1, int(5e7/flops))
	best, done, began := math.Inf(1), 0, time.Now()
	b.ReportAllocs()
	for b.Loop() {
		update()
		if done++; done%stretch == 0 {
			now := time.Now()
			best, began = min(best, now.Sub(began).Seconds()/float64(stretch)), now
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
	b.ReportMetric(1/best, "best-updates/s")
	b.ReportMetric(flops/best/1e9, "best-GFLOP/s")
	b.ReportMetric(100*flops/best/measuredPeak(), "%peak")
}

// pass is the arithmetic of one pass over a batch through dense layers of these
// widths: forward, or either half of backward; and of the first layer alone,
// whose inputs need no gradient.
func pass(batch int, widths ...int) (all, first float64) {
	for i := range len(widths) - 1 {
		all += 2 * float64(batch*widths[i]*widths[i+1])
	}
	return all, 2 * float64(batch*widths[0]*widths[1])
}

// fill adds random transitions.
func fill(remember func(rl.Transition), spaces rl.Spaces, n int) {
	rng := rand.New(rand.NewPCG(1, 2))
	numbers := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(2*rng.Float64() - 1)
		}
		return out
	}
	for range n {
		t := rl.Transition{Observation: numbers(spaces.Observation), Next: numbers(spaces.Observation),
			Action: rl.Action{Values: numbers(spaces.Dimensions)}}
		if spaces.Discrete() {
			t.Action.Choice = rng.IntN(spaces.Choices)
		}
		t.Reward = rng.Float64()
		remember(t)
	}
}

// BenchmarkDQNUpdate is a complete update, including drawing from the replay buffer and Adam.
func BenchmarkDQNUpdate(b *testing.B) {
	spaces := rl.Spaces{Observation: 8, Choices: 3}
	all, first := pass(64, 8, 64, 64, 3)
	for _, v := range []struct {
		name   string
		change func(*rl.DQNConfig)
		passes float64 // forward
	}{
		{"plain", func(c *rl.DQNConfig) { c.Double = false }, 2},
		{"double", func(c *rl.DQNConfig) {}, 3},
		{"double, prioritised", func(c *rl.DQNConfig) { c.Priority.Exponent = 0.6 }, 3},
	} {
		b.Run(v.name, func(b *testing.B) {
			config := rl.DefaultDQN()
			v.change(&config)
			agent, err := rl.NewDQN(config, spaces, 1)
			if err != nil {
				b.Fatal(err)
			}
			fill(agent.Remember, spaces, config.Replay)
			agent.Update()
			measure(b, (v.passes+2)*all-first, func() { agent.Update() })
		})
	}
}

// BenchmarkDQNOnCartPole is the full loop: acting, stepping, learning each step.
func BenchmarkDQNOnCartPole(b *testing.B) {
	env := study.NewCartPole()
	agent, err := rl.NewDQN(rl.DefaultDQN(), env.Spaces(), 1)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	training := rl.NewTraining(env, agent, 1, rl.TrainingConfig{Steps: b.N})
	if err := training.Run(context.Background(), rl.Hooks{}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}

// BenchmarkCartPole is the environment alone, with a greedy policy.
func BenchmarkCartPole(b *testing.B) {
	env := study.NewCartPole()
	agent, err := rl.NewDQN(rl.DefaultDQN(), env.Spaces(), 1)
	if err != nil {
		b.Fatal(err)
	}
	action, observation := env.Spaces().NewAction(), make([]float32, 4)
	rng := rl.NewRNG(1, 1)
	over := true
	for b.Loop() {
		if over {
			env.Reset(rng.Rand, observation)
		}
		agent.Decide(observation, &action)
		over = env.Step(&action, observation).Ends()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}

func BenchmarkTD3Update(b *testing.B) {
	spaces := rl.Spaces{Observation: 8, Dimensions: 3}
	for _, hidden := range []int{64, 256} {
		b.Run(fmt.Sprintf("%dx%d", hidden, hidden), func(b *testing.B) {
			config := rl.DefaultTD3()
			config.Hidden = []int{hidden, hidden}
			agent, err := rl.NewTD3(config, spaces, 1)
			if err != nil {
				b.Fatal(err)
			}
			fill(agent.Remember, spaces, config.Replay)
			agent.Update()
			agent.Update()
			actor, actorFirst := pass(256, 8, hidden, hidden, 3)
			critic, criticFirst := pass(256, 11, hidden, hidden, 1)
			critics := actor + 4*critic + 2*(2*critic-criticFirst)
			delayed := actor + 2*critic + 2*actor - actorFirst
			measure(b, critics+delayed/2, func() { agent.Update() })
		})
	}
}

func BenchmarkTabular(b *testing.B) {
	// A-SARSA's table: 10 bins of CPU, 6 of response time, 21 actions.
	spaces := rl.Spaces{Observation: 2, Choices: 21}
	config := rl.DefaultTabular()
	config.Edges = [][]float32{rl.EvenEdges(1, 10, -1, 1)[0], rl.EvenEdges(1, 6, -1, 1)[0]}
	q, err := rl.NewTabularQ(config, spaces, 1)
	if err != nil {
		b.Fatal(err)
	}
	sarsa, err := rl.NewSARSA(config, spaces, 1)
	if err != nil {
		b.Fatal(err)
	}
	for name, agent := range map[string]rl.Agent{"Q": q, "SARSA": sarsa} {
		b.Run(name, func(b *testing.B) {
			var steps []rl.Transition
			fill(func(t rl.Transition) { steps = append(steps, t) }, spaces, 1_000)
			i := 0
			for b.Loop() {
				agent.Explore(steps[i].Observation, &steps[i].Action)
				agent.Learn(steps[i])
				i = (i + 1) % len(steps)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
			b.ReportAllocs()
		})
	}
}

func BenchmarkStudentUpdate(b *testing.B) {
	spaces := rl.Spaces{Observation: 5, Dimensions: 3}
	student, err := rl.NewClone(nn.Student(), rl.DefaultClone(), spaces, 1)
	if err != nil {
		b.Fatal(err)
	}
	fill(func(t rl.Transition) { student.Remember(t.Observation, t.Action) }, spaces, 10_000)
	student.Update()
	all, first := pass(64, 5, 20, 20, 3)
	measure(b, 3*all-first, func() { student.Update() })
}

func BenchmarkReplayDraw(b *testing.B) {
	spaces := rl.Spaces{Observation: 8, Choices: 3}
	for name, priority := range map[string]rl.Priority{"even": {}, "prioritised": {Exponent: 0.6, Correction: rl.Always(0.4)}} {
		b.Run(name, func(b *testing.B) {
			replay := rl.NewReplay(spaces, rl.ReplayConfig{Capacity: 1_000_000, Steps: 1, Discount: 0.99, Priority: priority})
			fill(replay.Add, spaces, 1_000_000)
			batch, rng := replay.NewBatch(64), rl.NewRNG(1, 1)
			for b.Loop() {
				replay.Draw(batch, rng)
			}
			b.ReportAllocs()
		})
	}
}
