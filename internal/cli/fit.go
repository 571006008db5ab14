package cli

import (
	"errors"
	"fmt"
	"io"

	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/twin"
)

type fitFlags struct {
	name, out         string
	objectives        []string
	without           []string
	heldOut           float64
	delay             string
	cpuModel, routing string
	svg, service      string
	quick             bool
	output            Format
}

func newFit() *cobra.Command {
	var f fitFlags
	c := &cobra.Command{
		Use:   "fit DIR -o FILE",
		Short: "Fit a twin, a simulation model of an application, to its history",
		Long: `Fits a model of an application to its history: CPU per request and idle load, by kind
of request where the mix varies enough, the calls between services and their frequency,
the load-latency profile with its knee, start-up, memory and sizes, and the nodes and
their other users where the history has them. The twin is a model file like any other:
simulate, bench and train run it.

The linear model of Scaling-Ops is fitted as well, as in the paper. Both are scored
on held-out history, its last part: the table shows the median relative error of CPU,
of the mean response time and of its 99th percentile, far from saturation and near it
(from 70 % of the CPU limit on).

What the history does not contain is assumed, marked as such in the file, and listed.
Figures that may change a conclusion have a range: held-out history is simulated at
both ends, and the table shows what becomes of the requests over their SLO and of the
cost. Measure what matters there.
docs/twin.md describes the method.`,
		Example: `  loadline history record --app boutique --workload week --policy hpa -o past
  loadline fit past -o shop.yaml
  loadline apps check shop.yaml
  loadline simulate --app shop.yaml --workload day --policy hpa

  # With your own objectives, one of them for checkouts only
  loadline fit past -o shop.yaml --objective "99% < 500ms" --objective "checkout: 99% < 2s"

  # A picture of the knee of one service: measured, twin and linear model
  loadline fit past -o shop.yaml --svg knee.svg --service frontend`,
		Args: Exactly("the folder of a history"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(args[0], c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	OutVar(flags, &f.out, "model file to write")
	flags.StringVar(&f.name, "name", "twin", "of the application")
	flags.StringArrayVar(&f.objectives, "objective", nil,
		`"99% < 250ms", or "KIND: 99% < 250ms" for one kind of request; repeatable, the last that fits holds`)
	heldOutVar(flags, &f.heldOut, "share at the end of the history that is held out to score on")
	flags.StringArrayVar(&f.without, "without", nil, "leave this service out; repeatable")
	flags.StringVar(&f.delay, "delay", "mean", "what the linear model predicts: mean, p50, p90, p95 or p99")
	flags.StringVar(&f.cpuModel, "cpu-model", "quota", "how a CPU limit holds: quota (the kernel's periods) or shared (an ideal)")
	flags.StringVar(&f.routing, "routing", "random", "how requests are spread over replicas: random or least-request")
	flags.BoolVar(&f.quick, "no-sensitivity", false, "do not simulate held-out history at both ends of what the history leaves open")
	flags.StringVar(&f.svg, "svg", "", "draw the knee of one service to this file")
	flags.StringVar(&f.service, "service", "", "for --svg; default: the service that came closest to its CPU limit")
	f.output.Add(flags)
	return c
}

func (f *fitFlags) run(dir string, stdout, stderr io.Writer) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	h, err := history.Read(dir, history.Options{})
	if err != nil {
		return err
	}
	if f.service != "" && h.Service(f.service) == nil {
		var names []string
		for i := range h.Services {
			names = append(names, h.Services[i].Name)
		}
		return Usagef("--service %s is not in the history%s", f.service, suggest.Hint(f.service, names))
	}
	bar := NewProgress(stderr, "fitting "+dir)
	o.Progress = bar.At
	t, err := twin.Fit(h, o)
	bar.Done()
	if err != nil {
		return fmt.Errorf("fit %s: %w", dir, err)
	}
	model, err := t.Encode()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(f.out, func(w io.Writer) error { _, err := w.Write(model); return err }); err != nil {
		return err
	}
	if f.svg != "" {
		figure, err := kneeFigure(t, f.service)
		if err != nil {
			return err
		}
		picture := figure.SVG()
		if err := atomicfile.Write(f.svg, func(w io.Writer) error { _, err := w.Write(picture); return err }); err != nil {
			return err
		}
	}
	if f.output.Structured() {
		return f.output.Encode(stdout, struct {
			File   string        `json:"file"`
			Report *twin.Report  `json:"report"`
			Linear []twin.Linear `json:"linear"`
			Ranges []twin.Range  `json:"ranges"`
		}{f.out, &t.Report, t.Linear, t.Ranges})
	}
	return printFit(stdout, f.out, t)
}

// options are the flags, or every fault of them.
func (f *fitFlags) options() (twin.Options, error) {
	o := twin.Options{Name: f.name, HeldOut: f.heldOut, Without: f.without, Sensitivity: !f.quick}
	var faults []error
	if f.out == "" {
		faults = append(faults, Usagef("-o FILE is needed: the model file to write"))
	}
	faults = append(faults, CheckWritable("out", f.out), CheckWritable("svg", f.svg))
	if f.service != "" && f.svg == "" {
		faults = append(faults, Usagef("--service needs --svg FILE"))
	}
	if !(f.heldOut > 0 && f.heldOut <= 0.9) {
		faults = append(faults, Usagef("--held-out %v must be above 0 and at most 0.9", f.heldOut))
	}
	for _, text := range f.objectives {
		ob, err := parseObjective(text)
		if err != nil {
			faults = append(faults, Usagef("--objective %q: %v", text, err))
		}
		o.Objectives = append(o.Objectives, ob)
	}
	delays := map[string]history.ServiceMetric{
		"mean": history.LatencyMean, "p50": history.LatencyP50, "p90": history.LatencyP90, "p95": history.LatencyP95,
		"p99": history.LatencyP99,
	}
	var known bool
	if o.Delay, known = delays[f.delay]; !known {
		faults = append(faults, Usagef("unknown --delay %q%s", f.delay,
			suggest.Hint(f.delay, []string{"mean", "p50", "p90", "p95", "p99"})))
	}
	var err error
	o.CPU, err = parseCPUModel(f.cpuModel)
	faults = append(faults, err)
	routings := map[string]loadline.Routing{"random": loadline.RouteRandom, "least-request": loadline.RouteLeastRequest}
	if o.Routing, known = routings[f.routing]; !known {
		faults = append(faults, Usagef("unknown --routing %q%s", f.routing, suggest.Hint(f.routing, []string{"random", "least-request"})))
	}
	return o, errors.Join(faults...)
}

// parseObjective reads "99% < 250ms" or "checkout: 99% < 250ms". The kind ends at the last
// colon, since routes may contain colons.
func parseObjective(text string) (twin.Objective, error) {
	var o twin.Objective
	rest := text
	if i := strings.LastIndex(text, ":"); i >= 0 {
		if o.Kind, rest = strings.TrimSpace(text[:i]), text[i+1:]; o.Kind == "" {
			return o, errors.New(`the kind of request before ":" is empty`)
		}
	}
	share, latency, found := strings.Cut(rest, "<")
	if !found {
		return o, errors.New(`must be like "99% < 250ms"`)
	}
	share, isShare := strings.CutSuffix(strings.TrimSpace(share), "%")
	p, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
	if err != nil || !isShare || !(p > 0 && p < 100) {
		return o, fmt.Errorf("the share %q must be between 0%% and 100%%, like 99%%", strings.TrimSpace(share))
	}
	d, err := time.ParseDuration(strings.TrimSpace(strings.TrimPrefix(latency, "=")))
	if err != nil || d <= 0 {
		return o, fmt.Errorf("the time %q must be above 0, like 250ms", strings.TrimSpace(latency))
	}
	o.SLO = loadline.SLO{Percentile: p, Latency: d}
	return o, nil
}
