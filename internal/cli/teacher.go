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
	class             classFlags
	embedded, store   string
	maxStore          int64
	model, checkpoint string
	every, lasting    time.Duration
	output            string
}

func newTeacher() *cobra.Command {
	var f teacherFlags
	c := &cobra.Command{
		Use:   "teacher",
		Short: "Learn from the experience of a fleet of students, and publish their weights",
		Long: `Runs the teacher's end of a fleet: it takes in what students decide elsewhere (see
agent), counts each decision once, whatever is killed when, and publishes weights
that they take into force while they are at work.

Weights are those of a model that loadline train --formulation drpc wrote. When the
file is replaced, its students are published under the next version.

With --app it learns too. Students' decisions say what was done, and a witness (see
agent --witness) what the whole application looked like; from both the teacher learns
what it was worth. Now and then it is examined in a simulated world (--workload), and
when it has gained it teaches its students anew and publishes their weights. When the
notifier calls, because the reward has fallen, states are new, students differ from
their teacher or users ask for something else, everybody goes back to stage 1 in that
simulated world, with the requests that are seen. It never explores on the cluster of
the users: exploring means doing what one believes to be wrong. What triggered, and
what came of it, is printed and kept in events.json beside the checkpoint.

A model file holds what the teacher does, not what it believes that to be worth: the
first time, its critics are warmed up in the simulated world before anything is read.
What was learned and what was counted are one file, written before anything is
acknowledged: it may be killed at any moment.

With --embedded the server is in this process; --nats uses one, or a cluster, that is
run elsewhere. There must be one teacher of a fleet.`,
		Example: `  # Everything on one machine: the teacher with a server, and two agents
  loadline teacher --embedded 127.0.0.1:4222 --model drpc.safetensors --checkpoint school
  loadline agent --nats nats://127.0.0.1:4222 --model drpc.safetensors --app bookinfo --services productpage,details
  loadline agent --nats nats://127.0.0.1:4222 --model drpc.safetensors --app bookinfo --services reviews,ratings

  # The same, and it goes on learning: one agent sees the whole application
  loadline teacher --embedded 127.0.0.1:4222 --model drpc.safetensors --checkpoint school --app bookinfo --workload day --peak 100
  loadline agent --nats nats://127.0.0.1:4222 --model drpc.safetensors --app bookinfo --witness --speed 60

  # A cluster of three, with credentials and TLS
  loadline teacher --nats tls://n0:4222,tls://n1:4222,tls://n2:4222 --credentials teacher.creds --tls-ca ca.pem \
    --model drpc.safetensors --checkpoint school`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.model, "model", "", "model file to publish the students of, again whenever it is replaced")
	flags.StringVar(&f.checkpoint, "checkpoint", "", "folder to keep in what was counted, learned and published")
	f.class.add(flags)
	flags.StringVar(&f.embedded, "embedded", "", "run a server in this process, at HOST:PORT; beyond this machine it needs --tls-cert, --tls-key and --tls-ca")
	flags.StringVar(&f.store, "store", "", "folder of that server; default: nats in the folder of the checkpoint")
	flags.Int64Var(&f.maxStore, "max-store", 256, "megabytes that it keeps at most")
	f.add(flags)
	flags.DurationVar(&f.every, "every", time.Second, "how often to look for experience and for another model")
	flags.DurationVar(&f.lasting, "for", 0, "end after so long; 0 = when interrupted")
	flags.StringVar(&f.output, "output", "text", "text or json")
	return c
}

