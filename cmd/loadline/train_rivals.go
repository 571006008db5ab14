package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/rivals"
	"github.com/loadline/loadline/internal/rivals/practice"
	"github.com/loadline/loadline/internal/wholefile"
)

// addRivals lets --formulation say that it takes rivals too.
func addRivals(flags *pflag.FlagSet) {
	flags.Lookup("formulation").Usage += "; coscal, firm or asarsa: one of its rivals, likewise"
}

// rivalFlags are those that the training of a rival takes.
var rivalFlags = []string{"formulation", "app", "workload", "duration", "scale", "peak", "objective", "name", "output", "steps", "seed", "evaluate-every", "episodes", "out", "log"}

// forRival says which of DRPC's rivals is meant, if any, and refuses what its
// training does not take.
func (f *trainFlags) forRival(flags *pflag.FlagSet) (rivals.Name, error) {
	rival := rivals.Name(f.school.formulation)
	if !slices.Contains(rivals.Names(), rival) {
		return "", nil
	}
	var faults []error
	flags.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(rivalFlags, flag.Name) {
			faults = append(faults, usagef("--%s is not for --formulation %s", flag.Name, rival))
		}
	})
	return rival, errors.Join(faults...)
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
	var curve []practice.Point
	bar := newProgress(stderr, string(rival))
	model, report, err := practice.Run(ctx, rival, practice.Subject(subject), config, practice.Hooks{
		Progress: func(share float64, what string) {
			bar.what = fmt.Sprintf("%s, %s", rival, what)
			bar.at(share)
		},
		Point: func(p practice.Point) {
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
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return printRival(stdout, report, f.out)
}

func (f *trainFlags) rivalConfig(rival rivals.Name, flags *pflag.FlagSet) (practice.Config, error) {
	faults := f.lacks()
	fault := func(format string, args ...any) { faults = append(faults, usagef(format, args...)) }
	config := practice.Default(rival)
	config.Seed = f.seed
	for _, o := range []struct {
		name string
		from int
		to   *int
	}{
		{"steps", f.training.Steps, &config.Steps}, {"evaluate-every", f.training.EvaluateEvery, &config.Every}, {"episodes", f.training.Episodes, &config.Episodes},
	} {
		if flags.Changed(o.name) {
			*o.to = o.from
			if o.from < 1 {
				fault("--%s is %d, must be at least 1", o.name, o.from)
			}
		}
	}
	faults = append(faults, checkWritable("out", f.out), checkWritable("log", f.log))
	return config, errors.Join(faults...)
}

// writeRivalLog writes the learning curve so far, in the columns of DRPC's: nobody
// imitates anybody here, so that column is empty.
func (f *trainFlags) writeRivalLog(curve []practice.Point) error {
	if f.log == "" {
		return nil
	}
	return wholefile.Write(f.log, func(w io.Writer) error {
		out := csv.NewWriter(w)
		_ = out.Write([]string{"steps", "episodes", "explored", "loss", "evaluation", "qos", "cpu", "memory", "imitation", "yardstick"}) // Error tells
		number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
		for _, p := range curve {
			_ = out.Write([]string{
				strconv.Itoa(p.Steps), strconv.Itoa(p.Episodes), number(p.Explored), number(p.Loss), number(p.Evaluation),
				number(p.QoS), number(p.CPU), number(p.Memory), "", number(p.Yardstick),
			})
		}
		out.Flush()
		return out.Error()
	})
}

// printRival tells how it went.
func printRival(w io.Writer, r *practice.Report, path string) error {
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
	fmt.Fprintf(t, "\n%d parameters decide\nmodel: %s\nTry it with loadline simulate --policy %s:file=%s\n", r.Parameters, path, r.Rival, path)
	return t.Flush()
}
