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

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
)

func newApps() *cobra.Command {
	var output Format
	c := &cobra.Command{
		Use:   "apps",
		Short: "List, show and check models of applications",
		Long: `Models of applications: services, the kinds of requests that users send, and the
nodes they run on. Seven are built in; your own is one YAML file.`,
		Example: `  loadline apps
  loadline apps show bookinfo
  loadline apps check shop.yaml
  loadline apps import MSCallGraph_0.csv.gz --out shop.yaml`,
		Args: Subcommands,
		RunE: func(c *cobra.Command, _ []string) error { return listApps(c.OutOrStdout(), &output) },
	}
	output.Add(c.Flags())
	c.AddCommand(newAppsImport(), newAppsShow(), newAppsCheck())
	return c
}

func newAppsShow() *cobra.Command {
	var output Format
	c := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Draw an application's call trees and list its services",
		Long: `Draws the call trees and the service graph of an application and lists its services.
With --output yaml it prints the model file, to start your own with.`,
		Example: `  loadline apps show bookinfo
  loadline apps show bookinfo --output yaml > shop.yaml`,
		Args: Exactly("the name or file of an application"),
		RunE: func(c *cobra.Command, args []string) error {
			m, err := loadApp(args[0])
			if err != nil {
				return err
			}
			if output.Structured() {
				return encodeApp(c.OutOrStdout(), m.App, &output)
			}
			return showApp(c.OutOrStdout(), m.App)
		},
	}
	output.Add(c.Flags())
	return c
}

// encodeApp writes the fields of a model file.
func encodeApp(w io.Writer, app *loadline.App, output *Format) error {
	text, err := apps.Encode(app)
	if err != nil {
		return err
	}
	var fields any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return err
	}
	return output.Encode(w, fields)
}

func newAppsCheck() *cobra.Command {
	var output Format
	c := &cobra.Command{
		Use:   "check NAME|FILE",
		Short: "Check a model file: every fault at once, and where its figures come from",
		Args:  Exactly("the name or file of an application"),
		RunE: func(c *cobra.Command, args []string) error {
			m, err := loadApp(args[0])
			if err != nil {
				return err
			}
			r := apps.Check(m)
			return output.Write(c.OutOrStdout(), newAppReport(r), func(w io.Writer) error { return printAppReport(w, r) })
		},
	}
	output.Add(c.Flags())
	return c
}

// loadApp is apps.Load, where a name that is neither built in nor a file is a usage error.
func loadApp(name string) (*apps.Model, error) {
	m, err := apps.Load(name)
	if err != nil && !slices.Contains(apps.Names(), name) {
		if _, missing := os.Stat(name); errors.Is(missing, fs.ErrNotExist) {
			return nil, UsageError(err)
		}
	}
	return m, err
}

func listApps(w io.Writer, output *Format) error {
	type entry struct {
		Name        string   `json:"name"`
		Services    int      `json:"services"`
		Kinds       []string `json:"kinds"`
		Description string   `json:"description"`
	}
	var entries []entry
	for _, name := range apps.Names() {
		m, err := apps.Load(name)
		if err != nil {
			return err
		}
		e := entry{Name: name, Services: len(m.App.Services), Description: strings.TrimSpace(m.App.Description)}
		for _, k := range m.App.Kinds {
			e.Kinds = append(e.Kinds, k.Name)
		}
		entries = append(entries, e)
	}
	return output.Write(w, entries, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "NAME\tSERVICES\tKINDS OF REQUESTS\tDESCRIPTION")
		for _, e := range entries {
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\n", e.Name, e.Services, someKinds(e.Kinds), firstSentence(e.Description))
		}
		return t.Flush()
	})
}

// someKinds are the first few names of kinds of requests.
func someKinds(names []string) string {
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

func showApp(w io.Writer, app *loadline.App) error {
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
