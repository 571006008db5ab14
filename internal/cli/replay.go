package cli

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/suggest"
)

type replayFlags struct {
	policy, service, from, to, log string
	app, engine                    string
	output                         Format
	show                           int
	seed                           uint64
}

func newReplay() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay DIR|NS/NAME --policy SPEC",
		Short: "Run recorded decisions through another policy and show the differences",
		Long: `Runs another policy over the situations in a decision log, and compares what it
proposes with what was proposed then: where they differ, by how much and why, and
the replica-hours of each.

This is open-loop: what the other policy proposes does not change the next
situation. Its first proposals are those of a policy that has just been started.
With --app the other policy also drives the simulated cluster under the recorded
load, from the recorded initial state, which closes the loop as accurately as that
application is modelled; --app recorded takes the one in the log.

The other policy decides at the recorded decisions and sees the recorded metrics;
remarks name what its own deployment would do or see differently.

Policies:
` + policyHelp(),
		Example: `  loadline simulate --app bookinfo --workload bursts --duration 1h --policy hpa --decisions out/decisions
  loadline replay out/decisions --policy hpa:target=60
  loadline replay out/decisions --policy model:file=model.safetensors --service reviews
  loadline replay out/decisions --policy hpa:target=60 --app recorded`,
		Args: Exactly("the folder of a decision log or NS/NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), args[0], c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.policy, "policy", "", "name[:key=value,...] of the other policy")
	flags.StringVar(&f.service, "service", "", "show this service only")
	flags.StringVar(&f.from, "from", "", "start: 2026-03-01T12:04:15Z, \"2026-03-01 12:04\" or 12:04; default: the log's")
	flags.StringVar(&f.to, "to", "", "its end")
	flags.IntVar(&f.show, "show", 10, "how many of the largest differences to list")
	flags.StringVar(&f.app, "app", "", "also drive this application in the simulated cluster: a name, a file, or recorded")
	flags.StringVar(&f.engine, "engine", simulate.Engines()[0], "of the simulated cluster: one of "+strings.Join(simulate.Engines(), ", "))
	flags.Uint64Var(&f.seed, "seed", 1, "of the simulated cluster")
	flags.StringVar(&f.log, "log", "", "folder that the controller writes its logs to, for NS/NAME (default: $"+logVariable+")")
	f.output.Add(flags)
	return c
}

// replayed is the output of the command.
type replayed struct {
	Log    string                   `json:"log"`
	Replay decisionlog.ReplayReport `json:"replay"`
	// Closed is the closed loop, with --app.
	Closed *closedLoop `json:"closed_loop,omitempty"`
}

// closedLoop is the result of the other policy in the simulated cluster.
type closedLoop struct {
	App             string        `json:"app"`
	RecordedOverSLO result.Number `json:"recorded_over_slo_ratio"` // null = not measured
	Result          result.Result `json:"result"`
}

func (f *replayFlags) run(ctx context.Context, target string, stdout, stderr io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	dir, err := logFolder(target, f.log)
	if err != nil {
		return err
	}
	reader, err := openDecisions(dir)
	if err != nil {
		return err
	}
	out := replayed{Log: dir}
	load, err := f.replay(ctx, reader, &out, stderr)
	if err != nil {
		return err
	}
	for _, d := range reader.Damage {
		fmt.Fprintf(stderr, "loadline: %s\n", d)
	}
	if f.app != "" {
		if out.Closed, err = f.closeLoop(ctx, load, stderr); err != nil {
			return err
		}
	}
	if f.output.Structured() {
		return f.output.Encode(stdout, out)
	}
	return writeReplay(stdout, &out, f.show)
}

func (f *replayFlags) check() error {
	switch {
	case f.policy == "":
		return Usagef("--policy is missing; known policies: %s", strings.Join(policy.Names(), ", "))
	case f.show < 0:
		return Usagef("--show %d must not be negative", f.show)
	case !slices.Contains(simulate.Engines(), f.engine):
		return Usagef("unknown engine %q%s", f.engine, suggest.Hint(f.engine, simulate.Engines()))
	}
	return nil
}

