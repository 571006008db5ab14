package controller

import (
	"context"
	"time"
)

// realClock is the loop's clock in a cluster. While it waits it does what must not
// wait for the next pass.
type realClock struct {
	now   func() time.Time
	poked <-chan struct{}
	poke  func(context.Context)
}

// Now is the present time.
func (w *realClock) Now() time.Time { return w.now() }

// WaitUntil returns at t, or earlier with the context's error.
func (w *realClock) WaitUntil(ctx context.Context, t time.Time) error {
	for {
		wait := t.Sub(w.now())
		if wait <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		case <-w.poked:
			timer.Stop()
			w.poke(ctx)
		}
	}
}
