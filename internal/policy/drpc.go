package policy

import (
	"context"
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
)

// drpcMethod is DRPC's students, each deciding for its own deployment at its own period, or
// their teacher, which decides for all.
var drpcMethod = Method{
	Name:  "drpc",
	About: "DRPC: a tiny student for each service, trained by TD3, decides on replicas, CPU, memory and brownout at its own pace",
	Options: func(*loadline.App) []Option {
		return []Option{
			{"who", "students", "students, or the teacher for all services at once",
				OneOf(string(drpc.ByStudents), string(drpc.ByTeacher))},
			{"least", "", "shortest time between two decisions of a student (the model's)", Span(time.Second, time.Hour)},
			{"most", "", "longest time between them (the model's)", Span(time.Second, 24*time.Hour)},
			DelayOption(),
		}
	},
	Kind: drpc.FileKind,
	Open: func(file *modelfile.File) (Model, error) {
		m, err := drpc.FromFile(file)
		return drpcModel{m}, err
	},
	NewFrom: func(m Model, app *loadline.App, v Values) (loadline.Policy, error) {
		model := m.(drpcModel).Model
		work := drpc.Work{Decider: drpc.Decider(v["who"]), Pace: model.Pace, Delay: v.Span("delay")}
		if v.IsSet("least") {
			work.Pace.Least = v.Span("least")
			work.Pace.Most = max(work.Pace.Most, work.Pace.Least)
		}
		if v.IsSet("most") {
			work.Pace.Most = v.Span("most")
		}
		return drpc.NewPolicy(model, app, work)
	},
	Train: trainDRPC(drpc.Continuous), TakesShares: true,
}

// branchingMethod has a teacher with one choice of three for each service and axis.
var branchingMethod = Method{
	Name: "drpc-branching", About: "DRPC with a branching DQN as the teacher instead of TD3",
	Train: trainDRPC(drpc.Discrete), TakesShares: true, ReadBy: "drpc",
}

func trainDRPC(kind drpc.Kind) func(context.Context, Task) (*Trained, error) {
	return func(ctx context.Context, t Task) (*Trained, error) {
		model, report, err := trainer.Run(ctx, t.Scenario, drpcConfig(kind, t), trainer.Hooks{
			Progress: func(share float64, _ string) { t.report(share) },
		})
		if err != nil {
			return nil, err
		}
		return trainedDRPC(model, report), nil
	}
}

// drpcConfig divides the steps: a fourteenth is for the students that act, up to a sixth for
// the examples that they are distilled from, and the rest for the teacher. Retraining by the
// notifier is excluded, since no other method gets it.
func drpcConfig(kind drpc.Kind, t Task) trainer.Config {
	c := trainer.Default(kind)
	c.Seed, c.Shares = t.Seed, t.Shares
	c.Stage2.Steps = t.Steps / 14
	c.Distil.Steps = min(c.Distil.Steps, t.Steps/6)
	c.Distil.Episodes = min(c.Distil.Episodes, max(t.Steps/6/c.Distil.Steps, 1))
	c.Stage1.Steps = t.Steps - c.Stage2.Steps - c.Distil.Episodes*c.Distil.Steps
	c.Stage1.Every, c.Stage1.Refresh = t.Every(), 0
	c.Stage1.Episodes = t.Episodes(c.Stage1.Episodes)
	c.Distil.Batches = min(c.Distil.Batches, t.Steps)
	c.Teacher.Explore.Steps = min(c.Teacher.Explore.Steps, c.Stage1.Steps*2/3)
	c.Teacher.WarmUp = min(c.Teacher.WarmUp, max(c.Teacher.Batch, c.Stage1.Steps/8))
	c.Teacher.Rate *= t.Rate
	c.Teacher.ActorRate *= t.Rate
	return c
}

// trainedDRPC: DRPC's own reward is the common reward. The curve is the teacher's, as in the
// paper; the final result is the students'.
func trainedDRPC(m *drpc.Model, r *trainer.Report) *Trained {
	t := &Trained{
		Model: drpcModel{m}, Episodes: r.Episodes, Parameters: r.Parameters.Student, Central: r.Parameters.Teacher, Plateau: r.Plateau,
	}
	for _, p := range r.Curve {
		t.AddPoint(p.Point, p.Evaluation)
	}
	for _, x := range r.Results { // the students' last
		t.AddEvaluation(x.Policy, x.Reward, x.QoS, x)
	}
	t.Imitation, t.Agreed = trainer.MeanImitation(r.Imitation)
	if r.Carried.Decisions > 0 {
		t.BytesPerDecision = float64(r.Carried.Bytes) / float64(r.Carried.Decisions)
	}
	return t
}

// drpcModel is a teacher with its students.
type drpcModel struct{ *drpc.Model }

// Method implements Model.
func (m drpcModel) Method() string { return "drpc" }

// TrainedFor implements Model.
func (m drpcModel) TrainedFor() string { return m.App }

// Students of the model, for a fleet.
func (m drpcModel) Students() *drpc.Model { return m.Model }

// Policy implements Model.
func (m drpcModel) Policy(app *loadline.App) (loadline.Policy, error) {
	p, err := drpc.NewPolicy(m.Model, app, drpc.Work{})
	if err != nil {
		return nil, err
	}
	return lone{p}, nil
}

// lone is students that decide without a fleet.
type lone struct{ *drpc.Policy }

// Decides reports whether a service has a student; the rule decides for the others.
func (l lone) Decides(service int) bool { return l.Student(service) != nil }

// File implements Model.
func (m drpcModel) File(results []modelfile.Result) (*modelfile.File, error) {
	whole := *m.Model
	if len(results) > 0 {
		whole.Results = results
	}
	return whole.File()
}

// About implements Model.
func (m drpcModel) About() About {
	return About{
		Formulation: "a teacher for the whole application, and a student for each service that decides alone",
		Every:       fmt.Sprintf("%v to %v, each student at its own pace", m.Pace.Least, m.Pace.Most),
		Features:    drpc.LocalFeatures[:], Absent: leftAsIs, Services: m.Services, OnPaths: m.Services,
	}
}