func (f *teacherFlags) check(flags *pflag.FlagSet) error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, usagef(format, args...))
		}
	}
	fault(f.model == "", "--model is missing: a file that loadline train --formulation drpc wrote")
	fault(f.checkpoint == "", "--checkpoint is missing: the folder in which the teacher keeps what it has counted")
	fault((f.url == "") == (f.embedded == ""), "give either --nats URL or --embedded HOST:PORT")
	fault(f.embedded == "" && f.store != "", "--store is for --embedded")
	fault(f.embedded != "" && f.credentials != "", "--credentials is for --nats")
	fault(f.every < 10*time.Millisecond, "--every is %v, must be at least 10ms", f.every)
	fault(f.lasting < 0, "--for is %v, must be at least 0", f.lasting)
	fault(f.output != "text" && f.output != "json", "--output is %q, must be text or json", f.output)
	return errors.Join(append(faults, f.class.check(flags))...)
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
	var subject train.Scenario
	if f.class.app != "" {
		if subject, err = f.class.subject(); err != nil {
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
	link, err := fleet.Open(config)
	if err != nil {
		return usageError{err}
	}
	defer link.Close()
	patience, cancel := context.WithTimeout(ctx, teacherPatience)
	defer cancel()
	if err := link.Wait(patience); err != nil {
		return err
	}
	if f.class.app != "" {
		return f.teach(ctx, config, link, model, subject, stdout, stderr)
	}
	teacher, err := fleet.NewCollector(link, f.checkpoint)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, teacher.Close()) }()
	d := &desk{flags: f, teacher: teacher, link: link, model: model, stderr: stderr, heard: map[string]*heard{}}
	if err := d.run(ctx); err != nil {
		return err
	}
	return d.print(stdout)
}

// teacherPatience is how long a teacher waits for servers at the beginning, where
// a wrong address is more likely than one that is away.
const teacherPatience = 30 * time.Second

func (f *teacherFlags) serve(config fleet.Config) (*fleet.Server, error) {
	s := fleet.DefaultServer(f.store)
	if s.Folder == "" {
		s.Folder = filepath.Join(f.checkpoint, "nats")
	}
	s.Address, s.MaxStore, s.Log = f.embedded, f.maxStore<<20, config.Log
	s.Cert, s.Key, s.CA = f.cert, f.key, f.tlsCA
	return fleet.Serve(s)
}

// desk is a teacher at work: experience on one side, the model's file on the other.
type desk struct {
	flags   *teacherFlags
	teacher *fleet.Collector
	link    *fleet.Link
	model   *drpc.Model
	file    os.FileInfo // of the model, when it was read
	stderr  io.Writer
	heard   map[string]*heard // by service, since this process began

	// Of a teacher that learns, when it has ended.
	class  teacher.Status
	events []teacher.Event
	ledger fleet.Ledger

	told, troubled time.Time
}

// heard is what one service's student has done.
type heard struct {
	Service   string  `json:"service"`
	Decisions int     `json:"decisions"`
	Novel     float64 `json:"novel"`   // share of states that the teacher has rarely seen
	Version   uint64  `json:"version"` // of the weights by which it decided last
	novel     int
}

// hear notes who did something.
func (d *desk) hear(e *drpc.Delivery) {
	if e.Scene != nil {
		return
	}
	h := d.heard[e.Service]
	if h == nil {
		h = &heard{Service: e.Service}
		d.heard[e.Service] = h
	}
	h.Decisions++
	h.Version = e.Version
	if d.model.Seen.Novel(&e.Local) {
		h.novel++
	}
}

func (d *desk) run(ctx context.Context) error {
	d.teacher.Received = func(e *drpc.Delivery) error {
		d.hear(e)
		return nil
	}
	var err error
	if d.file, err = os.Stat(d.flags.model); err != nil {
		return err
	}
	var offered time.Time
	for {
		if d.replaced() || time.Since(offered) > offerEvery {
			if d.offer() {
				offered = time.Now()
			} else {
				offered = time.Time{} // again at once: servers may be back
			}
		}
		counted, err := d.teacher.Pass()
		d.tell(counted, err)
		if counted > 0 && ctx.Err() == nil {
			continue // there may be more
		}
		select {
		case <-ctx.Done():
			d.ledger = d.teacher.Ledger()
			return nil
		case <-time.After(d.flags.every):
		}
	}
}

// offerEvery is how often the teacher looks whether its weights still lie there,
// sound.
const offerEvery = time.Minute

// replaced reads the model if its file is another one than before. A file that
// cannot be used is told of and left alone: students act on.
func (d *desk) replaced() bool {
	model := d.another()
	if model != nil {
		d.model = model
	}
	return model != nil
}

// another is the model that the file holds now, if it is not what it was.
func (d *desk) another() *drpc.Model {
	now, err := os.Stat(d.flags.model)
	if err != nil || os.SameFile(now, d.file) && now.ModTime().Equal(d.file.ModTime()) && now.Size() == d.file.Size() {
		return nil
	}
	d.file = now
	model, err := drpc.Open(d.flags.model)
	if err != nil {
		fmt.Fprintf(d.stderr, "the model was replaced by one that cannot be used, weights stay as they are: %v\n", err)
		return nil
	}
	return model
}

