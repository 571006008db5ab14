package loop

import (
	"context"
	"time"
)

// Wall is the clock on the wall.
type Wall struct{}

// Now is now.
func (Wall) Now() time.Time { return time.Now() }

// WaitUntil sleeps.
func (Wall) WaitUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
