package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/draw"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/suggest"
)

type profileFlags struct {
	app, service, version string
	appGiven              bool
	history               string
	cpu                   float64
	percentile            float64
	seeds                 int
	out, svg              string
	output                Format
}

func newProfile() *cobra.Command {
	var f profileFlags
	c := &cobra.Command{
		Use:   "profile",
		Short: "Measure how a service's tail latency grows with the load of an instance",
		Long: `Measures single instances of services in the event engine, from almost no load to
saturation: the load-latency profile. A profile is of one service, version and
instance size.

Latencies are those of the service itself. Time spent in its calls to other services
is excluded, but occupies its workers. The error is the standard error over the seeds.

With --history the profiles are fitted to a history instead: its steps by the load of
an instance, for each instance size, with the standard error over time. A history has
latencies with calls included only: the profile of a service that calls others
includes them, is marked, and cannot be used for a split. Services without enough data
are listed. With --app as well, the profile measured in the event engine is printed in
the next column.`,
		Example: `  loadline profile --app bookinfo
  loadline profile --app bookinfo --service reviews --svg reviews.svg

  # One version, and an instance of another size
  loadline profile --app bookinfo --service reviews --version v3 --cpu 1

  # For loadline slo split, which then does not measure again
  loadline profile --app sockshop --out sockshop.profiles.json

  # From a history, compared with the simulator
  loadline history record --app bookinfo --workload day --policy hpa -o past
  loadline profile --history past
  loadline profile --history past --service details --app bookinfo`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			f.appGiven = c.Flags().Changed("app")
			if f.history != "" {
				return f.fit(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
			}
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.app, "app", "bookinfo", "name or file of an application (see apps)")
	flags.StringVar(&f.history, "history", "", "fit them to the history in this folder instead")
	flags.StringVar(&f.service, "service", "", "this one only; default: all that requests visit")
	flags.Float64Var(&f.percentile, "percentile", 99, "of the latency")
	flags.StringVar(&f.version, "version", "", "this version of the service alone; default: the mix that is deployed")
	flags.Float64Var(&f.cpu, "cpu", 0, "cores that an instance is limited to; default: as deployed")
	flags.IntVar(&f.seeds, "seeds", 4, "runs at each load")
	f.output.Add(flags)
	OutVar(flags, &f.out, "also write the profiles to this file, as JSON")
	flags.StringVar(&f.svg, "svg", "", "draw the profiles to this file")
	c.AddCommand(newProfileWatch())
	return c
}

func (f *profileFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	model, err := loadApp(f.app)
	if err != nil {
		return err
	}
	app := model.App
	services, err := f.check(app)
	if err != nil {
		return err
	}
	o := profile.Options{Percentile: f.percentile, Version: f.version, Seeds: f.seeds}
	if f.cpu > 0 {
		size := app.Services[services[0]].Size
		size.CPULimit, size.CPURequest = f.cpu, min(size.CPURequest, f.cpu)
		o.Size = &size
	}
	bar := NewProgress(stderr, "profiling "+app.Name)
	set := &profile.Set{App: app.Name}
	for i, service := range services {
		p, err := profile.Measure(ctx, app, service, o)
		if err != nil {
			return err
		}
		set.Profiles = append(set.Profiles, *p)
		bar.At(float64(i+1) / float64(len(services)))
	}
	bar.Done()
	return f.write(stdout, set, nil)
}

// write writes the measured or fitted profiles in all requested forms.
func (f *profileFlags) write(stdout io.Writer, set *profile.Set, beside []*profile.Curve) error {
	if f.out != "" {
		if err := atomicfile.Write(f.out, set.Write); err != nil {
			return err
		}
	}
	if f.svg != "" {
		picture := profileFigure(set).SVG()
		if err := atomicfile.Write(f.svg, func(w io.Writer) error { _, err := w.Write(picture); return err }); err != nil {
			return err
		}
	}
	if f.output.Structured() {
		return f.output.Encode(stdout, set)
	}
	return printProfiles(stdout, set, beside)
}

// check checks the flags, and returns the selected services.
func (f *profileFlags) check(app *loadline.App) ([]int, error) {
	var services []int
	var faults []error
	if f.service == "" {
		services = visited(app)
	} else if i := app.ServiceIndex(f.service); i >= 0 {
		services = []int{i}
	} else {
		faults = append(faults, Usagef("--service %s is not in %s%s", f.service, app.Name, suggest.Hint(f.service, serviceNames(app))))
	}
	if f.service == "" && (f.version != "" || f.cpu != 0) {
		faults = append(faults, Usagef("--version and --cpu need --service: they are one service's"))
	}
	if !(f.percentile > 0 && f.percentile <= 99.9) {
		faults = append(faults, Usagef("--percentile %v must be above 0 and at most 99.9", f.percentile))
	}
	faults = append(faults, f.checkRest())
	return services, errors.Join(faults...)
}

// checkRest looks at the flags that need no application.
func (f *profileFlags) checkRest() error {
	var faults []error
	if !(f.cpu >= 0) || math.IsInf(f.cpu, 0) {
		faults = append(faults, Usagef("--cpu %v must be cores, above 0", f.cpu))
	}
	if f.seeds < 1 {
		faults = append(faults, Usagef("--seeds %d must be at least 1", f.seeds))
	}
	faults = append(faults, CheckWritable("out", f.out), CheckWritable("svg", f.svg))
	return errors.Join(faults...)
}

// visited services: those that some request visits.
func visited(app *loadline.App) []int {
	var list []int
	for i, g := range formulation.NewTopology(app).Services {
		for _, n := range g.Visits {
			if n > 0 {
				list = append(list, i)
				break
			}
		}
	}
	return list
}

// printProfiles prints tables, each with a curve for comparison; nil = none.
func printProfiles(w io.Writer, set *profile.Set, beside []*profile.Curve) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range set.Profiles {
		p := &set.Profiles[i]
		name := p.Service
		if p.Version != "" {
			name += " " + p.Version
		}
		if p.IncludesCalls {
			name += " with its calls"
		}
		fmt.Fprintf(w, "%s, CPU %s, by the load of an instance:\n\n", name, cpuRange(loadline.Size(p.Size)))
		var other *profile.Curve
		if i < len(beside) {
			other = beside[i]
		}
		printPoints(tab, p, other)
		if err := tab.Flush(); err != nil {
			return err
		}
		if curve, err := p.Curve(); err == nil && len(curve.Loads) > 1 {
			fmt.Fprintf(w, "\n%s", profilePanel(set.Profiles[i:i+1]).Terminal(72, false))
		}
		fmt.Fprintln(w)
	}
	for _, l := range set.Missing {
		size := ""
		if l.Size != nil {
			size = " of CPU " + cpuRange(loadline.Size(*l.Size))
		}
		fmt.Fprintf(w, "no profile of %s%s: %s\n", l.Service, size, l.Reason)
	}
	return nil
}

