package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/fleet/teacher"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
)

// classFlags are those of a teacher that goes on learning.
type classFlags struct {
	app, workload          string
	shaped                 workloadFlags
	warm, refresh, examine int
	save                   time.Duration
}

func (f *classFlags) add(flags *pflag.FlagSet) {
	c := teacher.Usual()
	flags.StringVar(&f.app, "app", "", "learn too: name or file of the application, as the model was trained on (see apps)")
	flags.StringVar(&f.workload, "workload", "day", "with --app: load of the simulated world in which the teacher explores and is examined")
	f.shaped.addReading(flags)
	flags.DurationVar(&f.shaped.options.Duration, "duration", 0, "with --app: length of that load; default: its own, a day for generators")
	flags.IntVar(&f.warm, "warm-up", c.WarmUp, "with --app: simulated steps in which a teacher without a saved state gets to know its critics")
	flags.IntVar(&f.refresh, "refresh", trainer.Default(drpc.Continuous).Stage1.Refresh, "with --app: simulated steps of stage 1 at most when the notifier calls")
	flags.IntVar(&f.examine, "examine", c.EvaluateEvery, "with --app: periods that are learned from between two examinations")
	flags.DurationVar(&f.save, "save", c.SaveEvery, "with --app: how often to keep what was learned; decisions are acknowledged with it")
}

// classOnly are the flags that need --app.
var classOnly = []string{"workload", "duration", "warm-up", "refresh", "examine", "save", "seed", "scale", "peak", "format", "select", "metric", "combine", "gaps", "skip-bad", "rps-at-full", "profile"}

func (f *classFlags) check(flags *pflag.FlagSet) error {
	var faults []error
	if f.app == "" {
		for _, name := range classOnly {
			if flags.Changed(name) {
				faults = append(faults, usagef("--%s is for a teacher that learns: give --app too", name))
			}
		}
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"warm-up", f.warm}, {"refresh", f.refresh}, {"examine", f.examine}} {
		if n.value < 1 {
			faults = append(faults, usagef("--%s is %d, must be at least 1", n.name, n.value))
		}
	}
	if f.save < 0 {
		faults = append(faults, usagef("--save is %v, must be at least 0", f.save))
	}
	return errors.Join(faults...)
}

// subject is the simulated world.
func (f *classFlags) subject() (train.Scenario, error) {
	model, err := loadApp(f.app)
	if err != nil {
		return train.Scenario{}, err
	}
	w, _, err := f.shaped.open(f.workload)
	if err != nil {
		return train.Scenario{}, err
	}
	load, err := w.For(model.App)
	if err != nil {
		return train.Scenario{}, err
	}
	return train.Scenario{App: model.App, Load: load, Duration: w.Duration(), Source: fmt.Sprintf("%s under %s, %v", model.App.Name, w.Name, w.Duration())}, nil
}

func (f *classFlags) config(m *drpc.Model) teacher.Config {
	c := teacher.Default(m)
	c.WarmUp, c.EvaluateEvery, c.SaveEvery, c.Training.Stage1.Refresh = f.warm, f.examine, f.save, f.refresh
	return c
}

// teach is a teacher that learns, and begins anew when its model is replaced.
func (f *teacherFlags) teach(ctx context.Context, config fleet.Config, link *fleet.Link, model *drpc.Model, subject train.Scenario, stdout, stderr io.Writer) error {
	d := &desk{flags: f, link: link, model: model, stderr: stderr, heard: map[string]*heard{}}
	var err error
	if d.file, err = os.Stat(f.model); err != nil {
		return err
	}
	for {
		bar := newProgress(stderr, "school")
		c := f.class.config(d.model)
		c.PollEvery, c.Log, c.Received = f.every, config.Log, d.hear
		c.Event = func(e teacher.Event) {
			bar.done()
			fmt.Fprintln(stderr, e)
		}
		c.Progress = func(share float64, what string) {
			bar.what = "school, " + what
			bar.at(share)
		}
		learning, err := teacher.Open(link, f.checkpoint, d.model, subject, c)
		if err != nil {
			return err
		}
		if counted := learning.Ledger().Counted; counted > 0 {
			fmt.Fprintf(stderr, "the school in %s goes on: %d decisions counted so far\n", f.checkpoint, counted)
		}
		turn, cancel := context.WithCancel(ctx)
		replaced := make(chan *drpc.Model, 1)
		go func() { replaced <- d.watch(turn, cancel) }()
		err = learning.Run(turn)
		cancel()
		bar.done()
		another := <-replaced
		d.class, d.events, d.ledger = learning.Status(), learning.Events(), learning.Ledger()
		if err := errors.Join(err, learning.Close()); err != nil || another == nil {
			return errors.Join(err, d.print(stdout))
		}
		d.model = another
	}
}

// watch until the model is replaced by one that can be used, and ends the turn then.
func (d *desk) watch(ctx context.Context, end context.CancelFunc) *drpc.Model {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(d.flags.every):
		}
		if model := d.another(); model != nil {
			end()
			return model
		}
	}
}
