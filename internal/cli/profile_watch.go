package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/suggest"
)

type profileWatchFlags struct {
	history, profiles, service string
	percentile, learn          float64
	threshold                  float64
	output                     Format
}

func newProfileWatch() *cobra.Command {
	var f profileWatchFlags
	c := &cobra.Command{
		Use:   "watch",
		Short: "Replay a history and report when services changed",
		Long: `Compares each step of a history with the service's profile at the same load, as the
monitor of a live cluster does, and reports when the service no longer matches it: a
release that is slower or faster, or instances of another size. Changes of load are
not reported.

The profiles are those of --profiles, or are fitted to the first part of the history
(--learn); the rest is monitored. After a change the profile is fitted again to the
steps since the change.

A factor of 1.3 means that visits take 1.3 times the time and CPU of before. For a
service whose latencies include its calls, the change may be in a service that it
calls. docs/slosplit.md has the rate of false alarms and the delay of detection.`,
		Example: `  loadline profile watch --history past
  loadline profile watch --history past --service details --learn 0.2
  loadline profile watch --history past --profiles sockshop.profiles.json --output json`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.OutOrStdout()) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.history, "history", "", "folder of the history to replay")
	flags.StringVar(&f.profiles, "profiles", "", "profiles from this file (see profile --out) instead of the first part's")
	flags.Float64Var(&f.learn, "learn", 0.3, "share of the history that profiles are fitted to")
	flags.StringVar(&f.service, "service", "", "this one only; default: all")
	flags.Float64Var(&f.percentile, "percentile", 99, "of the latency")
	flags.Float64Var(&f.threshold, "threshold", profile.DefaultThreshold, "of the test: a higher one gives fewer and later alarms")
	f.output.Add(flags)
	return c
}

// watchReport is the result of a replay.
type watchReport struct {
	From     time.Time         `json:"from"` // of the monitored part
	To       time.Time         `json:"to"`
	Services []watchedService  `json:"services"`
	Changes  []profile.Change  `json:"changes"` // by service, then by time
	Lacks    []profile.Missing `json:"lacks,omitempty"`
}

type watchedService struct {
	Service       string `json:"service"`
	IncludesCalls bool   `json:"includes_calls,omitempty"`
	profile.Tally
	Left profile.Skipped `json:"left_out"`
}

func (f *profileWatchFlags) run(stdout io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	h, services, err := openPast(f.history, f.service)
	if err != nil {
		return err
	}
	set, rest, err := f.known(h, services)
	if err != nil {
		return err
	}
	report := watchReport{From: rest.At(0).Add(-rest.Step), To: rest.At(rest.Steps - 1), Services: []watchedService{},
		Changes: []profile.Change{}, Lacks: set.Missing}
	for _, service := range services {
		if err := f.watch(rest, service, set, &report); err != nil {
			return fmt.Errorf("watch %s: %w", service, err)
		}
	}
	if f.output.Structured() {
		return f.output.Encode(stdout, report)
	}
	return report.print(stdout)
}

func (f *profileWatchFlags) check() error {
	var faults []error
	if f.history == "" {
		faults = append(faults, Usagef("--history is missing: the folder of the history to replay"))
	}
	if !(f.learn > 0 && f.learn < 1) {
		faults = append(faults, Usagef("--learn %v must be above 0 and below 1", f.learn))
	}
	if !(f.threshold > 0) || math.IsInf(f.threshold, 0) {
		faults = append(faults, Usagef("--threshold %v must be above 0", f.threshold))
	}
	return errors.Join(append(faults, checkHistoryPercentile(f.percentile))...)
}

// known returns the profiles, and the part of the history to monitor.
func (f *profileWatchFlags) known(h *history.History, services []string) (*profile.Set, *history.History, error) {
	if f.profiles == "" {
		split := int(math.Round(f.learn * float64(h.Steps)))
		if split < 1 || split >= h.Steps {
			return nil, nil, fmt.Errorf("%s has %s: too few to fit profiles to a part of them and monitor the rest", f.history,
				count(h.Steps, "step", "steps"))
		}
		set, err := fitAll(h.Cut(0, split), services, f.percentile)
		return set, h.Cut(split, h.Steps), err
	}
	file, err := os.Open(f.profiles)
	if err != nil {
		return nil, nil, UsageError(err)
	}
	defer file.Close()
	set, err := profile.ReadSet(file, f.profiles)
	return set, h, err
}

