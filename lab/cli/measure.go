package cli

import (
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/cli"
	"github.com/loadline/loadline/lab/measure"
)

func newMeasure() *cobra.Command {
	c := &cobra.Command{
		Use:   "measure",
		Short: "Measure real processes, for validate",
		Long:  "Measures real processes on this machine. The results are the data of validate.",
	}
	c.AddCommand(newMeasureContention(), newMeasureServer(), newMeasureAwake())
	return c
}

func newMeasureContention() *cobra.Command {
	path, match := "contention.csv", ""
	var limit int
	var seed uint64
	c := &cobra.Command{
		Use:   "contention",
		Short: "Measure servers that compete for CPU in cgroups",
		Long: `Measures real server processes in cgroups under open-loop load: servers of unequal weight
on one core, a server beside a process that burns CPU at its start, and servers under a
CPU quota. Each run takes 30 s. Needs Linux, root and two cores of which nothing else
makes use.

Results go to a CSV file; runs that it already has are skipped. A run is given up when
other processes or the hypervisor have used more than 3 % of the CPU: repeat the command
until nothing is missing.`,
		Example: `  sudo loadline-lab measure contention -o contention.csv
  sudo loadline-lab measure contention -o contention.csv --limit 3`,
		Args: cli.Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return measureContention(c, path, match, limit, seed)
		},
	}
	cli.OutVar(c.Flags(), &path, "file of the results")
	c.Flags().StringVar(&match, "runs", "", "regular expression of the names of the runs; default all")
	c.Flags().IntVar(&limit, "limit", 0, "attempts at most; 0 = every missing run once")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of arrivals and demands")
	return c
}

func measureContention(c *cobra.Command, path, match string, limit int, seed uint64) error {
	table, err := measure.OpenTable(path)
	if err != nil {
		return err
	}
	wanted, err := regexp.Compile(match)
	if err != nil {
		return cli.Usagef("--runs: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	runs := measure.ContentionRuns()
	missing, attempts := 0, 0
	for i, run := range runs {
		if table.Has(run.Name) || !wanted.MatchString(run.Name) {
			continue
		}
		if limit > 0 && attempts == limit {
			break
		}
		attempts++
		results, err := measure.Contention(c.Context(), run, measure.Options{
			Server: []string{self, "measure", "server"}, Awake: []string{self, "measure", "awake"},
			Seed: seed + uint64(i), Stderr: c.ErrOrStderr(),
		})
		fmt.Fprintf(c.ErrOrStderr(), "%d of %d: %s", i+1, len(runs), run.Name)
		switch {
		case errors.Is(err, measure.ErrNoisy):
			fmt.Fprintf(c.ErrOrStderr(), ": %v\n", err)
			missing++
			continue
		case err != nil:
			return fmt.Errorf("measure contention: run %s: %w", run.Name, err)
		}
		fmt.Fprintf(c.ErrOrStderr(), ": others %s, steal %s\n", cli.Percent(results[0].Others), cli.Percent(results[0].Steal))
		if err := table.Put(results); err != nil {
			return err
		}
	}
	if missing > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "%d runs were too noisy: run the same command again for them\n", missing)
	}
	return nil
}

// newMeasureServer is the server process that contention starts.
func newMeasureServer() *cobra.Command {
	return &cobra.Command{
		Use: "server", Hidden: true, Args: cli.Exactly(),
		Short: "Serve requests that burn CPU",
		RunE:  func(c *cobra.Command, _ []string) error { return measure.Serve(c.InOrStdin(), c.OutOrStdout()) },
	}
}

// newMeasureAwake is the process that keeps idle cores from halting.
func newMeasureAwake() *cobra.Command {
	return &cobra.Command{
		Use: "awake", Hidden: true, Args: cli.Exactly(),
		Short: "Keep all cores busy at the lowest priority",
		RunE:  func(c *cobra.Command, _ []string) error { return measure.StayAwake(c.InOrStdin(), c.OutOrStdout()) },
	}
}
