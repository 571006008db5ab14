package learners

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/arena"
	"github.com/loadline/loadline/internal/drpc"
	"github.com/loadline/loadline/internal/msars"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/rl"
)

// Chance of the episodes that learners are examined on in the end, as in their schools.
const finalStream = 3 << 32

// ahead is what forecasters are shown and asked, as in MSARS' school.
var ahead = arena.Foresight{Step: drpc.ForecastStep, Span: drpc.ForecastStep, Whole: true, Task: drpc.ForecastTask(), Config: drpc.ForecastConfig}

// msarsExams measures MSARS by DRPC's reward, on the episodes that its school ends
// with. Nobody watches profiles here either: the fluid engine's latencies are not those
// that they were measured by.
func msarsExams(m *msars.Model, on subject, t Task) ([]Exam, error) {
	config := msarsConfig(t)
	world, err := arena.New(arena.Config{
		App: on.app, Load: on.load, Duration: on.duration, Needs: drpc.NeedsOf(m.Period, time.Second), Steps: config.Episode,
		Resize: arena.AnySize, Almanac: arena.Recall(on.app, on.load, on.duration, ahead, m.Forecasts),
	})
	if err != nil {
		return nil, err
	}
	hold := func(time.Time, loadline.Situation) (loadline.Proposal, error) { return loadline.Proposal{}, nil }
	idle, err := examined("nobody", world, t.Seed, config.Episodes, func() {}, hold)
	if err != nil {
		return nil, err
	}
	begin, decide, err := steered(m, on.app, world.Needs().Window)
	if err != nil {
		return nil, err
	}
	taught, err := examined("msars", world, t.Seed, config.Episodes, begin, decide)
	return []Exam{idle, taught}, err
}

// decider is whoever decides for a whole application.
type decider func(now time.Time, s loadline.Situation) (loadline.Proposal, error)

// steered is a model that decides, and what begins an episode for it. What was not
// measured is held, as at work.
func steered(m *msars.Model, app *loadline.App, window time.Duration) (begin func(), decide decider, err error) {
	divider, err := msars.NewDivider(app, m.Division, window)
	if err != nil {
		return nil, nil, err
	}
	steering, err := msars.NewSteering(app, divider, m.Steps, m.Reward)
	if err != nil {
		return nil, nil, err
	}
	agent, err := msars.NewAgent(m.Actor, steering, len(app.Services))
	if err != nil {
		return nil, nil, err
	}
	seen, wants := make([]float32, 0, steering.Width()), make([]float32, drpc.Axes*len(app.Services))
	return steering.Begin, func(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
		s, absent, err := steering.See(now, s)
		if err != nil || absent != "" {
			return loadline.Proposal{}, err
		}
		agent.Decide(steering.Fill(s, seen[:0]), wants)
		return steering.Do(now, s, wants, false)
	}, nil
}

// examined is what somebody achieves by DRPC's reward. Where nobody's figures were
// measured, what was worth something last stands.
func examined(who string, world *arena.Arena, seed uint64, episodes int, begin func(), decide decider) (Exam, error) {
	var sum drpc.Worth
	reward, steps := drpc.DefaultReward(), 0.0
	for e := range episodes {
		world.Begin(rl.NewChance(seed, finalStream+uint64(e)).Rand, arena.Nobody)
		begin()
		worth := drpc.Worth{}
		for !world.Over() {
			proposal, err := decide(world.Now(), world.Situation())
			if err != nil {
				return Exam{}, err
			}
			world.Act(proposal)
			if now, known := reward.Of(world.App(), world.Situation().Now()); known {
				worth = now
			}
			sum.Reward += worth.Reward
			sum.QoS += worth.QoS
			sum.CPU += worth.CPU
			sum.Memory += worth.Memory
			steps++
		}
	}
	mean := func(v float64) result.Number { return result.Number(v / steps) }
	return Exam{who, mean(sum.Reward), mean(sum.QoS), mean(sum.CPU), mean(sum.Memory)}, nil
}
