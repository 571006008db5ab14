package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/lab/rivals"
	"github.com/loadline/loadline/lab/rivals/trainer"
)

// addRivals lets --formulation say that it takes rivals too.
func addRivals(flags *pflag.FlagSet) {
	flags.Lookup("formulation").Usage += "; coscal, firm or asarsa: one of its rivals, likewise"
}

// forRival says which of DRPC's rivals is meant, if any, and refuses what its
// training does not take.
func (f *trainFlags) forRival(flags *pflag.FlagSet) (rivals.Name, error) {
	rival := rivals.Name(f.school.formulation)
	if !slices.Contains(rivals.Names(), rival) {
		return "", nil
	}
	return rival, refuseOthers(flags, string(rival))
}

// trainRival teaches one of DRPC's rivals into one model file.
func (f *trainFlags) trainRival(ctx context.Context, rival rivals.Name, flags *pflag.FlagSet, stdout, stderr io.Writer) error {
	config, err := f.rivalConfig(rival, flags)
	if err != nil {
		return err
	}
	subject, err := f.subject()
	if err != nil {
		return err
	}
	var curve []trainer.Point
	bar := newProgress(stderr, string(rival))
	model, report, err := trainer.Run(ctx, rival, subject, config, trainer.Hooks{
		Progress: bar.stages(),
		Point: func(p trainer.Point) {
			curve = append(curve, p)
			_ = f.writeRivalLog(curve) // the last time tells
		},
	})
	bar.done()
	if err != nil {
		return err
	}
	model.Training.By = "loadline " + version
	if err := errors.Join(model.Write(f.out), f.writeRivalLog(curve)); err != nil {
		return err
	}
	if f.run.output == "json" {
		return writeIndented(stdout, report)
	}
	return printRival(stdout, report, f.out)
}

func (f *trainFlags) rivalConfig(rival rivals.Name, flags *pflag.FlagSet) (trainer.Config, error) {
	config := trainer.Default(rival)
	config.Seed = f.seed
	faults := append(f.lacks(), f.lengths(flags, &config.Steps, &config.Every, &config.Episodes)...)
	return config, errors.Join(append(faults, f.checkWritten())...)
}

// writeRivalLog writes the learning curve so far.
func (f *trainFlags) writeRivalLog(curve []trainer.Point) error {
	return writeCurve(f.log, curve, []string{imitationColumn, "yardstick"}, func(p trainer.Point) (train.Point, []string) {
		return p.Point, []string{"", logged(p.Yardstick)}
	})
}

// printRival tells how it went.
func printRival(w io.Writer, r *trainer.Report, path string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STEPS\tEPISODES\tEXPLORED\tREWARD\tQOS\tCPU\tMEMORY\tBY DRPC'S REWARD")
	for _, p := range r.Curve {
		fmt.Fprintf(t, "%d\t%d\t%.3f\t%.3f\t%.3f\t%.0f %%\t%.0f %%\t%.3f\n", p.Steps, p.Episodes, p.Explored, p.Evaluation, p.QoS, 100*p.CPU, 100*p.Memory, p.Yardstick)
	}
	fmt.Fprintln(t)
	for _, e := range r.Events {
		fmt.Fprintln(t, e)
	}
	fmt.Fprintln(t, "\nWHO\tREWARD\tQOS\tCPU\tMEMORY\tBY DRPC'S REWARD")
	for _, x := range r.Results {
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.0f %%\t%.0f %%\t%.3f\n", x.Who, x.Reward, x.QoS, 100*x.CPU, 100*x.Memory, x.Yardstick)
	}
	fmt.Fprint(t, idle(r.Results[0].Result, r.Results[len(r.Results)-1].Result))
	fmt.Fprintf(t, "\n%d parameters decide\nmodel: %s\nTry it with loadline simulate --policy %s:file=%s\n", r.Parameters, path, r.Rival, path)
	return t.Flush()
}
