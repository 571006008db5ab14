package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/decisionlog"
)

// logVariable is the environment variable with the folder of decision logs.
const logVariable = "LOADLINE_DECISIONS"

type explainFlags struct {
	log, at string
	output  Format
	since   time.Duration
}

func newExplain() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain DIR|NS/NAME [SERVICE]",
		Short: "Explain in plain sentences why services were scaled",
		Long: `Reads a decision log and explains each change: what was observed and how old it was,
what the policy proposed and why, how each guard changed it, what was applied, and by
the twin the capacity at the SLO, the latency and the cost that it expected, of the
runner-up too.

Without --at it explains the latest change of each service, and with it the change
that was in force at that time. With --since it explains every change of that period.
Times are UTC; 12:04 is on the day of the log's last decision.

DIR is the folder of a log. NS/NAME is a LoadLine resource; its log is the folder
NS/NAME under the one that the controller writes to, which --log or the variable
` + logVariable + ` names. It must be readable from here: a mounted volume, or a copy.`,
		Example: `  # A log without a cluster: every decision of a simulated hour
  loadline simulate --app bookinfo --workload bursts --duration 1h --policy hpa --decisions out/decisions
  loadline explain out/decisions

  # Why did productpage have so many replicas at five past twelve?
  loadline explain shop/web productpage --at 12:05 --log /var/lib/loadline

  # Every change of one service in the last half hour, as JSON
  loadline explain out/decisions reviews --since 30m --output json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return Usagef("%s needs the folder of a decision log or NS/NAME, and may take a service; see %s --help",
					c.CommandPath(), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			service := ""
			if len(args) == 2 {
				service = args[1]
			}
			return f.run(args[0], service, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.at, "at", "", "time to explain: 2026-03-01T12:04:15Z, \"2026-03-01 12:04\" or 12:04")
	spanVar(flags, &f.since, "since", 0, "explain every change of this period before --at, or before the log's last decision")
	flags.StringVar(&f.log, "log", "", "folder that the controller writes its logs to, for NS/NAME (default: $"+logVariable+")")
	f.output.Add(flags)
	return c
}

func (f *explainFlags) run(target, service string, stdout, stderr io.Writer) error {
	dir, err := logFolder(target, f.log)
	if err != nil {
		return err
	}
	reader, err := openDecisions(dir)
	if err != nil {
		return err
	}
	bar := NewProgress(stderr, "reading decisions")
	defer bar.Done()
	reader.Progress = bar.At
	at, err := f.instant(reader)
	if err != nil {
		return err
	}
	var all []decisionlog.Explanation
	var from, to time.Time
	if f.since > 0 {
		all, from, to, err = reader.ChangesSince(at, f.since, service, 0)
	} else {
		all, err = reader.InForce(at, service)
	}
	if err != nil {
		return err
	}
	bar.Done()
	if len(all) == 0 {
		fmt.Fprintf(stderr, "loadline: nothing was changed from %s to %s\n", decisionlog.FormatTime(from), decisionlog.FormatTime(to))
	}
	for _, d := range reader.Damage {
		fmt.Fprintf(stderr, "loadline: %s\n", d)
	}
	if f.output.Structured() {
		return f.output.Encode(stdout, map[string]any{"log": dir, "explanations": all})
	}
	for i, e := range all {
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		fmt.Fprintln(stdout, e.Text)
	}
	return nil
}

// logFolder is the log of a folder or a resource.
func logFolder(target, base string) (string, error) {
	if base == "" {
		base = os.Getenv(logVariable)
	}
	isDir := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.IsDir()
	}
	namespace, name, isResource := strings.Cut(target, "/")
	isResource = isResource && namespace != "" && namespace != "." && namespace != ".." && name != "" && !strings.Contains(name, "/")
	if isResource && base != "" {
		dir := filepath.Join(base, namespace, name)
		if isDir(dir) {
			return dir, nil
		}
		if !isDir(target) {
			return "", fmt.Errorf("no decision log of %s: there is no folder %s; "+
				"check that the controller writes there and has made a decision", target, dir)
		}
	}
	switch {
	case isDir(target):
		return target, nil
	case isResource:
		return "", Usagef("%s is not a folder; if it is a LoadLine resource, "+
			"give the folder that the controller writes its decisions to: --log DIR or %s", target, logVariable)
	}
	return "", Usagef("%s is neither the folder of a decision log nor the NS/NAME of a LoadLine resource", target)
}

// openDecisions opens a log for reading, with advice for a folder without one.
func openDecisions(dir string) (*decisionlog.Reader, error) {
	reader, err := decisionlog.OpenReader(dir)
	if errors.Is(err, decisionlog.ErrEmpty) {
		return nil, fmt.Errorf("%w; a controller writes there once it has decided, and so does loadline simulate --decisions %s", err, dir)
	}
	return reader, err
}

// instant of the question; zero = the end of the log.
func (f *explainFlags) instant(reader *decisionlog.Reader) (time.Time, error) {
	if f.at == "" {
		return time.Time{}, nil
	}
	_, last, err := reader.Span()
	if err != nil {
		return time.Time{}, err
	}
	return parseInstant("at", f.at, last)
}

// parseInstant reads an instant in UTC. A time of day is on the day of another
// instant.
func parseInstant(flag, text string, day time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			midnight := day.UTC().Truncate(24 * time.Hour)
			return midnight.Add(t.Sub(t.Truncate(24 * time.Hour))), nil
		}
	}
	return time.Time{}, Usagef("--%s %q must be a time such as 2026-03-01T12:04:15Z, \"2026-03-01 12:04\" or 12:04, in UTC", flag,
		text)
}
