package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/policy/msars"
	"github.com/loadline/loadline/internal/policy/msars/trainer"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/slosplit/learned"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/train"
)

const msarsFormulation = "msars"

// msarsFlags are those of MSARS.
type msarsFlags struct {
	way, split, profiles string
}

func (f *msarsFlags) add(flags *pflag.FlagSet) {
	flags.Lookup("formulation").Usage += "; msars: the SLO split among the services and TD3 that steers by the parts, likewise"
	flags.StringVar(&f.way, "way", msars.Ways()[0], "with --formulation msars: how to split the SLO: meta, gcn or parslo")
	flags.StringVar(&f.split, "split", "",
		"with --formulation msars: the network that splits, as slo train wrote it (one is trained), or none: TD3 by the users' SLO alone")
	flags.StringVar(&f.profiles, "profiles", "",
		"with --formulation msars: file of load-latency profiles; those that it lacks are measured and added")
}

// msarsOnly are the flags that only MSARS has.
var msarsOnly = []string{"way", "split", "profiles"}

// forMSARS reports whether to train MSARS, and rejects the flags of other trainings.
func (f *trainFlags) forMSARS(flags *pflag.FlagSet) (bool, error) {
	if f.drpc.formulation != msarsFormulation {
		return false, refuseOwn(flags, msarsFormulation, msarsOnly)
	}
	return true, refuseOthers(flags, msarsFormulation, msarsOnly...)
}

// trainMSARS trains MSARS into one model file.
func (f *trainFlags) trainMSARS(ctx context.Context, flags *pflag.FlagSet, stdout, stderr io.Writer) error {
	config, err := f.msarsConfig(flags)
	if err != nil {
		return err
	}
	known, err := f.msars.known()
	if err != nil {
		return err
	}
	s, err := f.subject()
	if err != nil {
		return err
	}
	if err := f.msars.network(ctx, &config, stderr); err != nil {
		return err
	}
	var curve []trainer.Point
	bar := NewProgress(stderr, "training msars")
	model, report, err := trainer.Run(ctx, s, known, config, trainer.Hooks{
		Progress: bar.Stages(),
		Point: func(p trainer.Point) {
			curve = append(curve, p)
			_ = f.writeMSARSLog(curve) // the last write reports its error
		},
		Profiles: f.msars.keep,
	})
	bar.Done()
	if err != nil {
		return err
	}
	model.Training.By = "loadline " + version
	if err := errors.Join(model.Write(f.out), f.writeMSARSLog(curve)); err != nil {
		return err
	}
	if f.run.output.Structured() {
		return f.run.output.Encode(stdout, report)
	}
	return printMSARS(stdout, report, f.out)
}

func (f *trainFlags) msarsConfig(flags *pflag.FlagSet) (trainer.Config, error) {
	faults := f.lacks()
	fault := func(format string, args ...any) { faults = append(faults, Usagef(format, args...)) }
	m := &f.msars
	ways := slices.DeleteFunc(msars.Ways(), func(w string) bool { return w == msars.None })
	if !slices.Contains(ways, m.way) {
		fault("--way: unknown way to split %q%s; --split none splits nothing", m.way, suggest.Hint(m.way, ways))
	}
	switch {
	case m.split == msars.None:
		if flags.Changed("way") || flags.Changed("profiles") {
			fault("--split none splits nothing: leave out --way and --profiles")
		}
		m.way = msars.None
	case m.split != "":
		net, err := learned.Open(m.split)
		switch {
		case err != nil:
			fault("--split: %w", err)
		case !msars.Learned(net.Way):
			fault("--split %s is of %s: give one of meta or gcn", m.split, net.Way)
		case flags.Changed("way") && net.Way != m.way:
			fault("--split %s is of %s, not of %s: leave --way out, or give another network", m.split, net.Way, m.way)
		default:
			m.way = net.Way
		}
	}
	config := trainer.Default(m.way)
	config.Seed = f.seed
	faults = append(faults, f.lengths(flags, &config.Most, &config.Every, &config.Episodes)...)
	return config, errors.Join(append(faults, f.checkWritten(), CheckWritable("profiles", m.profiles))...)
}