// watch monitors one service to the end of the history.
func (f *profileWatchFlags) watch(h *history.History, service string, set *profile.Set, report *watchReport) error {
	then, err := profile.NewServiceHistory(h, service, f.percentile)
	if err != nil {
		return err
	}
	// A service with several sizes has a profile for each: the one of the present size, or
	// none.
	find := func(size profile.Size) *profile.Profile {
		for i := range set.Profiles {
			p := &set.Profiles[i]
			if p.Service == service && p.Version == "" && p.Percentile == f.percentile && p.IncludesCalls == then.IncludesCalls &&
				sameCPU(p.Size, size) {
				return p
			}
		}
		return nil
	}
	var m *profile.Monitor
	for i, w := range then.Windows {
		if then.Failing[i] {
			continue // without a latency
		}
		if m == nil {
			p := find(w.Size)
			if p == nil {
				continue
			}
			if m, err = profile.NewMonitor(p, profile.MonitorConfig{Threshold: f.threshold}); err != nil {
				return err
			}
		}
		if sameCPU(w.Size, m.Profile().Size) {
			w.Size = m.Profile().Size // memory does not change latencies
		}
		c, changed := m.Observe(w)
		if !changed {
			continue
		}
		if p := find(w.Size); c.Kind == profile.Resized && p != nil {
			if err := m.Adopt(p); err != nil {
				return err
			}
			c.Profile = p
		}
		report.Changes = append(report.Changes, c)
	}
	if m == nil {
		report.Lacks = append(report.Lacks, f.unwatched(service, then, set))
		return nil
	}
	report.Services = append(report.Services, watchedService{service, then.IncludesCalls, m.Tally(), then.Skipped})
	return nil
}

// unwatched reports why a service was not monitored.
func (f *profileWatchFlags) unwatched(service string, then *profile.ServiceHistory, set *profile.Set) profile.Missing {
	if len(then.Windows) == 0 {
		return profile.Missing{Service: service, Reason: fmt.Sprintf("no step can be watched: %v", then.Skipped)}
	}
	reason := "its sizes in what was watched have no profile"
	if f.profiles != "" {
		var names []string
		for _, p := range set.Profiles {
			names = append(names, p.Service)
		}
		reason = fmt.Sprintf("%s has no profile of it at p%g in its sizes%s", f.profiles, f.percentile, hintUnless(service, names))
		if then.IncludesCalls {
			reason += "; its latencies here include its calls, so that it takes one of profile --history"
		}
	}
	return profile.Missing{Service: service, Reason: reason}
}

// hintUnless suggests a name, unless it is known and something else is wrong with it.
func hintUnless(name string, known []string) string {
	if slices.Contains(known, name) {
		return ""
	}
	return suggest.Hint(name, known)
}

func sameCPU(a, b profile.Size) bool {
	return a.CPULimit == b.CPULimit && (a.CPULimit > 0 || a.CPURequest == b.CPURequest)
}

func (r *watchReport) print(w io.Writer) error {
	fmt.Fprintf(w, "Watched from %s to %s.\n\n", minute(r.From), minute(r.To))
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "SERVICE\tSTEPS\tSKIPPED\tLEFT OUT\tCHANGES\t")
	for _, s := range r.Services {
		remark := ""
		if s.IncludesCalls {
			remark = "with its calls"
		}
		fmt.Fprintf(tab, "%s\t%d\t%d\t%d\t%d\t%s\n", s.Service, s.Windows, s.Skipped, s.Left.Missing+s.Left.Few+s.Left.Moving,
			s.Changes, remark)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	if len(r.Changes) == 0 {
		fmt.Fprintln(w, "\nNothing changed.")
	}
	for i, c := range r.Changes {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %v\n", c.At.UTC().Format(time.DateTime), c)
	}
	for _, l := range r.Lacks {
		fmt.Fprintf(w, "not watched: %s: %s\n", l.Service, l.Reason)
	}
	return nil
}
