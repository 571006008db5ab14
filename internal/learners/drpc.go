package learners

import (
	"context"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
	"github.com/loadline/loadline/internal/result"
)

var (
	drpcLearner      = schoolLearner("drpc", drpc.Continuous)
	branchingLearner = schoolLearner("drpc-branching", drpc.Discrete)
)

func schoolLearner(name string, kind drpc.Kind) Learner {
	return Learner{Name: name, Policy: "drpc", train: func(ctx context.Context, on subject, t Task, path string, progress func(float64)) (*Trained, error) {
		model, report, err := trainer.Run(ctx, train.Scenario{App: on.app, Load: on.load, Duration: on.duration, Source: on.source}, schoolConfig(kind, t), trainer.Hooks{
			Progress: func(share float64, _ string) { progress(share) },
		})
		if err != nil {
			return nil, err
		}
		return trainedAtSchool(report), model.Write(path)
	}}
}

// schoolConfig divides the steps: a fourteenth is for the students that act, up to a
// sixth for the examples that they are distilled from, and the rest for the teacher.
// What the notifier would add is left out, since nobody else gets it.
func schoolConfig(kind drpc.Kind, t Task) trainer.Config {
	c := trainer.Default(kind)
	c.Seed = t.Seed
	c.Stage2.Steps = t.Steps / 14
	c.Distil.Steps = min(c.Distil.Steps, t.Steps/6)
	c.Distil.Episodes = min(c.Distil.Episodes, max(t.Steps/6/c.Distil.Steps, 1))
	c.Stage1.Steps = t.Steps - c.Stage2.Steps - c.Distil.Episodes*c.Distil.Steps
	c.Stage1.Every, c.Stage1.Refresh = every(t.Steps), 0
	c.Stage1.Episodes = exams(t.Steps, c.Stage1.Episodes)
	c.Distil.Batches = min(c.Distil.Batches, t.Steps)
	c.Teacher.Explore.Steps = min(c.Teacher.Explore.Steps, c.Stage1.Steps*2/3)
	c.Teacher.WarmUp = min(c.Teacher.WarmUp, max(c.Teacher.Batch, c.Stage1.Steps/8))
	c.Teacher.Rate *= t.Setting.Rate
	c.Teacher.ActorRate *= t.Setting.Rate
	return c
}

// trainedAtSchool: DRPC's own reward is the yardstick. The curve is the teacher's, as
// the paper's is; what counts in the end is what the students come to.
func trainedAtSchool(r *trainer.Report) *Trained {
	t := &Trained{Parameters: r.Parameters.Student, Central: r.Parameters.Teacher, Plateau: r.Plateau}
	for _, p := range r.Curve {
		t.pass(p.Point, p.Evaluation)
	}
	for _, x := range r.Results { // the students' last
		t.sit(x.Who, x.Reward, x.QoS, x)
	}
	for _, e := range r.Episodes {
		t.Episodes = append(t.Episodes, result.Number(e))
	}
	wrong, agreed := trainer.MeanImitation(r.Imitation)
	t.Imitation, t.Agreed = result.Number(wrong), result.Number(agreed)
	if r.Carried.Decisions > 0 {
		t.BytesPerDecision = result.Number(float64(r.Carried.Bytes) / float64(r.Carried.Decisions))
	}
	return t
}