// known are the profiles of the file; none if there is no such file yet.
func (f *msarsFlags) known() (*profile.Set, error) {
	if f.profiles == "" {
		return nil, nil
	}
	file, err := os.Open(f.profiles)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return profile.ReadSet(file, f.profiles)
}

// keep writes the profiles, including measured ones.
func (f *msarsFlags) keep(set *profile.Set) error {
	if f.profiles == "" {
		return nil
	}
	return atomicfile.Write(f.profiles, set.Write)
}

// network returns the splitting network: from its file, or trained here.
func (f *msarsFlags) network(ctx context.Context, config *trainer.Config, stderr io.Writer) (err error) {
	switch {
	case !msars.Learned(f.way):
	case f.split != "":
		config.Net, err = learned.Open(f.split)
	default:
		fmt.Fprintf(stderr, "no --split: training %s; keep one with loadline slo train --way %s --out FILE\n", f.way, f.way)
		t, err := (&sloTrainFlags{way: f.way, seed: 1, samples: 30, verify: 1, parallel: runtime.GOMAXPROCS(0)}).train(ctx, stderr)
		if err != nil {
			return err
		}
		config.Net = t.model
	}
	return err
}

// writeMSARSLog writes the learning curve so far.
func (f *trainFlags) writeMSARSLog(curve []trainer.Point) error {
	return WriteCurve(f.log, curve, []string{ImitationColumn, "users", "yardstick"}, func(p trainer.Point) (train.Point, []string) {
		return p.Point, []string{"", CurveNumber(p.Users), CurveNumber(p.CommonReward)}
	})
}

// printMSARS prints the learning curve and the results.
func printMSARS(w io.Writer, r *trainer.Report, path string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STEPS\tEPISODES\tEXPLORED\tREWARD\tQOS\tUSERS' QOS\tCPU\tMEMORY")
	for _, p := range r.Curve {
		fmt.Fprintf(t, "%d\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.0f %%\t%.0f %%\n", p.Steps, p.Episodes, p.Explored, p.Evaluation, p.QoS,
			p.Users, 100*p.CPU, 100*p.Memory)
	}
	fmt.Fprintln(t, "\nPOLICY\tREWARD\tQOS\tUSERS' QOS\tCPU\tMEMORY")
	for _, x := range r.Results {
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.3f\t%.0f %%\t%.0f %%\n", x.Policy, x.Reward, x.QoS, x.Users, 100*x.CPU, 100*x.Memory)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, NoGain(r.Results[0].Result, r.Results[len(r.Results)-1].Result))
	if r.Way == msars.None {
		fmt.Fprintln(w, "\nno split: every service has the end-to-end SLO")
	} else {
		fmt.Fprintf(w, "\nsplit by %s: %s, %s measured here\n", r.Way,
			count(r.Divisions, "split", "splits")+" in training, "+count(r.Chains, "chain", "chains")+" computed", count(r.Profiles,
				"profile", "profiles"))
		var parts []string
		for kind, factor := range r.Factors {
			parts = append(parts, fmt.Sprintf("%s %.2f", kind, factor))
		}
		slices.Sort(parts)
		if len(parts) > 0 {
			fmt.Fprintf(w, "parts may sum to these times the SLO, as measured: %s\n", strings.Join(parts, ", "))
		}
		if r.Unadjusted != "" {
			fmt.Fprintf(w, "warning: shares sum to the SLO, without adjustment: %s\n", r.Unadjusted)
		}
	}
	fmt.Fprintf(w, "%d parameters decide\nmodel: %s\nTry it with loadline simulate --policy msars:file=%s\n", r.Parameters, path, path)
	return nil
}
