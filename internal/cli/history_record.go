package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/simulate"
)

type historyRecordFlags struct {
	workloadFlags
	app, workload, policy, engine string
	cpuModel                      string
	nodes                         poolFlags
	step                          time.Duration
	perturb                       simulate.Perturb
	out                           string
	force                         bool
	output                        Format
}

func newHistoryRecord() *cobra.Command {
	var f historyRecordFlags
	c := &cobra.Command{
		Use:   "record -o DIR",
		Short: "Simulate an application and record its metrics as a history",
		Long: `Runs an application in the simulated cluster and records the metrics of its exporters
as a history, as a metrics system would for a real cluster: one value per step. It
can be used like the history of a real cluster, with the true model known.

The same flags give the same history. A built-in workload or a generator can be
made longer than its own length; a file cannot.`,
		Example: `  # A week of bookinfo under Kubernetes' autoscaler, in some seconds
  loadline history record --app bookinfo --workload week --policy hpa --duration 7d -o past

  # A day in the event engine, which simulates every request
  loadline history record --app single --workload day --policy hpa --engine event -o past

  # On nodes of 4 cores that other tenants keep half busy
  loadline history record --app boutique --workload day --pool eks-4 --neighbours use=0.5 -o past

  # With gaps and noise, as real metrics have them
  loadline history record --app boutique --workload day --metrics-loss 0.02 --cpu-noise 0.05 -o past`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	OutVar(flags, &f.out, "folder to write the history to")
	f.output.Add(flags)
	flags.BoolVar(&f.force, "force", false, "replace the history that the folder holds")
	flags.StringVar(&f.app, "app", "bookinfo", "name or file of an application (see apps)")
	flags.StringVar(&f.workload, "workload", "day", "name, generators or file of a workload (see workload list)")
	flags.StringVar(&f.policy, "policy", "hpa", "name[:key=value,...] of a policy (see simulate)")
	flags.StringVar(&f.engine, "engine", "fluid", "one of "+strings.Join(simulate.Engines(), ", "))
	LengthVar(flags, &f.options.Duration, "duration",
		"how long, such as 36h or 7d; default: the workload's own length, a day for generators")
	spanVar(flags, &f.step, "step", simulate.DefaultHistoryStep, "of the history, not shorter than the policy's scrapes")
	f.addReading(flags)
	f.nodes.add(flags)
	flags.StringVar(&f.cpuModel, "cpu-model", "quota", "how a CPU limit holds: quota (the kernel's periods) or shared (an ideal)")
	flags.Float64Var(&f.perturb.MetricsLoss, "metrics-loss", 0,
		"probability that a service's step, or a scrape that the policy sees, is lost")
	flags.Float64Var(&f.perturb.CPUNoise, "cpu-noise", 0, "relative deviation of CPU readings")
	flags.Float64Var(&f.perturb.SlowStart, "slow-start", 1, "factor on the time that pods need to start")
	flags.BoolVar(&f.perturb.ResizeRestarts, "resize-restarts", false,
		"a pod that is resized restarts, as on clusters that cannot resize in place")
	return c
}

func (f *historyRecordFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	spec, err := f.spec(stderr)
	if err != nil {
		return err
	}
	bar := NewProgress(stderr, fmt.Sprintf("recording %s under %s", spec.App.Name, spec.Policy))
	spec.Progress = func(at time.Duration) { bar.At(at.Seconds() / spec.Duration.Seconds()) }
	h, err := simulate.RecordHistory(ctx, spec)
	bar.Done()
	if err != nil {
		return err
	}
	h.Manifest.By = "loadline " + version
	if err := writeHistory(f.out, h, f.force); err != nil {
		return err
	}
	if f.output.Structured() {
		return f.output.Encode(stdout, h.Summarise())
	}
	_, err = fmt.Fprintf(stdout, "%s: %s\nLook at it with loadline history show %s\n", f.out, historyLine(h), f.out)
	return err
}

// historyLine summarises a history in one line.
func historyLine(h *history.History) string {
	return fmt.Sprintf("%s and %s in %d steps of %v from %s to %s", count(len(h.Services), "service", "services"),
		count(len(h.Calls), "kind of calls", "kinds of calls"), h.Steps, h.Step,
		h.Start.Add(-h.Step).Format(time.DateTime), h.At(h.Steps-1).Format(time.DateTime))
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// spec turns flags into a recording, and reports all faults before anything is run.
func (f *historyRecordFlags) spec(stderr io.Writer) (simulate.HistorySpec, error) {
	cpu, err := parseCPUModel(f.cpuModel)
	faults := []error{checkHistoryOut(f.out, f.force), err}
	model, err := loadApp(f.app)
	faults = append(faults, err)
	w, report, err := f.open(f.workload)
	faults = append(faults, err)
	spec := simulate.HistorySpec{
		Policy: f.policy, Engine: f.engine, Step: f.step, Seed: f.options.Seed, CPU: cpu, Perturb: f.perturb,
	}
	faults = append(faults, f.nodes.apply(&spec.Cluster))
	if model != nil && w != nil {
		spec.App, err = f.nodes.scaled(model.App)
		faults = append(faults, err)
		spec.Workload, spec.Duration = w.Name, w.Duration()
		spec.Load, err = w.For(spec.App)
		faults = append(faults, err)
		if err := spec.Validate(); err != nil {
			faults = append(faults, UsageError(err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return spec, err
	}
	if remark := leftOut(report); remark != "" {
		fmt.Fprintf(stderr, "workload %s: %s\n", f.workload, remark)
	}
	return spec, nil
}
