package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
)

func newApps() *cobra.Command {
	c := &cobra.Command{
		Use:   "apps",
		Short: "List, show and check models of applications",
		Long: `Models of applications: services, the kinds of requests that users send, and the
nodes they run on. Five are built in; your own is one YAML file.`,
		Example: `  loadline apps
  loadline apps show bookinfo
  loadline apps check shop.yaml
  loadline apps import MSCallGraph_0.csv.gz --out shop.yaml`,
		Args: subcommands,
		RunE: func(c *cobra.Command, _ []string) error { return listApps(c.OutOrStdout()) },
	}
	c.AddCommand(
		newAppsImport(),
		&cobra.Command{
			Use:   "show NAME|FILE",
			Short: "Draw an application's call trees and list its services",
			Args:  exactly("the name or file of an application"),
			RunE:  func(c *cobra.Command, args []string) error { return showApp(c.OutOrStdout(), args[0]) },
		},
		&cobra.Command{
			Use:   "check NAME|FILE",
			Short: "Check a model file: every fault at once, and where its figures come from",
			Args:  exactly("the name or file of an application"),
			RunE:  func(c *cobra.Command, args []string) error { return checkApp(c.OutOrStdout(), args[0]) },
		},
	)
	return c
}

// loadApp is apps.Load, where a name that is neither built in nor a file is a
// mistake on the command line.
func loadApp(name string) (*apps.Model, error) {
	m, err := apps.Load(name)
	if err != nil && !slices.Contains(apps.Names(), name) {
		if _, missing := os.Stat(name); errors.Is(missing, fs.ErrNotExist) {
			return nil, usageError{err}
		}
	}
	return m, err
}

func listApps(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tSERVICES\tKINDS OF REQUESTS\tDESCRIPTION")
	for _, name := range apps.Names() {
		m, err := apps.Load(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\n", name, len(m.App.Services), kindNames(m.App), firstSentence(m.App.Description))
	}
	return t.Flush()
}

func kindNames(app *loadline.App) string {
	var names []string
	for _, k := range app.Kinds {
		names = append(names, k.Name)
	}
	if len(names) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

func firstSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if i := strings.Index(s, ". "); i > 0 {
		s = s[:i+1]
	}
	if r := []rune(s); len(r) > 80 {
		cut := strings.LastIndex(string(r[:80]), " ")
		s = string(r[:80])[:max(cut, 1)] + " ..."
	}
	return s
}

func showApp(w io.Writer, name string) error {
	m, err := loadApp(name)
	if err != nil {
		return err
	}
	app := m.App
	fmt.Fprintf(w, "%s: %s\n\n", app.Name, strings.TrimSpace(app.Description))
	fmt.Fprintf(w, "Call trees:\n\n%s\n", apps.Tree(app))
	fmt.Fprintf(w, "Service graph, calls per average request:\n\n%s\n", apps.DrawGraph(app))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SERVICE\tCPU/VISIT\tWAIT\tWORKERS\tREPLICAS\tCPU\tMEMORY\tSTART-UP")
	for _, s := range app.Services {
		fmt.Fprintf(t, "%s\t%v\t%v\t%d\t%d (%d-%d)\t%s\t%s\t%v\n", s.Name, s.CPU.Mean, s.Wait.Mean, s.Workers,
			s.Replicas, s.Bounds.MinReplicas, s.Bounds.MaxReplicas,
			cpuRange(s.Size), memoryRange(s.Size), s.Startup.Mean)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range groupNodes(app.Nodes) {
		fmt.Fprintln(w, n)
	}
	var holders []string
	for _, s := range app.Services {
		if s.Hold > 0 {
			holders = append(holders, fmt.Sprintf("%s %d", s.Name, s.Hold))
		}
	}
	if len(holders) > 0 {
		fmt.Fprintf(w, "requests held while no replica is ready: %s\n", strings.Join(holders, ", "))
	}
	return nil
}

func cpuRange(s loadline.Size) string {
	limit := "none"
	if s.CPULimit > 0 {
		limit = fmt.Sprintf("%gm", s.CPULimit*1000)
	}
	return fmt.Sprintf("%gm, limit %s", s.CPURequest*1000, limit)
}

func memoryRange(s loadline.Size) string {
	limit := "none"
	if s.MemoryLimit > 0 {
		limit = fmt.Sprintf("%dMi", s.MemoryLimit>>20)
	}
	return fmt.Sprintf("%dMi, limit %s", s.MemoryRequest>>20, limit)
}

func groupNodes(nodes []loadline.Node) []string {
	var lines []string
	type size struct {
		cores  float64
		memory int64
	}
	counts := map[size]int{}
	var order []size
	for _, n := range nodes {
		k := size{n.Cores, n.Memory}
		if counts[k] == 0 {
			order = append(order, k)
		}
		counts[k]++
	}
	for _, k := range order {
		lines = append(lines, fmt.Sprintf("\n%d nodes of %g cores and %d GiB", counts[k], k.cores, k.memory>>30))
	}
	return lines
}

func checkApp(w io.Writer, name string) error {
	m, err := loadApp(name)
	if err != nil {
		return err
	}
	r := apps.Check(m)
	fmt.Fprintf(w, "%s is sound: %d services, %d kinds of requests, %d figures\n\n", r.Name, r.Services, len(r.Kinds), r.Figures)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KIND\tSHARE\tVISITS\tCPU\tUNLOADED\tSLO")
	for _, k := range r.Kinds {
		fmt.Fprintf(t, "%s\t%.1f %%\t%.1f\t%v\t%v\tp%g within %v\n", k.Name, 100*k.Share, k.Visits,
			k.CPU.Round(10*time.Microsecond), k.Unloaded.Round(10*time.Microsecond), k.SLO.Percentile, k.SLO.Latency)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nWhere the figures come from:")
	for _, p := range apps.Provenances() {
		if n := r.Shares[p]; n > 0 {
			fmt.Fprintf(t, "  %s\t%d\t%.0f %%\n", p, n, 100*float64(n)/float64(r.Figures))
		}
	}
	fmt.Fprintln(t)
	for _, o := range r.Origins {
		fmt.Fprintf(t, "  %s (%s)\t%d\t%s\n", o.Name, o.Kind, o.Figures, o.Source)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, warning := range r.Warnings {
		fmt.Fprintln(w, "warning:", warning)
	}
	return nil
}
