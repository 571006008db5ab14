package teacher

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
)

// Config of a teacher.
type Config struct {
	Training trainer.Config

	WarmUp         int           // simulated steps in which a teacher without a saved state trains its critics
	EvaluateEvery  int           // learned periods between two evaluations in the simulated application
	SaveEvery      time.Duration // between two writes of the state, each followed by an acknowledgement
	MaxUncommitted int           // messages after which the state is written earlier
	PollEvery      time.Duration // when the stream is empty

	Log      *slog.Logger                     // nil = none
	Event    func(Event)                      // called for each recorded event; nil = none
	Progress func(share float64, what string) // of training; nil = none
	Received func(*drpc.Delivery)             // called for each message that is counted; nil = none
}

// Usual is everything but the training. The state of a large application has several hundred
// megabytes, hence the five minutes; a stream holds hours.
func Usual() Config {
	return Config{WarmUp: 2_000, EvaluateEvery: 240, SaveEvery: 5 * time.Minute, MaxUncommitted: 20_000, PollEvery: time.Second}
}

// Default trains as the model was trained.
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
			faults = append(faults, fmt.Errorf("teacher: %s is %v, must be %s", key, value, must))
		}
	}
	fault(c.WarmUp < 1, "warm-up", c.WarmUp, "at least 1 step")
	fault(c.EvaluateEvery < 1, "periods between evaluations", c.EvaluateEvery, "at least 1")
	fault(c.SaveEvery < 0, "time between saves", c.SaveEvery, "at least 0")
	fault(c.MaxUncommitted < 1, "uncommitted messages", c.MaxUncommitted, "at least 1")
	fault(c.PollEvery < time.Millisecond, "poll interval", c.PollEvery, "at least 1ms")
	return errors.Join(append(faults, c.Training.Validate())...)
}

func (c *Config) log() *slog.Logger { return logger(c.Log) }

func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
