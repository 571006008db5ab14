package learners

import (
	"context"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/lab/rivals"
	"github.com/loadline/loadline/lab/rivals/trainer"
)

func rivalLearners() []Learner {
	var all []Learner
	for _, name := range rivals.Names() {
		all = append(all, Learner{Name: string(name), Policy: string(name), train: func(ctx context.Context, on subject, t Task, path string, progress func(float64)) (*Trained, error) {
			model, report, err := trainer.Run(ctx, name, train.Scenario{App: on.app, Load: on.load, Duration: on.duration, Source: on.source}, practiceConfig(name, t), trainer.Hooks{
				Progress: func(share float64, _ string) { progress(share) },
			})
			if err != nil {
				return nil, err
			}
			return trainedInPractice(report), model.Write(path)
		}})
	}
	return all
}

func practiceConfig(name rivals.Name, t Task) trainer.Config {
	c := trainer.Default(name)
	c.Seed, c.Steps, c.Every = t.Seed, t.Steps, every(t.Steps)
	c.Episodes = exams(t.Steps, c.Episodes)
	c.DDPG.WarmUp = min(c.DDPG.WarmUp, max(c.DDPG.Batch, t.Steps/8))
	c.Table.Rate = min(c.Table.Rate*t.Setting.Rate, 1)
	c.DDPG.ActorRate *= t.Setting.Rate
	c.DDPG.CriticRate *= t.Setting.Rate
	return c
}

func trainedInPractice(r *trainer.Report) *Trained {
	t := &Trained{Parameters: r.Parameters}
	for _, p := range r.Curve {
		t.pass(p.Point, p.Yardstick)
	}
	for _, x := range r.Results {
		t.sit(x.Who, x.Yardstick, x.QoS, x.Result)
	}
	for _, e := range r.Episodes {
		t.Episodes = append(t.Episodes, result.Number(e))
	}
	return t
}
