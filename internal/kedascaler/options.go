package kedascaler

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/loadline/loadline/internal/tlsfiles"
)

// TLS names the files of certificates.
type TLS = tlsfiles.Files

// Defaults of Options.
const (
	DefaultAddress   = ":9092"
	DefaultMaxAge    = 5 * time.Minute
	DefaultHeartbeat = 30 * time.Second
	DefaultStreams   = 10_000
	DefaultPerPeer   = 5_000
	DefaultStop      = 5 * time.Second
)

// Options are the options of a Server. The zero value serves in plain text with
// the defaults.
type Options struct {
	Address      string        // that Start listens on; "" = DefaultAddress
	MaxAge       time.Duration // maximum age of a decision; 0 = DefaultMaxAge
	Heartbeat    time.Duration // between messages of an unchanged stream; 0 = DefaultHeartbeat
	HPATolerance float64       // of the cluster, for triggers that overshoot; 0 = DefaultHPATolerance
	MaxStreams   int           // open at once, over all connections; 0 = DefaultStreams
	MaxPerPeer   int           // of them, from one address; 0 = DefaultPerPeer, or MaxStreams if that is less
	StopWithin   time.Duration // time for calls in progress at shutdown; 0 = DefaultStop
	TLS          TLS           // zero = plain text
	Hooks        Hooks
	Log          *slog.Logger     // nil = none
	Now          func() time.Time // nil = time.Now
}

// Hooks are called on events, for metrics. Any may be nil; they are called
// concurrently and must not block.
type Hooks struct {
	Answered  func(Answer)                    // a call has ended, a stream's as well
	Published func(Target, Decision, float64) // this value was given to the HPA
	Streams   func(open int)                  // one was opened or has ended
	Reloaded  func(err error)                 // certificates changed; with an error the old ones stay in use
}

// Answer is the outcome of a call.
type Answer struct {
	Method string // GetMetrics and the like
	Code   codes.Code
	Took   time.Duration
}

// withDefaults sets the defaults.
func (o Options) withDefaults() Options {
	setDefault(&o.Address, DefaultAddress)
	setDefault(&o.MaxAge, DefaultMaxAge)
	setDefault(&o.Heartbeat, DefaultHeartbeat)
	setDefault(&o.HPATolerance, DefaultHPATolerance)
	setDefault(&o.MaxStreams, DefaultStreams)
	setDefault(&o.MaxPerPeer, min(DefaultPerPeer, o.MaxStreams))
	setDefault(&o.StopWithin, DefaultStop)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func setDefault[T comparable](v *T, unset T) {
	if *v == *new(T) {
		*v = unset
	}
}

// Validate returns all errors.
func (o Options) Validate() error {
	var faults []error
	positive := func(name string, d time.Duration) {
		if d < 0 {
			faults = append(faults, fmt.Errorf("%s %s: must be positive, or 0 for the default", name, d))
		}
	}
	positive("max age", o.MaxAge)
	positive("heartbeat", o.Heartbeat)
	positive("stop within", o.StopWithin)
	if !(o.HPATolerance >= 0 && o.HPATolerance < 1) {
		faults = append(faults, fmt.Errorf("HPA tolerance %g: must be a share from 0 to less than 1, such as 0.1", o.HPATolerance))
	}
	if o.MaxStreams < 0 || o.MaxStreams > 1<<20 {
		faults = append(faults, fmt.Errorf("streams %d: must be from 1 to %d, or 0 for the default", o.MaxStreams, 1<<20))
	}
	if o.MaxPerPeer < 0 {
		faults = append(faults, fmt.Errorf("streams of one peer %d: must be positive, or 0 for the default", o.MaxPerPeer))
	}
	return errors.Join(append(faults, o.TLS.Validate())...)
}
