package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/slosplit"
	"github.com/loadline/loadline/internal/slosplit/learned"
	"github.com/loadline/loadline/internal/suggest"
)

func newSLO() *cobra.Command {
	c := &cobra.Command{
		Use:   "slo",
		Short: "Divide an end-to-end SLO among services",
		Example: `  loadline slo split --app sockshop --rate 100
  loadline slo train --way meta --out split.safetensors`,
		Args: Subcommands,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newSLOSplit(), newSLOTrain())
	return c
}

type sloSplitFlags struct {
	app, way, profiles string
	model              string
	wayGiven           bool
	rate               float64
	slo                []string
	runs               int
	out, svg           string
	output             Format
}

func newSLOSplit() *cobra.Command {
	var f sloSplitFlags
	c := &cobra.Command{
		Use:   "split",
		Short: "Split an SLO: the share of each service, and the instances and cost that follow",
		Long: `An SLO is end to end, but services are scaled one by one. This splits the SLO into a
share for each service: how long a visit may take without its calls, so that the SLO
is met at the lowest cost. The load-latency profile of a service (see profile) gives
the instances that meet its share.

Ways:
  parslo        each piece of time to the service where it saves most cost; then more
                or less of it, until the tails that are measured in the event engine
                meet the SLO. Tails do not add: shares may sum to more than the SLO
  meta          by a graph network that adapts to each chain in a few steps, on
                neighbours of it that parslo solves; then measured as with parslo
  gcn, fnn      by a graph network, or a plain one, as they were trained; measured too
  proportional  by the unloaded latency of each visit
  even          the same for every visit

The learned ways take a model of slo train. Without one they are trained in place on
Sock Shop, which takes a minute or two.

A service on several paths gets the tightest of its shares. An SLO that cannot be met
is an error, with the lowest latency that is possible and its cost.`,
		Example: `  loadline slo split --app bookinfo --rate 100
  loadline slo split --app sockshop --rate 100 --way proportional
  loadline slo split --app bookinfo --slo p99=150ms --output json
  loadline slo split --app sockshop --rate 100 --svg split.svg

  # As the budgets of other policies, in training and in simulation
  loadline slo split --app bookinfo --rate 100 --out shares.json
  loadline train --app bookinfo --workload week --shares shares.json -o run

  # With profiles that were measured before
  loadline profile --app sockshop --out sockshop.profiles.json
  loadline slo split --app sockshop --rate 200 --profiles sockshop.profiles.json

  # By a network
  loadline slo train --way meta --out split.safetensors
  loadline slo split --app bookinfo --rate 100 --model split.safetensors`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			f.wayGiven = c.Flags().Changed("way")
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	// The papers call them methods.
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "method" {
			name = "way"
		}
		return pflag.NormalizedName(name)
	})
	flags.StringVar(&f.app, "app", "bookinfo", "name or file of an application (see apps)")
	flags.Float64Var(&f.rate, "rate", 50, "requests per second of all kinds together, by the kinds' shares")
	flags.StringVar(&f.way, "way", slosplit.Ways()[0], "or --method: one of "+strings.Join(splitWays(), ", "))
	flags.StringVar(&f.model, "model", "", "of slo train, for a learned way")
	flags.StringArrayVar(&f.slo, "slo", nil, "instead of the app's: 250ms, p99=250ms or KIND:p99=250ms; repeatable")
	flags.StringVar(&f.profiles, "profiles", "", "profiles from this file (see profile --out) instead of measuring them")
	flags.IntVar(&f.runs, "runs", slosplit.DefaultRuns, "measurements of the whole application at most; 0 = none, by the profiles alone")
	f.output.Add(flags)
	OutVar(flags, &f.out, "also write the shares to this file, for --shares of train and simulate")
	flags.StringVar(&f.svg, "svg", "", "draw the split on the graph of services to this file")
	return c
}

