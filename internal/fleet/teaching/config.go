package teaching

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
	School trainer.Config

	Warm    int           // simulated steps in which a teacher without a saved state gets to know its critics
	Examine int           // stretches from the stream between two examinations in the simulated world
	Save    time.Duration // between two writings of the state, and acknowledgements with them
	Unsaved int           // messages after which it is written earlier
	Pause   time.Duration // when there is nothing to read

	Log      *slog.Logger                     // nil = none
	Told     func(Event)                      // of everything that is recorded; nil = nobody
	Progress func(share float64, what string) // of long work; nil = nobody
	Heard    func(*drpc.Delivery)             // of everything that is counted; nil = nobody
}

// Usual is all but how the school is run. The state of a large application is some
// hundred megabytes, hence the five minutes; a stream holds hours.
func Usual() Config {
	return Config{Warm: 2_000, Examine: 240, Save: 5 * time.Minute, Unsaved: 20_000, Pause: time.Second}
}

// Default is for a model as its school was run.
func Default(m *drpc.Model) Config {
	c := Usual()
	c.School = trainer.ConfigOf(m)
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
	fault(c.Warm < 1, "warm", c.Warm, "at least 1 step")
	fault(c.Examine < 1, "examine", c.Examine, "at least 1")
	fault(c.Save < 0, "save", c.Save, "at least 0")
	fault(c.Unsaved < 1, "unsaved", c.Unsaved, "at least 1")
	fault(c.Pause < time.Millisecond, "pause", c.Pause, "at least 1ms")
	return errors.Join(append(faults, c.School.Validate())...)
}

func (c *Config) log() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}
