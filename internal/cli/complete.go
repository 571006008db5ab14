package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

// completer proposes values for what is being typed: cobra calls it for the scripts of all shells.
type completer = cobra.CompletionFunc

// flagValues are the completions of flags, the same in every command that has the flag. A flag that
// is not here is completed with names of files.
var flagValues = map[string]completer{
	"app":          orFile(apps.Names),
	"workload":     orFile(workloadNames),
	"policy":       oneOf(policy.Names),
	"guard":        oneOf(policy.Names),
	"baseline":     oneOf(policy.Names),
	"pool":         oneOf(pool.Names),
	"suite":        oneOf(bench.SuiteNames),
	"perturbation": oneOf(bench.PerturbationNames),
	"prefer":       oneOf(pipeline.Preferences),
	"axes":         someOf(guard.AxisNames),
	"engine":       oneOf(simulate.Engines),
	"cpu-model":    oneOf(these("quota", "shared")),
	"format":       oneOf(traceFormats),
	"methods":      someOf(policy.TrainableNames),
	"preset":       oneOf(prom.Presets),
	"mode":         oneOf(these(string(v1alpha1.Observe), string(v1alpha1.Recommend), string(v1alpha1.Act))),
	"log-format":   oneOf(these("text", "json")),
	"log-level":    oneOf(these("debug", "info", "warn", "error")),
	"history":      folders(history.ManifestFile),
	"namespace":    clusterNamespaces,
	"namespaces":   clusterNamespaces,
	"context":      kubeContexts,
	"loadline":     loadLines(false),
	"services":     servicesOf,
	"candidate":    candidatesOf,
}

// argumentValues are the completions of arguments, by the command's path without the program.
var argumentValues = map[string]completer{
	"apps show":     orFile(apps.Names),
	"apps check":    orFile(apps.Names),
	"workload show": orFile(workloadNames),
	"history show":  folders(history.ManifestFile),
	"fit":           folders(history.ManifestFile),
	"evaluate":      folders(pipeline.RunFile),
	"tune":          folders(pipeline.RunFile),
	"promote":       orFileOf(folders(pipeline.RunFile)),
	"report":        folders("results.json"),
	"doctor":        loadLines(true),
	"explain":       logs,
	"replay":        logs,
	"completion":    oneOf(these(shells...)),
}

// pluginValues are those of the plugin of kubectl.
var pluginValues = map[string]completer{
	"status": loadLines(false), "explain": loadLines(false), "diff": loadLines(false), "pause": loadLines(false),
	"resume": loadLines(false), "promote": loadLines(false), "rollback": loadLines(false), "why": servicesOf,
}

// addCompletions to a program's commands.
func addCompletions(root *cobra.Command) {
	arguments := argumentValues
	if root.Name() == pluginName {
		arguments = pluginValues
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		path := strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), root.CommandPath()))
		if values := arguments[path]; values != nil && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = firstOnly(c, values)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			values := flagValues[f.Name]
			if format, is := f.Value.(*Format); is {
				values = oneOf(format.known)
			}
			if values != nil {
				_ = c.RegisterFlagCompletionFunc(f.Name, values) // fails only if the flag has one
			}
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// firstOnly completes one argument, except for commands that take several.
func firstOnly(c *cobra.Command, values completer) completer {
	several := strings.Contains(c.Use, "...")
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !several {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return values(c, args, typed)
	}
}

func these(names ...string) func() []string { return func() []string { return names } }

// oneOf completes one of some names.
func oneOf(names func() []string) completer {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return startingWith(names(), typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// someOf completes the last of several names with commas between them.
func someOf(names func() []string) completer {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var all []string
		for _, name := range names() {
			if !slices.Contains(strings.Split(before, ","), name) {
				all = append(all, before+name)
			}
		}
		return startingWith(all, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// orFile completes one of some names, or else the name of a file.
func orFile(names func() []string) completer { return orFileOf(oneOf(names)) }

func orFileOf(values completer) completer {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		found, _ := values(c, args, typed)
		return found, cobra.ShellCompDirectiveDefault
	}
}

func startingWith(names []string, typed string) []string {
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, typed) {
			found = append(found, name)
		}
	}
	return found
}

// folders completes the folders that have a file of this name, or else any folder.
func folders(marker string) completer {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		parent, begun := filepath.Split(typed)
		entries, err := os.ReadDir(filepath.Clean(parent + "."))
		if err != nil {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		var found []string
		for _, e := range entries {
			if _, err := os.Stat(filepath.Join(parent, e.Name(), marker)); err == nil && strings.HasPrefix(e.Name(), begun) {
				found = append(found, parent+e.Name())
			}
		}
		if len(found) == 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// logs completes NS/NAME of the logs in the controller's folder, and folders.
func logs(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	base := flagText(c, "log")
	if base == "" {
		base = os.Getenv(logVariable)
	}
	if base == "" {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	paths, _ := filepath.Glob(filepath.Join(base, "*", "*"))
	var names []string
	for _, path := range paths {
		if name, err := filepath.Rel(base, path); err == nil {
			names = append(names, filepath.ToSlash(name))
		}
	}
	return startingWith(names, typed), cobra.ShellCompDirectiveFilterDirs
}

// candidatesOf the run that is named.
func candidatesOf(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) > 0 {
		if folder, err := pipeline.OpenRun(args[0]); err == nil {
			for _, candidate := range folder.Candidates {
				names = append(names, candidate.Name)
			}
		}
	}
	return startingWith(names, typed), cobra.ShellCompDirectiveNoFileComp
}

func workloadNames() []string {
	var names []string
	for _, e := range workload.Known() {
		if e.Group != "format" {
			names = append(names, e.Name)
		}
	}
	return names
}

func traceFormats() []string {
	var names []string
	for _, e := range workload.Known() {
		if e.Group == "format" {
			names = append(names, e.Name)
		}
	}
	return names
}

func flagText(c *cobra.Command, name string) string {
	if f := c.Flags().Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}
