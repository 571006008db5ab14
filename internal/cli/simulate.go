package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/suggest"
)

type simulateFlags struct {
	workloadFlags
	nodes                         poolFlags
	app, workload, policy, engine string
	several                       severalFlags // of simulate, instead of app, workload, policy and nodes.appScale
	guard, cpuModel               string
	slo                           []string
	shares                        string
	warmUp                        time.Duration
	perturb                       simulate.Perturb
	announce                      []string
	out, svg                      string
	output                        Format
	decisions                     string
}

func newSimulate() *cobra.Command {
	var f simulateFlags
	c := &cobra.Command{
		Use:   "simulate",
		Short: "Run an application, or several on one cluster, under a workload and a policy",
		Long: `Runs an application in the simulated cluster under a workload, scaled by a policy, and
prints the result: latency against the SLO, failures, cost, changes.

The same seed gives the same result, byte for byte. The time that decisions took,
which differs from run to run, is printed to stderr.

--app may be given several times: the applications then share one cluster. Each has its own
workload, drawn with a seed of its own, its own policy, which sees its own services only, and
its own SLO; the one with most requests over the SLO decides. Nodes are those of all together,
or of --pool. The room on nodes that policies want kept free is held as one reserve for all, by
the rule of the controller (docs/class.md). --workload, --policy and --app-scale are given once
for all, or once for each application, in the order of --app. Services and kinds of requests
are named APPLICATION/NAME.

Policies:
` + policyHelp(),
		Example: `  # A generated day on bookinfo under Kubernetes' autoscaler, with a picture
  loadline simulate --app bookinfo --workload day --policy hpa --svg day.svg

  # The same with another CPU target and a shorter scale-down window
  loadline simulate --app bookinfo --workload day --policy hpa:target=60,down-window=120s

  # Half an hour of constant load on two replicas of one service, as JSON
  loadline simulate --app single --workload constant:rps=40 --duration 30m --policy static:replicas=2 --output json

  # A file of rates, scaled to 100 requests per second at its peak, with a stricter SLO
  loadline simulate --app boutique --workload rates.csv --peak 100 --slo p99=200ms

  # A trained model with the guards of production, which fall back to HPA
  loadline simulate --app bookinfo --policy model:file=model.safetensors --guard hpa:target=60

  # Functions that scale to zero, under Knative's autoscaler
  loadline simulate --app functions --workload constant:rps=0.1 --duration 12h --policy kpa

  # Ten times the load on a pool of 4-core nodes that take 45 s to come, beside other tenants
  loadline simulate --app boutique --workload day --peak 400 --app-scale 10 --pool eks-4 --neighbours use=0.5

  # Two applications on one cluster with one reserve, each with its own load
  loadline simulate --app shop=boutique --workload bursts --app info=bookinfo --workload day \
    --duration 3h --pool eks-4 --policy planner:reserve=on

  # Under a metrics system that loses one scrape in ten and is one scrape late
  loadline simulate --app bookinfo --workload bursts --policy hpa --metrics-loss 0.1 --metrics-late 1`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	f.several.add(flags)
	flags.StringVar(&f.guard, "guard", "",
		"put the guards of production around the policy, with this one to fall back on: name[:key=value,...]")
	flags.StringVar(&f.engine, "engine", simulate.Engines()[0], "one of "+strings.Join(simulate.Engines(), ", "))
	f.add(flags)
	f.nodes.addNodes(flags)
	flags.Float64SliceVar(&f.several.scales, "app-scale", []float64{1}, appScaleUsage)
	flags.StringArrayVar(&f.slo, "slo", nil, "instead of the app's: 250ms, p99=250ms or KIND:p99=250ms; repeatable")
	flags.StringVar(&f.shares, "shares", "",
		"each service's part of the SLO from this file (see slo split --out), for policies that look at it")
	flags.DurationVar(&f.warmUp, "warm-up", 0, "exclude this first part from latency and SLO figures")
	flags.StringVar(&f.cpuModel, "cpu-model", "quota", "how a CPU limit holds: quota (the kernel's periods) or shared (an ideal)")
	flags.Float64Var(&f.perturb.MetricsLoss, "metrics-loss", 0, "probability that a scrape of a service or pod is lost")
	flags.IntVar(&f.perturb.MetricsLate, "metrics-late", 0, "scrapes by which metrics are late")
	flags.Float64Var(&f.perturb.CPUNoise, "cpu-noise", 0, "relative deviation of CPU readings")
	flags.Float64Var(&f.perturb.SlowStart, "slow-start", 1, "factor on the time that pods need to start")
	flags.BoolVar(&f.perturb.ResizeRestarts, "resize-restarts", false,
		"a pod that is resized restarts, as on clusters that cannot resize in place")
	flags.StringArrayVar(&f.announce, "announce", nil,
		"announce a change of the load to the policy: start=2h,end=3h,factor=3[,name=sale]; the load itself is the workload's; repeatable")
	f.output.Add(flags)
	OutVar(flags, &f.out, "write the result to this file instead of printing it")
	flags.StringVar(&f.svg, "svg", "", "draw load, replicas, CPU and latency over time to this file")
	flags.StringVar(&f.decisions, "decisions", "", "write the log of every decision to this new folder (see explain and replay)")
	return c
}

// ofService are the settings that are named by a service, by policy.
var ofService = map[string]string{
	"static": "replicas of this service",
	"hpa":    "CPU utilisation to keep of this service; off = nothing scales it",
	"sre":    "CPU utilisation to keep of this service; off = nothing scales it",
	"keda":   "requests per second for each replica of this service",
}

func policyHelp() string {
	var b strings.Builder
	for _, p := range policy.List() {
		fmt.Fprintf(&b, "  %-8s %s\n", p.Name, p.About)
		for _, o := range p.Options {
			fmt.Fprintf(&b, "    %-16s %s", o.Key, o.About)
			if o.Default != "" {
				fmt.Fprintf(&b, " (%s)", o.Default)
			}
			b.WriteByte('\n')
		}
		if about := ofService[p.Name]; about != "" {
			fmt.Fprintf(&b, "    %-16s %s\n", "SERVICE", about)
		}
	}
	return b.String()
}

func (f *simulateFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	spec, err := f.spec(stderr)
	if err != nil {
		return err
	}
	closeLog := func() error { return nil }
	if f.decisions != "" {
		if closeLog, err = recordDecisions(&spec, f.decisions); err != nil {
			return err
		}
	}
	outcome, err := f.simulate(ctx, spec, stderr)
	logFault := closeLog()
	if err != nil {
		return errors.Join(err, logFault)
	}
	// The log and the picture first: they are complete when the result appears. Where one of them
	// cannot be written, the result appears all the same.
	return errors.Join(logFault, f.writePicture(spec, outcome), f.writeResult(outcome, stdout, stderr))
}

func (f *simulateFlags) writePicture(spec simulate.Spec, outcome *simulate.Outcome) error {
	if f.svg == "" {
		return nil
	}
	picture := storyFigure(spec.App, outcome).SVG()
	err := atomicfile.Write(f.svg, func(w io.Writer) error { _, err := w.Write(picture); return err })
	if err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	return nil
}

// writeResult writes the result to --out, or prints it: also if --out cannot be written.
func (f *simulateFlags) writeResult(outcome *simulate.Outcome, stdout, stderr io.Writer) error {
	r := &outcome.Result
	write := func(w io.Writer) error {
		return f.output.Write(w, r, func(w io.Writer) error { return writeWithVerdict(w, r.Headline(), toneOf(r), r.WriteText) })
	}
	fmt.Fprintln(stderr, outcome.Effort)
	for _, t := range outcome.Rungs {
		fmt.Fprintf(stderr, "guard after %v: %v\n", sim.Since(t.At).Round(time.Second), t)
	}
	if f.out == "" {
		return write(stdout)
	}
	err := atomicfile.Write(f.out, write)
	if err != nil {
		return errors.Join(fmt.Errorf("--out: %w; the result is printed instead", err), write(stdout))
	}
	return nil
}

// toneOf the verdict of a run.
func toneOf(r *result.Result) tone {
	switch {
	case !r.Judged():
		return toneUnclear
	case r.SLOMet():
		return toneGood
	}
	return toneBad
}

// spec turns flags into a run, and reports all faults before anything is run.
func (f *simulateFlags) spec(stderr io.Writer) (simulate.Spec, error) {
	cpu, err := f.checkWords()
	faults := []error{err}
	subject, err := f.subject()
	faults = append(faults, err)
	w := subject.workload
	spec := simulate.Spec{
		App: subject.app, Policy: subject.policy,
		Guard: f.guard, Engine: f.engine, Seed: f.options.Seed, CPU: cpu, WarmUp: f.warmUp, Perturb: f.perturb,
	}
	spec.Announced, err = parseEvents(f.announce)
	faults = append(faults, err, f.nodes.apply(&spec.Cluster))
	if spec.App != nil {
		if err := overrideSLOs(spec.App, f.slo); err != nil {
			faults = append(faults, UsageError(err))
		}
		spec.Partial, err = partialSLOs(f.shares, spec.App)
		faults = append(faults, err)
	}
	if w != nil {
		spec.Workload, spec.Duration = w.Name, w.Duration()
	}
	if spec.App != nil && w != nil {
		spec.Load, err = w.For(spec.App)
		faults = append(faults, err)
		if err := spec.Validate(); err != nil {
			faults = append(faults, UsageError(err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return spec, err
	}
	for _, remark := range subject.remarks {
		fmt.Fprintln(stderr, remark)
	}
	return spec, nil
}

// checkWords checks flags that are independent of others.
func (f *simulateFlags) checkWords() (sim.CPUModel, error) {
	cpu, err := parseCPUModel(f.cpuModel)
	return cpu, errors.Join(err, CheckWritable("out", f.out), CheckWritable("svg", f.svg))
}

// parseCPUModel reads the flag --cpu-model.
func parseCPUModel(name string) (sim.CPUModel, error) {
	switch name {
	case "quota":
		return sim.Quota, nil
	case "shared":
		return sim.Shared, nil
	}
	return 0, Usagef("unknown --cpu-model %q%s", name, suggest.Hint(name, []string{"quota", "shared"}))
}

func (f *simulateFlags) simulate(ctx context.Context, spec simulate.Spec, stderr io.Writer) (*simulate.Outcome, error) {
	// Decisions are timed by the thread's CPU clock.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	bar := NewProgress(stderr, fmt.Sprintf("%s on %s", spec.Policy, spec.App.Name))
	defer bar.Done()
	spec.Hooks.CPUTime = ThreadCPUTime
	spec.Hooks.Progress = func(at time.Duration) { bar.At(at.Seconds() / spec.Duration.Seconds()) }
	return simulate.Run(ctx, spec)
}
