package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/workload"
)

// workloadFlags configure reading or generating a workload. All commands with a workload share
// them.
type workloadFlags struct {
	options   workload.Options
	combine   string
	gaps      string
	rpsAtFull float64
	profile   string
}

func (f *workloadFlags) add(flags *pflag.FlagSet) {
	LengthVar(flags, &f.options.Duration, "duration", "how long; default: the workload's own length, a day for generators")
	f.addReading(flags)
	flags.DurationVar(&f.options.Step, "step", 0, "length of the bins of a workload")
}

// addReading adds all but duration and step, which some commands define themselves.
func (f *workloadFlags) addReading(flags *pflag.FlagSet) {
	o := &f.options
	flags.Uint64Var(&o.Seed, "seed", 1, "seed of all random numbers")
	flags.Float64Var(&o.Scale, "scale", 0, "multiply every rate")
	flags.Float64Var(&o.Peak, "peak", 0, "scale so that the highest rate is this many requests per second")
	flags.StringVar(&o.Format, "format", "", "layout of a trace file, if it is not recognised (see workload list)")
	flags.StringVar(&o.Select, "select", "", "rows of a trace file: an id, or column=value,...")
	flags.StringVar(&o.Metric, "metric", "", "reading of a trace file, where it has several")
	flags.StringVar(&f.combine, "combine", "", "how selected rows of one instant become one value: sum or mean")
	flags.StringVar(&f.gaps, "gaps", "", "what a time without rows is: hold or zero; otherwise it is an error")
	flags.BoolVar(&o.SkipBad, "skip-bad", false, "leave out faulty rows of a trace file and count them")
	flags.Float64Var(&f.rpsAtFull, "rps-at-full", 0, "for utilisation traces: requests per second at 100 %")
	flags.StringVar(&f.profile, "profile", "", "for utilisation traces: a CSV file with columns utilisation, rps")
}

// open makes the workload and reports skipped data on stderr.
func (f *workloadFlags) open(name string) (*workload.Workload, workload.Report, error) {
	o := f.options
	o.Combine, o.Gaps = workload.Combine(f.combine), workload.Gaps(f.gaps)
	if f.rpsAtFull != 0 && f.profile != "" {
		return nil, workload.Report{}, Usagef("--rps-at-full and --profile exclude each other")
	}
	var err error
	switch {
	case f.rpsAtFull != 0:
		o.Profile, err = workload.ProportionalProfile(f.rpsAtFull)
	case f.profile != "":
		o.Profile, err = readProfile(f.profile)
	}
	if err != nil {
		return nil, workload.Report{}, err
	}
	w, report, err := workload.Open(name, o)
	if err != nil {
		if _, missing := os.Stat(name); errors.Is(missing, fs.ErrNotExist) {
			err = UsageError(err) // not a file, so it is a usage error
		}
		return nil, report, err
	}
	if o.Duration > w.Duration() {
		return nil, report, fmt.Errorf("workload %s lasts %v, shorter than --duration %v", name, w.Duration(), o.Duration)
	}
	return w, report, nil
}

func readProfile(path string) (*workload.Profile, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	defer file.Close()
	return workload.ReadProfile(file, path)
}

// leftOut is a remark on skipped data of a trace file; empty = none.
func leftOut(r workload.Report) string {
	if r.Missing+r.Bad+r.Filled == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d rows without a reading, %d faulty rows left out, %d gaps filled", r.Missing, r.Rows, r.Bad, r.Filled)
}
