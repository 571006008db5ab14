package rl_test

import (
	"testing"

	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/rl"
)

// TestAgentsOfThePapers makes every agent of the papers and their rivals, with the published
// constants, and trains it a little.
func TestAgentsOfThePapers(t *testing.T) {
	three := rl.Spaces{Observation: 8, Choices: 3}
	drpc := rl.Spaces{Observation: 5, Dimensions: 3}
	for name, build := range map[string]func() (rl.Spaces, rl.Agent, error){
		"Scaling-Ops: DQN with a copied target": func() (rl.Spaces, rl.Agent, error) {
			c := rl.DefaultDQN()
			c.Double, c.Soft, c.Copy = false, 0, 500
			a, err := rl.NewDQN(c, three, 1)
			return three, a, err
		},
		"Elastic-DQN: soft updates": func() (rl.Spaces, rl.Agent, error) {
			c := rl.DefaultDQN()
			c.Double, c.Discount, c.Rate, c.Soft = false, 0.94, 1e-3, 0.005
			a, err := rl.NewDQN(c, three, 1)
			return three, a, err
		},
		"Serverless: joint actions of two functions": func() (rl.Spaces, rl.Agent, error) {
			spaces := rl.Spaces{Observation: 9, Choices: 3 * 3}
			c := rl.DefaultDQN()
			c.Hidden, c.Batch, c.Rate, c.Decay, c.Soft, c.Double = []int{128, 128}, 8, 1e-4, 0.01, 0.005, false
			c.Explore = rl.Schedule{Shape: rl.Exponential, From: 0.9, To: 0.05, Steps: 150}
			a, err := rl.NewDQN(c, spaces, 1)
			return spaces, a, err
		},
		"DRPC: the teacher": func() (rl.Spaces, rl.Agent, error) {
			c := rl.DefaultTD3()
			c.Hidden, c.Norm, c.Replay, c.WarmUp, c.Batch = []int{400, 300}, true, 1_000_000, 300, 256
			a, err := rl.NewTD3(c, drpc, 1)
			return drpc, a, err
		},
		"FIRM: DDPG": func() (rl.Spaces, rl.Agent, error) {
			c := rl.DefaultDDPG()
			c.Hidden, c.ActorRate, c.CriticRate, c.Batch, c.Replay = []int{40, 40}, 3e-4, 3e-3, 64, 100_000
			c.Discount, c.Soft, c.Noise, c.WarmUp = 0.9, 0.001, 0.2, 300
			a, err := rl.NewTD3(c, drpc, 1)
			return drpc, a, err
		},
		"CoScal: Q-learning over four levels": func() (rl.Spaces, rl.Agent, error) {
			spaces := rl.Spaces{Observation: 2, Choices: 5}
			c := rl.DefaultTabular()
			c.Edges = rl.EvenEdges(2, 4, 0, 1)
			a, err := rl.NewTabularQ(c, spaces, 1)
			return spaces, a, err
		},
		"A-SARSA: ten by six bins, -10 to +10": func() (rl.Spaces, rl.Agent, error) {
			spaces := rl.Spaces{Observation: 2, Choices: 21}
			c := rl.DefaultTabular()
			c.Edges = [][]float32{rl.EvenEdges(1, 10, 0, 1)[0], {0.25, 0.5, 0.75, 1, 1.5}}
			a, err := rl.NewSARSA(c, spaces, 1)
			return spaces, a, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			spaces, agent, err := build()
			if err != nil {
				t.Fatal(err)
			}
			before := append([]float32(nil), agent.Weights()...)
			fill(func(step rl.Transition) { agent.Learn(step) }, spaces, 320)
			if agent, ok := agent.(interface{ Update() float64 }); ok {
				for range 4 {
					agent.Update()
				}
			}
			if !nn.Finite(agent.Weights()) {
				t.Error("weights are not finite")
			}
			same := 0
			for i, w := range agent.Weights() {
				if w == before[i] {
					same++
				}
			}
			if same == len(before) {
				t.Error("nothing was learned")
			}
		})
	}
	if _, err := rl.NewClone(nn.Student(), rl.DefaultClone(), drpc, 1); err != nil {
		t.Errorf("DRPC: a student: %v", err)
	}
}

// TestLearningFromAnothersHistory: an agent that never acts learns from the actions of another
// policy, here a random one.
func TestLearningFromAnothersHistory(t *testing.T) {
	for _, s := range subjects() {
		env, agent := s.identity(t, 1)
		student, ok := agent.(interface {
			Remember(rl.Transition)
			Update() float64
		})
		if !ok {
			continue // tables learn from each step at once
		}
		spaces := env.Spaces()
		rng, action := rl.NewRNG(5, 5), spaces.NewAction()
		observation, next := make([]float32, spaces.Observation), make([]float32, spaces.Observation)
		for range 10 {
			env.Reset(rng.Rand, observation)
			for over := false; !over; {
				for i := range action.Values {
					action.Values[i] = 2*rng.Float32() - 1
				}
				action.Choice = rng.IntN(max(1, spaces.Choices))
				result := env.Step(&action, next)
				student.Remember(rl.Transition{Observation: observation, Action: action, Result: result, Next: next})
				observation, next, over = next, observation, result.Ends()
			}
		}
		for range s.steps {
			student.Update()
		}
		want := 99.0
		if !spaces.Discrete() {
			want = -2
		}
		if got := rl.Evaluate(env, agent, 1, 10, 0).Mean(); got < want {
			t.Errorf("%s: mean return %.2f, want at least %.2f", s.name, got, want)
		}
	}
}
