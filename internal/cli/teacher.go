package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/fleet/teacher"
	"github.com/loadline/loadline/internal/policy/drpc"
)

type teacherFlags struct {
	fleetFlags
	learning          learningFlags
	embedded, store   string
	maxStore          int64
	model, checkpoint string
	every, lasting    time.Duration
	output            Format
}

func newTeacher() *cobra.Command {
	var f teacherFlags
	c := &cobra.Command{
		Use:   "teacher",
		Short: "Learn from the experience of a fleet of students, and publish their weights",
		Long: `Runs the teacher of a fleet: it collects the decisions of students that run elsewhere
(see agent), counts each decision once, even if a process is killed, and publishes
weights that the students use from then on.

The weights are those of a model that loadline train --formulation drpc wrote. When the
file is replaced, its students are published under the next version.

With --app the teacher also learns, from the students' decisions and from snapshots
of the whole application (see agent --observe-app). It is evaluated
regularly in a simulated application (--workload); when it has improved, it trains its
students and publishes their weights. When the notifier detects that the reward has
fallen, that states are new, that students differ from their teacher or that the request
mix has changed, it trains again in that simulated application with the observed request
mix. It never explores in the users' cluster. Events and their causes are printed and
kept in events.json beside the checkpoint.

A model file holds the teacher's actor and not its critics: at the first start they are
trained in the simulated application before the stream is read. What was learned and
what was counted are one file, written before anything is acknowledged, so the process
may be killed at any moment. After a failure, such as a full disk, the teacher restarts
from that file with increasing delays.

With --embedded the server runs in this process; --nats uses an external server or
cluster. A fleet must have one teacher.`,
		Example: `  # Everything on one machine: the teacher with a server, and two agents
  loadline teacher --embedded 127.0.0.1:4222 --model drpc.safetensors --checkpoint teacher
  loadline agent --nats nats://127.0.0.1:4222 --model drpc.safetensors --app bookinfo --services productpage,details
  loadline agent --nats nats://127.0.0.1:4222 --model drpc.safetensors --app bookinfo --services reviews,ratings

  # The same, and the teacher learns: one agent observes the whole application
  loadline teacher --embedded 127.0.0.1:4222 --model drpc.safetensors --checkpoint teacher --app bookinfo --workload day --peak 100
  loadline agent --nats nats://127.0.0.1:4222 --model drpc.safetensors --app bookinfo --observe-app --speed 60

  # A cluster of three, with credentials and TLS
  loadline teacher --nats tls://n0:4222,tls://n1:4222,tls://n2:4222 --credentials teacher.creds --tls-ca ca.pem \
    --model drpc.safetensors --checkpoint teacher`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.AddCommand(newKeygen())
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.model, "model", "", "model file to publish the students of, again whenever it is replaced")
	flags.StringVar(&f.checkpoint, "checkpoint", "", "folder for the teacher's state: what was counted, learned and published")
	f.learning.add(flags)
	flags.StringVar(&f.embedded, "embedded", "",
		"run a server in this process, at HOST:PORT; beyond this machine it needs --tls-cert, --tls-key and --tls-ca")
	flags.StringVar(&f.store, "store", "", "folder of that server; default: nats in the folder of the checkpoint")
	flags.Int64Var(&f.maxStore, "max-store", 256, "maximum size of that server's store in megabytes")
	f.add(flags)
	flags.StringVar(&f.signKey, "sign-key", "",
		"file of the key that weights are signed with, of loadline teacher keygen; default: they are not signed")
	flags.DurationVar(&f.every, "every", time.Second, "how often to look for experience and for another model")
	flags.DurationVar(&f.lasting, "for", 0, "exit after this time; 0 = when interrupted")
	f.output.Add(flags)
	return c
}

func (f *teacherFlags) check(flags *pflag.FlagSet) error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, Usagef(format, args...))
		}
	}
	fault(f.model == "", "--model is missing: a file that loadline train --formulation drpc wrote")
	fault(f.checkpoint == "", "--checkpoint is missing: the folder for the teacher's state")
	fault((f.url == "") == (f.embedded == ""), "give either --nats URL or --embedded HOST:PORT")
	fault(f.embedded == "" && f.store != "", "--store is for --embedded")
	fault(f.embedded != "" && f.credentials != "", "--credentials is for --nats")
	fault(f.every < 10*time.Millisecond, "--every is %v, must be at least 10ms", f.every)
	fault(f.lasting < 0, "--for is %v, must be at least 0", f.lasting)
	return errors.Join(append(faults, f.learning.check(flags))...)
}

