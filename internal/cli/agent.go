package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/simulate"
)

type agentFlags struct {
	fleetFlags
	cluster  simulateFlags
	model    string
	services []string
	observe  bool
	speed    float64
	output   Format
}

func newAgent() *cobra.Command {
	var f agentFlags
	c := &cobra.Command{
		Use:   "agent",
		Short: "Run the students of a group of services, as part of a fleet",
		Long: `Runs the students of some services. Each decides at its own pace; the agent publishes
their decisions and uses the weights that their teacher publishes (see teacher).

The cluster is simulated, in real time or faster. Services without a student in this
agent keep their settings.

With --observe-app the agent also publishes a snapshot of the whole application in each of
the teacher's periods. A fleet has one such agent; it must observe every service of the model.

Decisions never wait for the fleet: while no server can be reached, students keep the
weights in use, and their decisions are queued until a server can be reached.`,
		Example: `  # Two services of bookinfo, sixty times as fast as real time
  loadline agent --nats nats://127.0.0.1:4222 --model drpc.safetensors --app bookinfo --services reviews,ratings --speed 60

  # All services, as fast as possible, with the result in JSON
  loadline agent --nats nats://127.0.0.1:4222 --model drpc.safetensors --app bookinfo \
    --workload constant:rps=40 --duration 1h --speed 0 --output json`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.model, "model", "", "model file to begin with, that loadline train --formulation drpc wrote")
	flags.StringSliceVar(&f.services, "services", nil,
		"services to decide for, comma-separated; default: all that the model has students for")
	flags.BoolVar(&f.observe, "observe-app", false, "publish snapshots of the whole application: for one agent of a fleet")
	flags.BoolVar(&f.observe, "witness", false, "the former name of --observe-app")
	if err := flags.MarkHidden("witness"); err != nil {
		panic(err) // the flag was added above
	}
	flags.StringVar(&f.cluster.app, "app", "bookinfo", "name or file of an application (see apps)")
	flags.StringVar(&f.cluster.workload, "workload", "day", "name, generators or file of a workload (see workload list)")
	flags.StringVar(&f.cluster.engine, "engine", simulate.Engines()[0], "of the simulated cluster")
	flags.Float64Var(&f.speed, "speed", 1, "simulated seconds per second of real time; 0 = as fast as possible")
	f.add(flags)
	f.cluster.add(flags)
	f.cluster.nodes.add(flags)
	f.output.Add(flags)
	return c
}

func (f *agentFlags) check() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, Usagef(format, args...))
		}
	}
	fault(f.model == "", "--model is missing: a file that loadline train --formulation drpc wrote")
	fault(f.url == "", "--nats is missing: the servers of the fleet, such as nats://127.0.0.1:4222")
	fault(!(f.speed >= 0 && f.speed <= 1e6), "--speed is %v, must be from 0 to 1e6", f.speed)
	return errors.Join(faults...)
}

func (f *agentFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	f.cluster.policy, f.cluster.cpuModel = "drpc:file="+f.model, "quota"
	spec, err := f.cluster.spec(stderr)
	if err != nil {
		return err
	}
	whole, err := drpc.Open(f.model)
	if err != nil {
		return err
	}
	model, err := fleet.Group(whole, f.services)
	if err != nil {
		return UsageError(err)
	}
	link, err := fleet.Open(f.config("loadline agent", stderr))
	if err != nil {
		return UsageError(err)
	}
	defer link.Close()
	agent, err := fleet.NewAgent(link, model, spec.App, drpc.Work{}, uint64(time.Now().UnixNano()))
	if err != nil {
		return err
	}
	if f.observe {
		if err := agent.AddAppObserver(whole, spec.App); err != nil {
			return fmt.Errorf("--observe-app: %w", err)
		}
	}
	spec.Decider = agent
	agent.Start()
	err = f.simulate(ctx, spec, stderr)
	interrupted := ctx.Err() != nil
	flushing, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
	defer cancel()
	_ = agent.Close(flushing) // the report lists what was not acknowledged
	if err != nil && !interrupted {
		return err
	}
	return f.print(stdout, agent, link)
}

// flushWithin is how long an agent that ends tries to publish its last decisions.
const flushWithin = 10 * time.Second

// simulate runs the cluster at its speed.
func (f *agentFlags) simulate(ctx context.Context, spec simulate.Spec, stderr io.Writer) error {
	bar := NewProgress(stderr, "students on "+spec.App.Name)
	defer bar.Done()
	began := time.Now()
	spec.Hooks.Progress = func(at time.Duration) {
		bar.At(at.Seconds() / spec.Duration.Seconds())
		if f.speed == 0 {
			return
		}
		timer := time.NewTimer(time.Until(began.Add(time.Duration(float64(at) / f.speed))))
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
	_, err := simulate.Run(ctx, spec)
	return err
}

func (f *agentFlags) print(w io.Writer, agent *fleet.Agent, link *fleet.Link) error {
	waiting, lost := agent.Publisher.Waiting()
	traffic := link.Traffic()
	if f.output.Structured() {
		payload, wire := traffic.PerDecision()
		return f.output.Encode(w, struct {
			Students []fleet.StudentStatus    `json:"students"`
			Waiting  int                      `json:"waiting"`
			Lost     int                      `json:"lost"`
			Payload  float64                  `json:"payload_per_decision"`
			Wire     float64                  `json:"wire_per_decision"`
			Carried  fleet.Traffic            `json:"carried"`
			Observer *fleet.AppObserverStatus `json:"app_observer,omitempty"`
		}{agent.Status(), waiting, lost, payload, wire, traffic, observerStatus(agent)})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SERVICE\tDECISIONS\tVERSION\tREFUSED")
	for _, s := range agent.Status() {
		refused := s.Refused
		if refused == "" {
			refused = "-"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\n", s.Service, s.Decisions, s.Version, refused)
	}
	fmt.Fprintf(t, "\nfleet: %v\n", traffic)
	if w := observerStatus(agent); w != nil {
		fmt.Fprintf(t, "app observer: %d snapshots, %d periods without one\n", w.Snapshots, w.Incomplete)
		if w.Missing != "" {
			fmt.Fprintf(t, "         %s was not measured in the last incomplete period\n", w.Missing)
		}
		waiting, lost = waiting+w.Waiting, lost+w.Lost
	}
	if waiting+lost > 0 {
		fmt.Fprintf(t, "not acknowledged: %d decisions were waiting at the end, %d had been dropped\n", waiting, lost)
	}
	return t.Flush()
}

// observerStatus is the status of the agent's app observer; nil = it has none.
func observerStatus(a *fleet.Agent) *fleet.AppObserverStatus {
	if a.AppObserver == nil {
		return nil
	}
	s := a.AppObserver.Status()
	return &s
}