func printPoints(tab io.Writer, p *profile.Profile, beside *profile.Curve) {
	measured := ""
	if beside != nil {
		measured = "\tEVENT ENGINE\tOFF"
	}
	fmt.Fprintf(tab, "  VISITS/S\tP%g\tERROR\tNEVER FALLING%s\n", p.Percentile, measured)
	curve, err := p.Curve()
	for _, pt := range p.Points {
		if pt.Saturated {
			fmt.Fprintf(tab, "  %.4g\tsaturated\t\t\n", pt.Load)
			continue
		}
		fitted := "-"
		if err == nil {
			fitted = profileTime(curve.At(pt.Load))
		}
		if beside != nil {
			measured = "\tsaturated\t-"
			if l := beside.At(pt.Load); !math.IsInf(l, 1) {
				measured = fmt.Sprintf("\t%s\t%+.3g %%", profileTime(l), 100*(pt.Latency/l-1))
			}
		}
		fmt.Fprintf(tab, "  %.4g\t%s\t%s\t%s%s\n", pt.Load, profileTime(pt.Latency), profileTime(pt.Error), fitted, measured)
	}
}

// profileTime to three digits, as durations are written.
func profileTime(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	unit := time.Nanosecond
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

func profileFigure(set *profile.Set) draw.Figure {
	f := profilePanel(set.Profiles)
	f.Title = "Load and latency of " + set.App
	f.Subtitle = "Latency of a visit, without its calls unless marked, against the load of an instance. " +
		"Points are measured. Lines are the profiles: they never fall, and end at the highest load without saturation."
	return f
}

// profilePanel has one panel for each profile.
func profilePanel(list []profile.Profile) draw.Figure {
	f := draw.Figure{XUnit: "visits/s and instance"}
	for i := range list {
		p := &list[i]
		panel := draw.Panel{Title: fmt.Sprintf("%s, p%g", p.Service, p.Percentile), Unit: "s"}
		if p.IncludesCalls {
			panel.Title += " with its calls"
		}
		measured := draw.Line{Name: "measured", Dots: true}
		for _, pt := range p.Points {
			if !pt.Saturated {
				measured.X, measured.Y = append(measured.X, pt.Load), append(measured.Y, pt.Latency)
			}
		}
		panel.Lines = []draw.Line{measured}
		if curve, err := p.Curve(); err == nil {
			panel.Lines = append(panel.Lines, draw.Line{Name: "never falling", X: curve.Loads, Y: curve.Latencies})
		}
		f.Panels = append(f.Panels, panel)
	}
	return f
}
