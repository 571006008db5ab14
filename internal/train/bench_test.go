package train

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/rl"
)

// longEpisode has enough steps that no benchmark begins another.
const longEpisode = 1 << 20

// BenchmarkArenaStep is a step of a whole application in which every service changes.
func BenchmarkArenaStep(b *testing.B) {
	c := configOf(b)
	c.Steps, c.Duration = longEpisode, 2*longEpisode*c.Needs.Period
	a := begin(b, c, 1, NoCulprit)
	proposal := loadline.Proposal{Services: make([]loadline.ServiceProposal, len(c.App.Services))}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for s := range proposal.Services {
			proposal.Services[s] = loadline.ServiceProposal{Service: s, Setting: loadline.Setting{Replicas: loadline.Some(2 + i%2)}}
		}
		a.Act(proposal)
	}
}

// BenchmarkServiceEnvStep is a step of an agent that scales one service.
func BenchmarkServiceEnvStep(b *testing.B) {
	c := configOf(b)
	problem, err := formulation.NewProblem("loadline-dqn", 0, nil)
	if err != nil {
		b.Fatal(err)
	}
	e, err := NewServiceEnv(ServiceEnvConfig{
		Problem: problem, Steps: longEpisode, CPUNoise: 0.1,
		Scenarios: ServiceScenarios(formulation.NewTopology(c.App), steady(60), longEpisode*time.Minute)[:1],
	})
	if err != nil {
		b.Fatal(err)
	}
	observation, action := make([]float32, e.Spaces().Observation), rl.Action{}
	e.Reset(rand.New(rand.NewPCG(1, 1)), observation)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		action.Choice = i % e.Spaces().Choices
		e.Step(&action, observation)
	}
}