func (f *teacherFlags) run(ctx context.Context, flags *pflag.FlagSet, stdout, stderr io.Writer) (err error) {
	if err := f.check(flags); err != nil {
		return err
	}
	if f.lasting > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.lasting)
		defer cancel()
	}
	model, err := drpc.Open(f.model)
	if err != nil {
		return err
	}
	var scenario *train.Scenario
	if f.learning.app != "" {
		if scenario, err = f.learning.scenario(); err != nil {
			return err
		}
	}
	config := f.config("loadline teacher", stderr)
	if f.embedded != "" {
		s, err := f.serve(config)
		if err != nil {
			return err
		}
		defer s.Stop()
		fmt.Fprintf(stderr, "the server listens at %s\n", s.URL())
		config.Server, config.CA, config.Cert, config.Key = s, "", "", ""
	}
	if err := config.Validate(); err != nil {
		return UsageError(err)
	}
	d := &teacherCommand{flags: f, model: model, scenario: scenario, config: config, stderr: stderr, services: map[string]*serviceCount{}}
	if err := d.run(ctx); err != nil {
		return err
	}
	return d.print(stdout)
}

// teacherStart is how long a teacher waits for servers at its start, where a wrong address is
// more likely than an outage.
const teacherStart = 30 * time.Second

func (f *teacherFlags) serve(config fleet.Config) (*fleet.Server, error) {
	s := fleet.DefaultServer(f.store)
	if s.Folder == "" {
		s.Folder = filepath.Join(f.checkpoint, "nats")
	}
	s.Address, s.MaxStore, s.Log = f.embedded, f.maxStore<<20, config.Log
	s.Cert, s.Key, s.CA = f.cert, f.key, f.tlsCA
	return fleet.Serve(s)
}

// teacherCommand supervises a teacher and gives it the model file again whenever the
// file is replaced.
type teacherCommand struct {
	flags    *teacherFlags
	scenario *train.Scenario // nil = the teacher only counts and publishes
	config   fleet.Config
	stderr   io.Writer

	supervisor *teacher.Supervisor
	links      []*fleet.Link // one of each start

	lock     sync.Mutex
	model    *drpc.Model
	file     os.FileInfo              // of the model, when it was read
	services map[string]*serviceCount // since this process began
	counted  int
	printed  time.Time // when progress was
}

// serviceCount is what was received of one service's student.
type serviceCount struct {
	Service   string  `json:"service"`
	Decisions int     `json:"decisions"`
	Novel     float64 `json:"novel"`   // share of states that the teacher rarely visited
	Version   uint64  `json:"version"` // of the weights of its last decision
	novel     int
}

func (d *teacherCommand) run(ctx context.Context) (err error) {
	if d.file, err = os.Stat(d.flags.model); err != nil {
		return err
	}
	d.supervisor = teacher.NewSupervisor(teacher.Options{
		Folder: d.flags.checkpoint, Log: d.config.Log, StartWithin: teacherStart, Open: d.open, Configure: d.configure,
	}, d.task(d.model))
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { d.watch(ctx) })
	defer watching.Wait()
	defer cancel()
	return d.supervisor.Run(ctx)
}

// task is to teach a model.
func (d *teacherCommand) task(m *drpc.Model) teacher.Task {
	t := teacher.Task{Model: m, Scenario: d.scenario}
	if d.scenario == nil {
		t.Reason = "it only counts and publishes, since --app is not given"
	}
	return t
}

func (d *teacherCommand) open() (*fleet.Link, error) {
	l, err := fleet.Open(d.config)
	if err == nil {
		d.lock.Lock()
		d.links = append(d.links, l)
		d.lock.Unlock()
	}
	return l, err
}

// configure sets a teacher's configuration from the flags.
func (d *teacherCommand) configure(c *teacher.Config, _ *train.Scenario) {
	bar := NewProgress(d.stderr, "training")
	if d.scenario != nil {
		d.flags.learning.configure(c)
	}
	c.PollEvery, c.Received = d.flags.every, d.received
	c.Event = func(e teacher.Event) {
		bar.Done()
		fmt.Fprintln(d.stderr, e)
	}
	c.Progress = func(share float64, what string) {
		bar.Describe("training, " + what)
		bar.At(share)
	}
}

