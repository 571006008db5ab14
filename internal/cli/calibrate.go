package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/advice"
	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/sim/pool"
)

type calibrateFlags struct {
	workloadFlags
	nodes                      poolFlags
	app, workload, policy, out string
	slo                        []string
	output                     Format
}

func newCalibrate() *cobra.Command {
	var f calibrateFlags
	c := &cobra.Command{
		Use:   "calibrate",
		Short: "Find a policy's best setting for an application and a workload",
		Long: `Finds the cheapest setting of a policy among those with at most 1 % of the requests
over the SLO, with a margin; if no setting meets the SLO, the one with the fewest
violations. Cost is the bill, or core-hours where nothing has a price. Ties go to the
default. The first line of the output is the policy as simulate and bench take it, the
table below lists what was tried.

Every setting runs on nodes without neighbours and on nodes where neighbours use and
request 70 % of the cores, and must meet the SLO on both: a setting that needs an empty
node is not the best. Its cost is the mean.

CPU limits (kept, doubled, lifted), requests (kept, p95 or p90 of use), scale-up steps,
floors by the clock and, on elastic nodes, a reserve are part of the search of hpa and
keda; give them with the policy to fix them (hpa:limits=keep,request=keep). Percentiles,
doubled limits, floors and the reserve become figures from the validation data. rules
searches hpa and keda, and finds the best of both. loadline tune does the same on a
history, and judges the result.

--output yaml prints the setting as manifests for kubectl: HorizontalPodAutoscalers,
ScaledObjects or VerticalPodAutoscalers, and patches of Deployments for requests and
limits. Services are taken for Deployments of the same name.

The search is a coarse grid, then around the best, then the best on all loads, in the
fluid engine; the best three are confirmed in the event engine, beside the default, also
with neighbours at 50 and 85 % where any of them meets the SLO there.

It uses validation data only: a generated workload is drawn with seeds that bench
does not use; of a trace it uses the fourth fifth, and the last fifth is held out.
Settings given with the policy are not changed.

Policies that can be calibrated: ` + strings.Join(bench.CalibrationNames(), ", "),
		Example: `  loadline calibrate --policy hpa --app bookinfo --workload bursts --peak 40
  loadline calibrate --policy hpa:limits=keep,request=keep --app bookinfo --workload bursts --peak 40
  loadline calibrate --policy hpa --app bookinfo --workload bursts --peak 40 --output yaml
  loadline simulate --app bookinfo --workload bursts --peak 40 \
    --policy "$(loadline calibrate --policy hpa --app bookinfo --workload bursts --peak 40 | head -1)"`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.policy, "policy", "hpa", "name[:key=value,...] of a policy")
	flags.StringVar(&f.app, "app", "bookinfo", "name or file of an application (see apps)")
	flags.StringVar(&f.workload, "workload", "day", "name, generators or file of a workload (see workload list)")
	f.add(flags)
	f.nodes.add(flags)
	flags.Lookup("seed").Hidden = true // validation has its own
	flags.StringArrayVar(&f.slo, "slo", nil, "instead of the app's: 250ms, p99=250ms or KIND:p99=250ms; repeatable")
	f.output.Add(flags)
	OutVar(flags, &f.out, "write the result to this file instead of printing it")
	return c
}

func (f *calibrateFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := CheckWritable("out", f.out); err != nil {
		return err
	}
	task, err := f.task()
	if err != nil {
		return err
	}
	bar := NewProgress(stderr, "calibrate "+f.policy)
	defer bar.Done()
	task.Workers, task.Progress = runtime.GOMAXPROCS(0), bar.At
	found, err := bench.Calibrate(ctx, task)
	if err != nil {
		return err
	}
	if !found.Feasible() {
		fmt.Fprintf(stderr, "no setting met the SLO with the margin: this one has the fewest violations, "+
			"with %.2f %% of the requests over the SLO\n",
			100*found.Best.Over)
	}
	write := func(w io.Writer) error { return f.output.Write(w, found, found.WriteText) }
	if f.output.String() == "yaml" {
		documents, err := advice.Manifests(found.Spec, advice.Target{App: task.App})
		if err != nil {
			return err
		}
		write = func(w io.Writer) error { return advice.Write(w, documents) }
	}
	if f.out != "" {
		return atomicfile.Write(f.out, write)
	}
	return write(stdout)
}

func (f *calibrateFlags) task() (bench.CalibrationTask, error) {
	model, err := loadApp(f.app)
	if err != nil {
		return bench.CalibrationTask{}, err
	}
	var cluster pool.Cluster
	app, err := f.nodes.scaled(model.App)
	if err := errors.Join(err, f.nodes.apply(&cluster)); err != nil {
		return bench.CalibrationTask{}, err
	}
	if err := errors.Join(cluster.CheckApp(app), overrideSLOs(app, f.slo), bench.CheckCalibration(f.policy, app)); err != nil {
		return bench.CalibrationTask{}, UsageError(err)
	}
	options, err := f.workloadOptions()
	if err != nil {
		return bench.CalibrationTask{}, err
	}
	task, err := bench.NewCalibrationTask(
		bench.App{Name: app.Name, Model: app},
		bench.Workload{Name: f.workload, Spec: f.workload, Options: options}, cluster, f.policy)
	return task, err
}