// replay runs the policy over the records of the chosen time.
func (f *replayFlags) replay(ctx context.Context, reader *decisionlog.Reader, out *replayed,
	stderr io.Writer) (*decisionlog.RecordedLoad, error) {
	from, to, err := f.span(reader)
	if err != nil {
		return nil, err
	}
	bar := NewProgress(stderr, "replaying decisions")
	defer bar.Done()
	reader.Progress = bar.At
	var r *decisionlog.Replay
	var load *decisionlog.RecordedLoad
	var app *loadline.App
	var period time.Duration
	err = reader.Between(from, to, func(e decisionlog.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.App == nil {
			return fmt.Errorf("the log is damaged: the application of the decision of %s is missing; start after it with --from",
				decisionlog.FormatTime(e.Record.At))
		}
		if r == nil {
			app = e.App
			policy, err := policy.New(f.policy, app)
			if err != nil {
				return UsageError(err)
			}
			if f.service != "" && app.ServiceIndex(f.service) < 0 {
				return Usagef("%s has no service %q%s", app.Name, f.service, suggest.Hint(f.service, serviceNames(app)))
			}
			r, load = decisionlog.NewReplay(app, policy, f.policy), decisionlog.NewRecordedLoad(app)
		}
		if e.App != app && !reflect.DeepEqual(e.App, app) {
			return fmt.Errorf("the application changed before %s, and a policy is for one application: "+
				"replay up to there with --to, or from there with --from", decisionlog.FormatTime(e.Record.At))
		}
		period = time.Duration(e.Record.Needs.Period)
		load.Add(e.Record)
		return r.Add(e.Record)
	})
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, fmt.Errorf("there is no decision from %s to %s", decisionlog.FormatTime(from), decisionlog.FormatTime(to))
	}
	out.Replay = r.Report(period).Only(f.service)
	return load, nil
}

func serviceNames(app *loadline.App) []string {
	var names []string
	for i := range app.Services {
		names = append(names, app.Services[i].Name)
	}
	return names
}

func (f *replayFlags) span(reader *decisionlog.Reader) (from, to time.Time, err error) {
	first, last, err := reader.Span()
	if err != nil {
		return first, last, err
	}
	from, to = first, last
	if f.from != "" {
		if from, err = parseInstant("from", f.from, last); err != nil {
			return from, to, err
		}
	}
	if f.to != "" {
		if to, err = parseInstant("to", f.to, last); err != nil {
			return from, to, err
		}
	}
	if from.After(last) || to.Before(first) || to.Before(from) {
		return from, to, Usagef("the log reaches from %s to %s and has nothing from %s to %s",
			decisionlog.FormatTime(first), decisionlog.FormatTime(last), decisionlog.FormatTime(from), decisionlog.FormatTime(to))
	}
	return from, to, nil
}

// closeLoop drives the simulated cluster under the recorded load.
func (f *replayFlags) closeLoop(ctx context.Context, load *decisionlog.RecordedLoad, stderr io.Writer) (*closedLoop, error) {
	if err := load.Check(); err != nil {
		return nil, err
	}
	app := load.Start()
	if f.app != "recorded" {
		m, err := loadApp(f.app)
		if err != nil {
			return nil, err
		}
		if err := load.Onto(m.App); err != nil {
			return nil, fmt.Errorf("--app %s: %w", f.app, err)
		}
		app = load.Start()
	}
	bar := NewProgress(stderr, fmt.Sprintf("%s on %s", f.policy, app.Name))
	defer bar.Done()
	spec := simulate.Spec{
		App: app, Load: load, Workload: "recorded", Policy: f.policy, Engine: f.engine, Duration: load.Duration(), Seed: f.seed,
	}
	spec.Hooks.Progress = func(at time.Duration) { bar.At(at.Seconds() / spec.Duration.Seconds()) }
	outcome, err := simulate.Run(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &closedLoop{App: app.Name, RecordedOverSLO: result.Number(load.OverSLO()), Result: outcome.Result}, nil
}
