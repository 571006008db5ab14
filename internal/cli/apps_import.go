package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/workload"
)

func newAppsImport() *cobra.Command {
	var o workload.CallGraphOptions
	var out string
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a model file from a table of call traces (Alibaba MSCallGraph)",
		Long: `Turns a call-graph table of Alibaba's microservices traces (2021 or 2022, plain or
gzip) into a model of an application: services, kinds of requests, call trees
with probabilities. What the traces do not hold is assumed, and marked so.`,
		Example: `  loadline apps import MSCallGraph_0.csv.gz --name shop --out shop.yaml
  loadline apps check shop.yaml`,
		Args: Exactly("a call-graph table"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := CheckWritable("out", out); err != nil {
				return err
			}
			return importApp(c.OutOrStdout(), c.ErrOrStderr(), args[0], out, o)
		},
	}
	f := c.Flags()
	OutVar(f, &out, "write the model to this file instead of standard output")
	f.StringVar(&o.Name, "name", "callgraph", "name of the application")
	f.Float64Var(&o.CPUShare, "cpu-share", 0.5, "share of a visit's own time that is CPU")
	f.IntVar(&o.MaxKinds, "max-kinds", 20, "keep the most frequent kinds of requests")
	f.Float64Var(&o.MinCalls, "min-calls", 0.001, "leave out calls made less often than this per request")
	f.Float64Var(&o.SLOFactor, "slo-factor", 3, "SLO latency over a kind's mean response time")
	f.IntVar(&o.MaxTraces, "max-traces", 0, "stop after this many usable traces; 0 = read all")
	f.BoolVar(&o.SkipBadRows, "skip-bad", false, "leave out rows that cannot be read, and count them")
	return c
}

func importApp(stdout, stderr io.Writer, file, out string, o workload.CallGraphOptions) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	app, report, err := workload.AppFromCallGraph(in, file, o)
	if err != nil {
		return err
	}
	yaml, err := apps.Encode(app, apps.Origin{
		Name: "traces", Kind: apps.Assumed,
		Source: fmt.Sprintf("%d call traces in %s; the traces hold calls and response times only, the rest is assumed", report.Used,
			report.Format),
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%d rows, %d traces, %d used\n", report.Rows, report.Traces, report.Used)
	for _, why := range slices.SortedFunc(maps.Keys(report.Dropped), func(a, b string) int {
		return cmp.Or(cmp.Compare(report.Dropped[b], report.Dropped[a]), cmp.Compare(a, b))
	}) {
		fmt.Fprintf(stderr, "left out %d traces: %s\n", report.Dropped[why], why)
	}
	if report.KindsLeftOut > 0 {
		fmt.Fprintf(stderr, "left out %d rarer kinds of requests with %d traces (--max-kinds)\n", report.KindsLeftOut,
			report.RequestsLeftOut)
	}
	for _, what := range report.Assumed {
		fmt.Fprintln(stderr, "assumed:", what)
	}
	if out == "" {
		_, err = stdout.Write(yaml)
		return err
	}
	return atomicfile.Write(out, func(w io.Writer) error { _, err := w.Write(yaml); return err })
}
