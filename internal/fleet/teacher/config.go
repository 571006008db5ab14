package teacher

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
)

// Config is how a class is run.
type Config struct {
	Training trainer.Config

	WarmUp    int           // simulated steps in which a teacher without a saved state gets to know its critics
	EvaluateEvery int           // stretches from the stream between two examinations in the simulated world
	SaveEvery    time.Duration // between two writings of the state, and acknowledgements with them
	MaxUncommitted int           // messages after which it is written earlier
	PollEvery   time.Duration // when there is nothing to read

	Log      *slog.Logger                     // nil = none
	Event     func(Event)                      // of everything that is recorded; nil = nobody
	Progress func(share float64, what string) // of long work; nil = nobody
	Received    func(*drpc.Delivery)             // of everything that is counted; nil = nobody
}

// Usual is all but how the school is run. The state of a large application is some
// hundred megabytes, hence the five minutes; a stream holds hours.
func Usual() Config {
	return Config{WarmUp: 2_000, EvaluateEvery: 240, SaveEvery: 5 * time.Minute, MaxUncommitted: 20_000, PollEvery: time.Second}
}

// Default is for a model as its school was run.
func Default(m *drpc.Model) Config {
	c := Usual()
	c.Training = trainer.ConfigOf(m)
	return c
}

// Validate reports every fault at once.
func (c Config) Validate() error {
	var faults []error
	fault := func(bad bool, key string, value any, must string) {
		if bad {
			faults = append(faults, fmt.Errorf("class: %s is %v, must be %s", key, value, must))
		}
	}
	fault(c.WarmUp < 1, "warm", c.WarmUp, "at least 1 step")
	fault(c.EvaluateEvery < 1, "examine", c.EvaluateEvery, "at least 1")
	fault(c.SaveEvery < 0, "save", c.SaveEvery, "at least 0")
	fault(c.MaxUncommitted < 1, "unsaved", c.MaxUncommitted, "at least 1")
	fault(c.PollEvery < time.Millisecond, "pause", c.PollEvery, "at least 1ms")
	return errors.Join(append(faults, c.Training.Validate())...)
}

func (c *Config) log() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}
