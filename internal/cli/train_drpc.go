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

// drpcFlags are the flags of DRPC, a teacher with students.
type drpcFlags struct {
	formulation string
	teacher     string
	shape       string
	acting      int
	price       float64
}

const drpcFormulation = "drpc"

func (f *drpcFlags) add(flags *pflag.FlagSet) {
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

// Flags that DRPC takes besides those of every training.
var (
	drpcOnly = []string{"teacher", "shape", "acting-steps", "price"}
	drpcAlso = []string{"shares", "checkpoint"}
)

// forDRPC reports whether to train DRPC, and rejects the flags of other trainings.
func (f *trainFlags) forDRPC(flags *pflag.FlagSet) (bool, error) {
	if f.drpc.formulation == "" {
		return false, refuseOwn(flags, drpcFormulation, drpcOnly)
	}
	if f.drpc.formulation != drpcFormulation {
		if slices.Contains(labFormulations, f.drpc.formulation) {
			return false, movedError("train --formulation " + f.drpc.formulation)
		}
		return false, Usagef("--formulation %q is unknown%s; --methods takes those of candidates", f.drpc.formulation,
			suggest.Hint(f.drpc.formulation, formulations()))
	}
	return true, refuseOthers(flags, drpcFormulation, slices.Concat(drpcOnly, drpcAlso)...)
}

// trainDRPC trains a teacher and its students into one model file.
func (f *trainFlags) trainDRPC(ctx context.Context, flags *pflag.FlagSet, stdout, stderr io.Writer) error {
	config, err := f.drpcConfig(flags)
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
	taught, report, err := f.runDRPC(ctx, subject, config, stderr)
	if err != nil {
		return err
	}
	taught.Training.By = "loadline " + version
	if err := errors.Join(taught.Write(f.out), f.writeDRPCLog(report.Curve)); err != nil {
		return err
	}
	if f.run.output.Structured() {
		return f.run.output.Encode(stdout, report)
	}
	return printDRPC(stdout, report, f.out)
}

// runDRPC runs the training to its end, from its checkpoint if there is one.
func (f *trainFlags) runDRPC(ctx context.Context, subject train.Scenario, config trainer.Config, stderr io.Writer) (_ *drpc.Model,
	_ *trainer.Report, err error) {
	checkpoint, err := openDRPCCheckpoint(f.checkpoint)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, checkpoint.close()) }()
	bar := NewProgress(stderr, "training drpc")
	defer bar.Done()
	var s *trainer.Trainer
	s, err = trainer.New(ctx, subject, config, trainer.Hooks{
		Progress: bar.Stages(),
		Point:    func(trainer.Point) { _ = f.writeDRPCLog(s.Report().Curve) }, // the last write reports
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

func (f *trainFlags) drpcConfig(flags *pflag.FlagSet) (trainer.Config, error) {
	faults := f.lacks()
	fault := func(format string, args ...any) { faults = append(faults, Usagef(format, args...)) }
	kind, shape := drpc.Kind(f.drpc.teacher), drpc.Shape(f.drpc.shape)
	if !slices.Contains(drpc.Kinds(), kind) {
		fault("--teacher is %q, must be one of %v%s", kind, drpc.Kinds(), suggest.Hint(string(kind), []string{"td3", "branching"}))
	}
	if !slices.Contains(drpc.Shapes(), shape) {
		fault("--shape is %q, must be one of %v", shape, drpc.Shapes())
	}
	config := trainer.Default(kind)
	config.Shape, config.Seed, config.Stage2.Steps = shape, f.seed, f.drpc.acting
	faults = append(faults, f.lengths(flags, &config.Stage1.Steps, &config.Stage1.Every, &config.Stage1.Episodes)...)
	if config.Reward.Price = f.drpc.price; !(f.drpc.price >= 0 && f.drpc.price <= 1) {
		fault("--price is %v, must be from 0 to 1", f.drpc.price)
	}
	if f.drpc.acting < 0 {
		fault("--acting-steps is %d, must be at least 0", f.drpc.acting)
	}
	return config, errors.Join(append(faults, f.checkWritten())...)
}

// writeDRPCLog writes the learning curve so far.
func (f *trainFlags) writeDRPCLog(curve []trainer.Point) error {
	return WriteCurve(f.log, curve, []string{ImitationColumn}, func(p trainer.Point) (train.Point, []string) {
		return p.Point, []string{CurveNumber(p.Imitation)}
	})
}

// printDRPC prints the learning curve and the results.
func printDRPC(w io.Writer, r *trainer.Report, path string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	PrintCurve(t, r.Curve, "IMITATION", func(p trainer.Point) (train.Point, float64) { return p.Point, p.Imitation }, r.Events)
	fmt.Fprintln(t, "\nPOLICY\tREWARD\tQOS\tCPU\tMEMORY")
	for _, x := range r.Results {
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.0f %%\t%.0f %%\n", x.Policy, x.Reward, x.QoS, 100*x.CPU, 100*x.Memory)
	}
	fmt.Fprint(t, NoGain(r.Results[0], r.Results[len(r.Results)-1]))
	wrong, agreed := trainer.MeanImitation(r.Imitation)
	fmt.Fprintf(t, "\nstudents: imitation error %.3f, %.0f %% of actions equal to the teacher's; %d parameters each, the teacher has %d\n",
		wrong, 100*agreed, r.Parameters.Student, r.Parameters.Teacher)
	if n := r.Carried.Decisions; n > 0 {
		fmt.Fprintf(t, "stage 2: %d decisions, %.0f bytes each on the way up and down\n", n, float64(r.Carried.Bytes)/float64(n))
	}
	fmt.Fprintf(t, "model: %s\nTry it with loadline simulate --policy drpc:file=%s\n", path, path)
	return t.Flush()
}
