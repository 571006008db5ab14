package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/simulate"
)

type historyExposeFlags struct {
	simulateFlags
	namespace, file string
}

func newHistoryExpose() *cobra.Command {
	var f historyExposeFlags
	c := &cobra.Command{
		Use:   "expose -o FILE",
		Short: "Simulate an application and write its metrics as Prometheus would scrape them",
		Long: `Runs an application in the simulated cluster and writes what Istio's proxies,
cAdvisor and kube-state-metrics would have exposed, as OpenMetrics text with the
simulated times (they begin in the year 2000). Prometheus can import it as
blocks, so that history pull can be tried without a cluster.

Latencies of calls between services are sums and counts only: the engines have
no histograms of them.`,
		Example: `  loadline history expose --app bookinfo --workload day --duration 6h -o metrics.txt
  promtool tsdb create-blocks-from openmetrics metrics.txt data
  prometheus --storage.tsdb.path=data --storage.tsdb.retention.time=100y --query.lookback-delta=20s &
  loadline history pull --prometheus http://localhost:9090 --namespace default --since 6h --until 2000-01-03T06:00:00Z -o past`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f.cpuModel, f.perturb.SlowStart = "quota", 1
	flags := c.Flags()
	flags.SortFlags = false
	OutVar(flags, &f.file, "file to write the metrics to")
	f.output.Add(flags)
	flags.StringVar(&f.namespace, "namespace", "default", "namespace of the application")
	flags.StringVar(&f.app, "app", "bookinfo", "name or file of an application (see apps)")
	flags.StringVar(&f.workload, "workload", "day", "name, generators or file of a workload (see workload list)")
	flags.StringVar(&f.policy, "policy", "hpa", "name[:key=value,...] of a policy (see simulate)")
	flags.StringVar(&f.engine, "engine", simulate.Engines()[0], "one of "+strings.Join(simulate.Engines(), ", "))
	f.add(flags)
	f.nodes.add(flags)
	return c
}

func (f *historyExposeFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	missing := CheckWritable("out", f.file)
	if f.file == "" {
		missing = Usagef("--out is missing: the file to write the metrics to")
	}
	spec, err := f.spec(stderr)
	if err := errors.Join(missing, err); err != nil {
		return err
	}
	metrics := simulate.NewExposition(spec.App, f.namespace)
	if metrics.Autoscalers, err = policy.AutoscalersOf(spec.Policy, spec.App); err != nil {
		return UsageError(err)
	}
	spec.Hooks.Scrape = metrics.Watch
	if _, err := f.simulate(ctx, spec, stderr); err != nil {
		return err
	}
	if err := atomicfile.Write(f.file, metrics.Write); err != nil {
		return err
	}
	written := struct {
		File      string `json:"file"`
		Samples   int    `json:"samples"`
		App       string `json:"app"`
		Namespace string `json:"namespace"`
	}{f.file, metrics.Samples(), spec.App.Name, f.namespace}
	return f.output.Write(stdout, written, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: %d samples of %s in namespace %s\n", f.file, written.Samples, written.App, f.namespace)
		return err
	})
}