func (f *sloSplitFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	split, app, known, err := f.check()
	if err != nil {
		return err
	}
	if split == nil {
		if split, err = trainInPlace(ctx, f.way, stderr); err != nil {
			return err
		}
	}
	perSecond := make([]float64, len(app.Kinds))
	shares := 0.0
	for _, k := range app.Kinds {
		shares += k.Share
	}
	for i, k := range app.Kinds {
		perSecond[i] = f.rate * k.Share / shares
	}
	chains, err := f.chains(ctx, app, perSecond, known, stderr)
	if err != nil {
		return err
	}
	measure := slosplit.InEventEngine(ctx, app, slosplit.Measurement{PerSecond: perSecond})
	var plan *slosplit.Plan
	bar := NewProgress(stderr, "measuring "+app.Name)
	if adjusted := f.way == "parslo" || slices.Contains(learned.Ways(), f.way); adjusted && f.runs > 0 {
		plan, err = slosplit.Adjust(app, chains, slosplit.NewCache(split), measure, f.runs, bar.At)
	} else if plan, err = slosplit.NewPlan(app, chains, split); err == nil && f.runs > 0 {
		plan.Tails, err = measure(plan.Instances())
		plan.Runs = 1
	}
	bar.Done()
	if err != nil {
		return fmt.Errorf("split the SLO of %s at %g requests/s: %w", app.Name, f.rate, err)
	}
	if err := f.write(app, plan); err != nil {
		return err
	}
	if f.output.Structured() {
		return f.output.Encode(stdout, struct {
			App  string  `json:"app"`
			Rate float64 `json:"rate"`
			Way  string  `json:"way"`
			*slosplit.Plan
		}{app.Name, f.rate, f.way, plan})
	}
	return f.print(stdout, app, plan)
}

// write writes the requested files.
func (f *sloSplitFlags) write(app *loadline.App, plan *slosplit.Plan) error {
	if f.out != "" {
		shares := plan.Shares()
		shares.App, shares.Way, shares.Rate = app.Name, f.way, f.rate
		if err := shares.Validate(); err != nil {
			return fmt.Errorf("the split of %s cannot be kept as shares: %w", app.Name, err)
		}
		if err := atomicfile.Write(f.out, shares.Write); err != nil {
			return err
		}
	}
	if f.svg == "" {
		return nil
	}
	picture := splitGraph(app, plan, f.rate, f.way).SVG()
	return atomicfile.Write(f.svg, func(w io.Writer) error { _, err := w.Write(picture); return err })
}

// check checks the flags and reports every fault. There is no splitter if one must be trained.
func (f *sloSplitFlags) check() (split slosplit.Splitter, app *loadline.App, known *profile.Set, err error) {
	var faults []error
	if !(f.rate > 0) || math.IsInf(f.rate, 0) {
		faults = append(faults, Usagef("--rate %v must be above 0, in requests per second", f.rate))
	}
	if f.runs < 0 {
		faults = append(faults, Usagef("--runs %d must be 0 or more", f.runs))
	}
	if split, err = f.splitter(); err != nil {
		faults = append(faults, err)
	}
	faults = append(faults, CheckWritable("out", f.out), CheckWritable("svg", f.svg))
	model, err := loadApp(f.app)
	if err != nil {
		return nil, nil, nil, errors.Join(append(faults, err)...)
	}
	app = model.App
	if err := overrideSLOs(app, f.slo); err != nil {
		faults = append(faults, UsageError(err))
	}
	if f.profiles != "" {
		file, err := os.Open(f.profiles)
		if err != nil {
			return nil, nil, nil, errors.Join(append(faults, UsageError(err))...)
		}
		defer file.Close()
		known, err = profile.ReadSet(file, f.profiles)
		faults = append(faults, err)
	}
	return split, app, known, errors.Join(faults...)
}

func splitWays() []string { return append(slosplit.Ways(), learned.Ways()...) }

// splitter by its way or its model; nil if a model must be trained first.
func (f *sloSplitFlags) splitter() (slosplit.Splitter, error) {
	if f.model != "" {
		m, err := learned.Open(f.model)
		if err != nil {
			return nil, UsageError(fmt.Errorf("--model: %w", err))
		}
		if f.wayGiven && f.way != m.Way {
			return nil, Usagef("--model %s is of %s, not of %s: leave --way out, or give another model", f.model, m.Way, f.way)
		}
		f.way = m.Way
		return learnedSplitter(m), nil
	}
	if slices.Contains(learned.Ways(), f.way) {
		return nil, nil
	}
	if !slices.Contains(slosplit.Ways(), f.way) {
		return nil, Usagef("--way: unknown way to split %q%s", f.way, suggest.Hint(f.way, splitWays()))
	}
	return slosplit.NewSplitter(f.way)
}

