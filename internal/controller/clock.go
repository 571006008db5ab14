package controller

import (
	"context"
	"time"
)

// wall is the loop's clock in a cluster. While it waits it does what cannot wait
// for the next pass.
type wall struct {
	now   func() time.Time
	poked <-chan struct{}
	poke  func(context.Context)
}

// Now is the wall's time.
func (w *wall) Now() time.Time { return w.now() }

// WaitUntil returns at t, or earlier with the context's error.
func (w *wall) WaitUntil(ctx context.Context, t time.Time) error {
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
