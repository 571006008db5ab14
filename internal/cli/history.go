package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/history"
)

func newHistory() *cobra.Command {
	c := &cobra.Command{
		Use:   "history",
		Short: "Pull, record, import and show the history of an application",
		Long: `A history is a folder with the metrics of an application over time, for each service
and step: request rates, latency, CPU, replicas and more. Twins are fitted to it, and
policies are trained and evaluated on it. A metric that was not measured is absent,
which is not the same as zero.

docs/history.md describes the folder, the metrics and the CSV files that can be
imported.`,
		Example: `  loadline history pull --prometheus http://localhost:9090 --namespace shop --since 14d -o past
  loadline history record --app bookinfo --workload day --policy hpa -o past
  loadline history import rates.csv -o past
  loadline history show past`,
		Args: Subcommands,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		newHistoryPull(),
		newHistoryPresets(),
		newHistoryExpose(),
		newHistoryRecord(),
		newHistoryImport(),
		newHistoryShow(),
	)
	return c
}

// checkHistoryOut rejects a folder that cannot be written, before any work is done. One with an
// unfinished history is accepted: the writer decides whether it can be continued.
func checkHistoryOut(dir string, force bool) error {
	if dir == "" {
		return Usagef("-o DIR is needed: the folder to write the history to")
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return Usagef("-o %s is a file, not a folder", dir)
	}
	m, err := history.ReadManifest(dir)
	switch {
	case force || errors.Is(err, history.ErrNoHistory):
		return nil
	case err != nil:
		return err
	case m.Complete:
		return fmt.Errorf("%s already holds a history (%s, %v from %s): choose another folder, or replace it with --force",
			dir, m.Source, time.Duration(m.Steps)*m.Step, m.Start.Format(time.RFC3339))
	}
	return nil
}

// writeHistory writes a whole history to a folder.
func writeHistory(dir string, h *history.History, force bool) error {
	if force {
		return history.Replace(dir, h)
	}
	return history.Write(dir, h)
}
