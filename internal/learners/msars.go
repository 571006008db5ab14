package learners

import (
	"context"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline/internal/policy/msars/trainer"
)

// msarsLearner splits by parslo: the networks that split would have to be trained
// first, and in the one comparison there is (docs/msars.md) they do no better.
var msarsLearner = Learner{Name: "msars", Policy: "msars", train: func(ctx context.Context, on subject, t Task, path string, progress func(float64)) (*Trained, error) {
	known, err := on.profiles(ctx, part(progress, 0, profiledUntil))
	if err != nil {
		return nil, err
	}
	rest := part(progress, profiledUntil, 1)
	model, report, err := trainer.Run(ctx, train.Scenario{App: on.app, Load: on.load, Duration: on.duration, Source: on.source}, known, msarsConfig(t), trainer.Hooks{
		Progress: func(share float64, _ string) { rest(share) },
	})
	if err != nil {
		return nil, err
	}
	return trainedBySplit(report), model.Write(path)
}}

// profiledUntil is the share of the time, for progress.
const profiledUntil = 0.05

// msarsConfig takes as many whole episodes as the steps allow: the school does not cut
// the last one off, and nobody gets more steps than another.
func msarsConfig(t Task) trainer.Config {
	c := trainer.Default("parslo")
	c.Seed = t.Seed
	c.Episode = min(c.Episode, t.Steps)
	c.Most = t.Steps - t.Steps%c.Episode
	c.Every = every(t.Steps)
	c.Episodes = exams(t.Steps, c.Episodes)
	c.Agent.Explore.Steps = min(c.Agent.Explore.Steps, c.Most*2/3)
	c.Agent.WarmUp = min(c.Agent.WarmUp, max(c.Agent.Batch, c.Most/8))
	c.Agent.Rate *= t.Setting.Rate
	c.Agent.ActorRate *= t.Setting.Rate
	return c
}

// trainedBySplit: the school learns by MSARS' own reward, of parts of the SLO, and
// tells DRPC's beside it.
func trainedBySplit(r *trainer.Report) *Trained {
	t := &Trained{Parameters: r.Parameters}
	for _, p := range r.Curve {
		t.pass(p.Point, p.Yardstick)
	}
	for _, x := range r.Results {
		t.sit(x.Who, x.Yardstick, x.Users, x.Result)
	}
	return t
}
