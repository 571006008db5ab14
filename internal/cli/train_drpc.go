package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/loadline/loadline/internal/train"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
	"github.com/loadline/loadline/internal/suggest"
)

// schoolFlags are those of a teacher with students.
type schoolFlags struct {
	formulation string
	teacher     string
	shape       string
	acting      int
	price       float64
}

const drpcFormulation = "drpc"

func (f *schoolFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.formulation, "formulation", "",
		"drpc: a teacher for the whole application and a student for each service, into one model file")
	flags.StringVar(&f.teacher, "teacher", string(drpc.Continuous),
		"with --formulation drpc: td3, or branching with one choice of three for each service and axis")
	flags.StringVar(&f.shape, "shape", string(drpc.Shared),
		"with --formulation drpc: shared networks for all services, or plain as printed")
	flags.IntVar(&f.acting, "acting-steps", trainer.Default(drpc.Continuous).Stage2.Steps,
		"with --formulation drpc: steps of stage 2, in which students act and the teacher listens")
	flags.Float64Var(&f.price, "price", drpc.DefaultReward().Price,
		"with --formulation drpc: what asking for twice as much as is needed costs of the reward; 0 = as printed")
}

// Flags that a school takes besides those of every training.
var (
	schoolOnly = []string{"teacher", "shape", "acting-steps", "price"}
	schoolAlso = []string{"shares", "checkpoint"}
)

// forSchool says whether a teacher with students is meant, and refuses what such
// a training does not take.
func (f *trainFlags) forSchool(flags *pflag.FlagSet) (bool, error) {
	if f.school.formulation == "" {
		return false, refuseOwn(flags, drpcFormulation, schoolOnly)
	}
	if f.school.formulation != drpcFormulation {
		if slices.Contains(labFormulations, f.school.formulation) {
			return false, movedError("train --formulation " + f.school.formulation)
		}
		return false, usagef("--formulation %q is unknown%s; --methods takes those of candidates", f.school.formulation,
			suggest.Hint(f.school.formulation, formulations()))
	}
	return true, refuseOthers(flags, drpcFormulation, slices.Concat(schoolOnly, schoolAlso)...)
}

// trainSchool schools a teacher and its students into one model file.
func (f *trainFlags) trainSchool(ctx context.Context, flags *pflag.FlagSet, stdout, stderr io.Writer) error {
	config, err := f.schoolConfig(flags)
	if err != nil {
		return err
	}
	subject, err := f.subject()
	if err != nil {
		return err
	}
	if config.Shares, err = sharesFor(f.run.shares, subject.App); err != nil {
		return err
	}
	taught, report, err := f.goToSchool(ctx, subject, config, stderr)
	if err != nil {
		return err
	}
	taught.Training.By = "loadline " + version
	if err := errors.Join(taught.Write(f.out), f.writeSchoolLog(report.Curve)); err != nil {
		return err
	}
	if f.run.output == "json" {
		return writeIndented(stdout, report)
	}
	return printSchool(stdout, report, f.out)
}

// goToSchool runs the schooling to its end, or on from where it was interrupted.
func (f *trainFlags) goToSchool(ctx context.Context, subject train.Scenario, config trainer.Config, stderr io.Writer) (_ *drpc.Model,
	_ *trainer.Report, err error) {
	checkpoint, err := openSchoolCheckpoint(f.checkpoint)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, checkpoint.close()) }()
	bar := newProgress(stderr, "school")
	defer bar.done()
	var s *trainer.Trainer
	s, err = trainer.New(ctx, subject, config, trainer.Hooks{
		Progress: bar.stages(),
		Point:    func(trainer.Point) { _ = f.writeSchoolLog(s.Report().Curve) }, // the last time tells
		Unit:     func(s *trainer.Trainer) { checkpoint.save(s, false) },
	})
	if err != nil {
		return nil, nil, err
	}
	if err := checkpoint.resume(s, stderr); err != nil {
		return nil, nil, err
	}
	model, report, err := s.Run(ctx)
	return model, report, checkpoint.end(ctx, s, err)
}

func (f *trainFlags) schoolConfig(flags *pflag.FlagSet) (trainer.Config, error) {
	faults := f.lacks()
	fault := func(format string, args ...any) { faults = append(faults, usagef(format, args...)) }
	kind, shape := drpc.Kind(f.school.teacher), drpc.Shape(f.school.shape)
	if !slices.Contains(drpc.Kinds(), kind) {
		fault("--teacher is %q, must be one of %v%s", kind, drpc.Kinds(), suggest.Hint(string(kind), []string{"td3", "branching"}))
	}
	if !slices.Contains(drpc.Shapes(), shape) {
		fault("--shape is %q, must be one of %v", shape, drpc.Shapes())
	}
	config := trainer.Default(kind)
	config.Shape, config.Seed, config.Stage2.Steps = shape, f.seed, f.school.acting
	faults = append(faults, f.lengths(flags, &config.Stage1.Steps, &config.Stage1.Every, &config.Stage1.Episodes)...)
	if config.Reward.Price = f.school.price; !(f.school.price >= 0 && f.school.price <= 1) {
		fault("--price is %v, must be from 0 to 1", f.school.price)
	}
	if f.school.acting < 0 {
		fault("--acting-steps is %d, must be at least 0", f.school.acting)
	}
	return config, errors.Join(append(faults, f.checkWritten())...)
}

// writeSchoolLog writes the learning curve so far.
func (f *trainFlags) writeSchoolLog(curve []trainer.Point) error {
	return writeCurve(f.log, curve, []string{imitationColumn}, func(p trainer.Point) (train.Point, []string) {
		return p.Point, []string{logged(p.Imitation)}
	})
}

// printSchool tells how it went.
func printSchool(w io.Writer, r *trainer.Report, path string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STEPS\tEPISODES\tEXPLORED\tREWARD\tQOS\tCPU\tMEMORY\tIMITATION")
	for _, p := range r.Curve {
		fmt.Fprintf(t, "%d\t%d\t%.3f\t%.3f\t%.3f\t%.0f %%\t%.0f %%\t%.3f\n", p.Steps, p.Episodes, p.Explored, p.Evaluation, p.QoS,
			100*p.CPU, 100*p.Memory, p.Imitation)
	}
	fmt.Fprintln(t)
	for _, e := range r.Events {
		fmt.Fprintln(t, e)
	}
	fmt.Fprintln(t, "\nWHO\tREWARD\tQOS\tCPU\tMEMORY")
	for _, x := range r.Results {
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.0f %%\t%.0f %%\n", x.Policy, x.Reward, x.QoS, 100*x.CPU, 100*x.Memory)
	}
	fmt.Fprint(t, idle(r.Results[0], r.Results[len(r.Results)-1]))
	wrong, agreed := trainer.MeanImitation(r.Imitation)
	fmt.Fprintf(t, "\nstudents: imitation error %.3f, %.0f %% of actions as the teacher's; %d parameters each, the teacher has %d\n",
		wrong, 100*agreed, r.Parameters.Student, r.Parameters.Teacher)
	if n := r.Carried.Decisions; n > 0 {
		fmt.Fprintf(t, "stage 2: %d decisions, %.0f bytes each on the way up and down\n", n, float64(r.Carried.Bytes)/float64(n))
	}
	fmt.Fprintf(t, "model: %s\nTry it with loadline simulate --policy drpc:file=%s\n", path, path)
	return t.Flush()
}