// received counts a message, and prints progress at most every ten seconds.
func (d *teacherCommand) received(e *drpc.Delivery) {
	if e.Snapshot != nil {
		return
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	s := d.services[e.Service]
	if s == nil {
		s = &serviceCount{Service: e.Service}
		d.services[e.Service] = s
	}
	s.Decisions++
	s.Version = e.Version
	if d.model.Visits.Novel(&e.Local) {
		s.novel++
	}
	if d.counted++; time.Since(d.printed) >= lineEvery {
		d.printed = time.Now()
		fmt.Fprintf(d.stderr, "%d decisions counted since the start, up to %d of the stream\n", d.counted, e.Sequence)
	}
}

// watch gives the teacher the model again whenever its file is replaced.
func (d *teacherCommand) watch(ctx context.Context) {
	tick := time.NewTicker(d.flags.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if m := d.replaced(); m != nil {
			d.lock.Lock()
			d.model = m
			d.lock.Unlock()
			d.supervisor.Assign(d.task(m))
		}
	}
}

// replaced is the model in the file, if the file is not the one that was read last. A
// file that cannot be used is reported and ignored.
func (d *teacherCommand) replaced() *drpc.Model {
	now, err := os.Stat(d.flags.model)
	if err != nil || os.SameFile(now, d.file) && now.ModTime().Equal(d.file.ModTime()) && now.Size() == d.file.Size() {
		return nil
	}
	d.file = now
	m, err := drpc.Open(d.flags.model)
	if err != nil {
		fmt.Fprintf(d.stderr, "the model was replaced by one that cannot be used, the weights stay as they are: %v\n", err)
		return nil
	}
	return m
}

// counts by service, sorted.
func (d *teacherCommand) counts() []serviceCount {
	all := make([]serviceCount, 0, len(d.services))
	for _, s := range d.services {
		s.Novel = float64(s.novel) / float64(s.Decisions)
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b serviceCount) int { return strings.Compare(a.Service, b.Service) })
	return all
}

// print prints the report. The supervisor has ended.
func (d *teacherCommand) print(w io.Writer) error {
	var sent, received uint64
	for _, l := range d.links {
		sent, received = sent+l.Traffic().Sent, received+l.Traffic().Received
	}
	s := d.supervisor.Status()
	if d.flags.output.Structured() {
		report := struct {
			Version    uint64         `json:"version"`
			Counted    uint64         `json:"counted"`
			Repeated   uint64         `json:"repeated"`
			Unreadable uint64         `json:"unreadable"`
			Last       uint64         `json:"last"`
			Services   []serviceCount `json:"services"`
			Sent       uint64         `json:"sent"`
			Received   uint64         `json:"received"`

			Learning *teacher.Status `json:"learning,omitempty"`
			Events   []teacher.Event `json:"events,omitempty"`
		}{s.Version, s.Counted, s.Repeated, s.Unreadable, s.Position, d.counts(), sent, received, nil, nil}
		if d.scenario != nil {
			report.Learning, report.Events = &s, d.supervisor.Events()
		}
		return d.flags.output.Encode(w, report)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SERVICE\tDECISIONS\tNOVEL\tVERSION")
	for _, c := range d.counts() {
		fmt.Fprintf(t, "%s\t%d\t%.0f %%\t%d\n", c.Service, c.Decisions, 100*c.Novel, c.Version)
	}
	fmt.Fprintf(t, "\n%d decisions counted in all, up to %d of the stream; %d came again, %d could not be read\n",
		s.Counted, s.Position, s.Repeated, s.Unreadable)
	fmt.Fprintf(t, "weights: version %d; %d bytes sent, %d received\n", s.Version, sent, received)
	if d.scenario != nil {
		d.printLearning(t, &s)
	}
	return t.Flush()
}

func (d *teacherCommand) printLearning(w io.Writer, s *teacher.Status) {
	silent := ""
	if s.Silent != "" {
		silent = " (the last without decisions of " + s.Silent + ")"
	}
	fmt.Fprintf(w, "learned from %d periods of %d snapshots; %d incomplete%s, %d interrupted, %d decisions late, %d snapshots of another "+
		"application\n",
		s.Learned, s.Snapshots, s.Incomplete, silent, s.Broken, s.Late, s.Rejected)
	fmt.Fprintf(w, "recent: reward %.3f, novelty %.2f, imitation %.3f, drift %.2f; trained again %d times, best evaluation %.3f\n\n",
		s.Reward, s.Novelty, s.Imitation, s.Drift, s.Retrained, s.Best)
	for _, e := range d.supervisor.Events() {
		fmt.Fprintf(w, "%s  %v\n", e.At.Format(time.RFC3339), e)
	}
}