// chains of the app, with profiles from the file or measured.
func (f *sloSplitFlags) chains(ctx context.Context, app *loadline.App, perSecond []float64, known *profile.Set,
	stderr io.Writer) ([]slosplit.Chain, error) {
	var percentiles []float64
	for _, k := range app.Kinds {
		if !slices.Contains(percentiles, k.SLO.Percentile) {
			percentiles = append(percentiles, k.SLO.Percentile)
		}
	}
	if known == nil {
		known = &profile.Set{App: app.Name}
		bar := NewProgress(stderr, "profiling "+app.Name)
		services := visited(app)
		for i, service := range services {
			for _, percentile := range percentiles {
				p, err := profile.Measure(ctx, app, service, profile.Options{Percentile: percentile})
				if err != nil {
					return nil, err
				}
				known.Profiles = append(known.Profiles, *p)
			}
			bar.At(float64(i+1) / float64(len(services)))
		}
		bar.Done()
	}
	var absent []string
	find := func(service int, percentile float64) *profile.Profile {
		p := known.Find(&app.Services[service], percentile)
		if name := fmt.Sprintf("%s at p%g", app.Services[service].Name, percentile); p == nil && !slices.Contains(absent, name) {
			absent = append(absent, name)
		}
		return p
	}
	chains, err := slosplit.Cut(app, perSecond, find)
	if err == nil && len(absent) > 0 {
		var names []string
		for _, p := range known.Profiles {
			names = append(names, p.Service)
		}
		remark := ""
		if slices.ContainsFunc(known.Profiles, func(p profile.Profile) bool { return p.IncludesCalls }) {
			remark = ", where those that include calls do not count"
		}
		err = fmt.Errorf("%s has no profile of %s in its present size%s%s; measure them again", f.profiles, strings.Join(absent, ", "),
			remark, hintUnless(strings.Split(absent[0], " at ")[0], names))
	}
	return chains, err
}

func (f *sloSplitFlags) print(w io.Writer, app *loadline.App, plan *slosplit.Plan) error {
	fmt.Fprintf(w, "%s at %g requests/s, split by %s: %s\n\n", app.Name, f.rate, f.way, coresCost(plan.Cost))
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "SERVICE\tSHARE\tWITH CALLS\tVISITS/S\tINSTANCES\tCOST\tREASON")
	for i := range plan.Services {
		s := &plan.Services[i]
		share, with := "-", "-"
		if s.Share > 0 {
			share, with = profileTime(s.Share), profileTime(s.WithCalls)
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%.4g\t%d\t%.3g\t%s\n", s.Service, share, with, s.Load, s.Instances, s.Cost, s.Reason)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nOn the call trees, each visit with its share:\n\n%s", apps.TreeWith(app, func(service int) string {
		s := &plan.Services[service]
		if s.Share == 0 {
			return ""
		}
		return fmt.Sprintf("%s of %d", profileTime(s.Share), s.Instances)
	}))
	if len(plan.Tails) > 0 {
		fmt.Fprintf(w, "\nMeasured in the event engine (%s):\n\n", count(plan.Runs, "run", "runs"))
		fmt.Fprintln(tab, "KIND\tSLO\tTAIL\tERROR\t")
		for _, t := range plan.Tails {
			tail, verdict := profileTime(t.Latency), "kept"
			if t.Failing {
				tail = "requests fail"
			}
			if !t.Met() {
				verdict = "BROKEN"
			}
			fmt.Fprintf(tab, "%s\tp%g %s\t%s\t%s\t%s\n", t.Kind, app.Kinds[app.KindIndex(t.Kind)].SLO.Percentile, profileTime(t.SLO),
				tail, profileTime(t.Error), verdict)
		}
		if err := tab.Flush(); err != nil {
			return err
		}
	}
	for i := range plan.Services {
		if s := &plan.Services[i]; !s.Kept {
			fmt.Fprintf(w, "warning: %s cannot meet its share of %s; try another --way\n", s.Service, profileTime(s.Share))
		}
	}
	return nil
}

func coresCost(cores float64) string {
	return fmt.Sprintf("%.4g cores, memory at %g a GiB included", cores, formulation.MemoryPrice)
}
