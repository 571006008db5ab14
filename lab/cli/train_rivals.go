package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/cli"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/lab/rivals"
	"github.com/loadline/loadline/lab/rivals/trainer"
)

// trainRival trains one of DRPC's rivals into a model file.
func (f *trainFlags) trainRival(ctx context.Context, rival rivals.Name, flags *pflag.FlagSet, stdout, stderr io.Writer) error {
	config, err := f.rivalConfig(rival, flags)
	if err != nil {
		return err
	}
	scenario, err := f.scenario.Scenario(f.seed)
	if err != nil {
		return err
	}
	var curve []trainer.Point
	bar := cli.NewProgress(stderr, "training "+string(rival))
	model, report, err := trainer.Run(ctx, rival, scenario, config, trainer.Hooks{
		Progress: bar.Stages(),
		Point: func(p trainer.Point) {
			curve = append(curve, p)
			_ = f.writeRivalLog(curve) // the last write reports its error
		},
	})
	bar.Done()
	if err != nil {
		return err
	}
	model.Training.By = cli.TrainedBy()
	if err := errors.Join(model.Write(f.out), f.writeRivalLog(curve)); err != nil {
		return err
	}
	if f.output.Structured() {
		return f.output.Encode(stdout, report)
	}
	return printRival(stdout, report, f.out)
}

// rivalConfig reports every fault before the training.
func (f *trainFlags) rivalConfig(rival rivals.Name, flags *pflag.FlagSet) (trainer.Config, error) {
	config := trainer.Default(rival)
	config.Seed = f.seed
	var faults []error
	if f.scenario.App == "" || f.scenario.Workload == "" {
		faults = append(faults, cli.Usagef("training data is missing: give --app NAME and --workload NAME"))
	}
	if f.out == "" {
		faults = append(faults, cli.Usagef("--out is missing: the model file to write"))
	}
	for _, o := range []struct {
		name  string
		given int
		to    *int
	}{
		{"steps", f.training.Steps, &config.Steps},
		{"evaluate-every", f.training.EvaluateEvery, &config.Every},
		{"episodes", f.training.Episodes, &config.Episodes},
	} {
		if !flags.Changed(o.name) {
			continue
		}
		if *o.to = o.given; o.given < 1 {
			faults = append(faults, cli.Usagef("--%s is %d, must be at least 1", o.name, o.given))
		}
	}
	faults = append(faults, cli.CheckWritable("out", f.out), cli.CheckWritable("log", f.log))
	return config, errors.Join(faults...)
}

// writeRivalLog writes the learning curve so far.
func (f *trainFlags) writeRivalLog(curve []trainer.Point) error {
	return cli.WriteCurve(f.log, curve, []string{cli.ImitationColumn, "yardstick"}, func(p trainer.Point) (train.Point, []string) {
		return p.Point, []string{"", cli.CurveNumber(p.CommonReward)}
	})
}

// printRival prints the learning curve and the results.
func printRival(w io.Writer, r *trainer.Report, path string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	cli.PrintCurve(t, r.Curve, "BY DRPC'S REWARD", func(p trainer.Point) (train.Point, float64) { return p.Point, p.CommonReward },
		r.Events)
	fmt.Fprintln(t, "\nPOLICY\tREWARD\tQOS\tCPU\tMEMORY\tBY DRPC'S REWARD")
	for _, x := range r.Results {
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.0f %%\t%.0f %%\t%.3f\n", x.Policy, x.Reward, x.QoS, 100*x.CPU, 100*x.Memory, x.CommonReward)
	}
	fmt.Fprint(t, cli.NoGain(r.Results[0].Result, r.Results[len(r.Results)-1].Result))
	fmt.Fprintf(t, "\n%d parameters decide\nmodel: %s\nTry it with loadline-lab simulate --policy %s:file=%s\n", r.Parameters, path,
		r.Rival, path)
	return t.Flush()
}