// offer publishes the model's students. It says whether that is settled: servers
// that are away are asked again.
func (d *desk) offer() bool {
	published, err := d.teacher.Publish(d.model)
	if err != nil {
		d.trouble("weights cannot be published now: %v\n", err)
		return false
	}
	if published {
		fmt.Fprintf(d.stderr, "published version %d for %d services\n", d.teacher.Ledger().Version, len(d.model.Services))
	}
	return true
}

// tell on stderr how it goes.
func (d *desk) tell(counted int, err error) {
	switch ledger := d.teacher.Ledger(); {
	case err != nil:
		d.trouble("experience cannot be counted now: %v\n", err)
	case counted > 0 && time.Since(d.told) >= lineEvery:
		d.told = time.Now()
		fmt.Fprintf(d.stderr, "%d decisions counted, up to %d of the stream\n", ledger.Counted, ledger.Last)
	}
}

// trouble is told every ten seconds at most.
func (d *desk) trouble(format string, args ...any) {
	if time.Since(d.troubled) >= lineEvery {
		d.troubled = time.Now()
		fmt.Fprintf(d.stderr, format, args...)
	}
}

// services that were heard, in order.
func (d *desk) services() []heard {
	all := make([]heard, 0, len(d.heard))
	for _, h := range d.heard {
		h.Novel = float64(h.novel) / float64(h.Decisions)
		all = append(all, *h)
	}
	slices.SortFunc(all, func(a, b heard) int { return strings.Compare(a.Service, b.Service) })
	return all
}

func (d *desk) print(w io.Writer) error {
	ledger, carried := d.ledger, d.link.Traffic()
	if d.flags.output == "json" {
		return writeIndented(w, struct {
			Version    uint64  `json:"version"`
			Counted    uint64  `json:"counted"`
			Again      uint64  `json:"again"`
			Unreadable uint64  `json:"unreadable"`
			Last       uint64  `json:"last"`
			Services   []heard `json:"services"`
			Sent       uint64  `json:"sent"`
			Received   uint64  `json:"received"`

			Class  *teacher.Status `json:"class,omitempty"`
			Events []teacher.Event `json:"events,omitempty"`
		}{ledger.Version, ledger.Counted, ledger.Repeated, d.link.Unreadable(), ledger.Last, d.services(), carried.Sent, carried.Received, d.learned(), d.events})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SERVICE\tDECISIONS\tNOVEL\tVERSION")
	for _, h := range d.services() {
		fmt.Fprintf(t, "%s\t%d\t%.0f %%\t%d\n", h.Service, h.Decisions, 100*h.Novel, h.Version)
	}
	fmt.Fprintf(t, "\n%d decisions counted in all, up to %d of the stream; %d came again, %d could not be read\n", ledger.Counted, ledger.Last, ledger.Repeated, d.link.Unreadable())
	fmt.Fprintf(t, "weights: version %d; %d bytes sent, %d received\n", ledger.Version, carried.Sent, carried.Received)
	if c := d.learned(); c != nil {
		fmt.Fprintf(t, "learned from %d periods of %d scenes; %d were incomplete%s, %d broken off, %d decisions late, %d scenes of something else\n",
			c.Learned, c.Scenes, c.Incomplete, silent(c.Silent), c.Broken, c.Late, c.Rejected)
		fmt.Fprintf(t, "of late: reward %.3f, novelty %.2f, imitation %.3f, drift %.2f; back to stage 1 %d times, best examination %.3f\n\n", c.Reward, c.Novelty, c.Imitation, c.Drift, c.Retrained, c.Best)
		for _, e := range d.events {
			fmt.Fprintf(t, "%s  %v\n", e.At.Format(time.RFC3339), e)
		}
	}
	return t.Flush()
}

// learned is how the class is doing; nil = this teacher only counts.
func (d *desk) learned() *teacher.Status {
	if d.flags.class.app == "" {
		return nil
	}
	return &d.class
}

// silent names whose student was not heard.
func silent(service string) string {
	if service == "" {
		return ""
	}
	return " (the last because " + service + " was not heard)"
}
