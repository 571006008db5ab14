package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/history/importer"
	"github.com/loadline/loadline/internal/workload"
)

type historyImportFlags struct {
	options       importer.Options
	combine, gaps string
	start         string
	out           string
	force         bool
	output        Format
}

func newHistoryImport() *cobra.Command {
	var f historyImportFlags
	c := &cobra.Command{
		Use:   "import FILE... -o DIR",
		Short: "Import CSV files or traces as a history",
		Long: `Reads CSV files and the trace formats of workloads (see workload list), gzip or
not, into one history.

A CSV file has a header with the column time, a column service, and one column per
metric; or the columns time, service, metric, value. Calls go in a file of their
own, with from, to and operation instead of service. A column's name may end in
its unit: latency_p99_ms, cpu_m, memory_mib. An empty field was not measured, which
is not the same as zero. docs/history.md lists the metrics and units.

  time,service,rate,latency_p99_ms,cpu_m,ready
  2026-03-01T00:00:15Z,web,41.2,87,310,2
  2026-03-01T00:00:30Z,web,43.9,,325,2

A trace of request rates becomes the rate of one service; a trace of utilisation
becomes its CPU.`,
		Example: `  loadline history import services.csv calls.csv -o past
  loadline history import rates.csv.gz --service web -o past
  loadline history import machine_usage.csv.gz --select m_1932 --cores 96 -o past`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return Usagef("%s needs at least one file; see %s --help", c.CommandPath(), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(args, c.OutOrStdout()) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	OutVar(flags, &f.out, "folder to write the history to")
	f.output.Add(flags)
	flags.BoolVar(&f.force, "force", false, "replace the history that the folder holds")
	flags.StringVar(&f.options.Service, "service", "",
		"name of the service, for a file that does not name it; default: the file's name")
	spanVar(flags, &f.options.Step, "step", 0, "between rows; default: the most common one in the file")
	flags.StringVar(&f.start, "start", "", "when a trace began, such as 2026-03-01T00:00:00Z; default: 2000-01-03, as in simulations")
	flags.Float64Var(&f.options.Cores, "cores", 0, "for utilisation traces: cores at 100 %")
	o := &f.options.Trace
	flags.Float64Var(&o.Scale, "scale", 0, "for traces: multiply every rate")
	flags.Float64Var(&o.Peak, "peak", 0, "for traces: scale so that the highest rate is this many requests per second")
	flags.StringVar(&o.Format, "format", "", "layout of a trace file, if it is not recognised (see workload list)")
	flags.StringVar(&o.Select, "select", "", "rows of a trace file: an id, or column=value,...")
	flags.StringVar(&o.Metric, "metric", "",
		"reading of a trace file, where it has several; or the metric of a CSV file whose only column is value")
	flags.StringVar(&f.combine, "combine", "", "how selected rows of one instant become one value: sum or mean")
	flags.StringVar(&f.gaps, "gaps", "", "for traces: fill a time without rows by hold or zero; otherwise it is absent")
	flags.BoolVar(&o.SkipBad, "skip-bad", false, "leave out faulty rows of a trace file and count them")
	return c
}

func (f *historyImportFlags) run(paths []string, out io.Writer) error {
	o := f.options
	o.Trace.Step = o.Step
	o.Trace.Combine, o.Trace.Gaps = workload.Combine(f.combine), workload.Gaps(f.gaps)
	faults := []error{checkHistoryOut(f.out, f.force)}
	if f.start != "" {
		var err error
		if o.Start, err = time.Parse(time.RFC3339, f.start); err != nil {
			faults = append(faults, Usagef("--start %q must be a time such as 2026-03-01T00:00:00Z", f.start))
		}
	}
	if o.Cores < 0 {
		faults = append(faults, Usagef("--cores %v must not be negative", o.Cores))
	}
	if o.Step%time.Millisecond != 0 {
		faults = append(faults, Usagef("--step %v must be whole milliseconds", o.Step))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	h, err := importer.Files(paths, o)
	if err != nil {
		return err
	}
	h.Manifest.By = "loadline " + version
	if err := writeHistory(f.out, h, f.force); err != nil {
		return err
	}
	if f.output.Structured() {
		return f.output.Encode(out, h.Summarise())
	}
	for _, note := range h.Manifest.Notes {
		fmt.Fprintf(out, "note: %s\n", note)
	}
	_, err = fmt.Fprintf(out, "%s: %s\nLook at it with loadline history show %s\n", f.out, historyLine(h), f.out)
	return err
}
