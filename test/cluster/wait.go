package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// fatal is an error that waiting does not cure.
type fatal struct{ error }

// Patience is how long Eventually waits. It is far longer than anything should
// take: a busy machine is not a failure.
const Patience = 2 * time.Minute

// Eventually waits until f has no error, and fails the test with its last one
// otherwise.
func Eventually(t testing.TB, what string, f func() error) {
	t.Helper()
	if err := until(t.Context(), Patience, what, f); err != nil {
		t.Fatal(err)
	}
}

// Stays fails the test if f has an error at any time during d.
func Stays(t testing.TB, d time.Duration, what string, f func() error) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err := f(); err != nil {
			t.Fatalf("%s did not stay: %v", what, err)
		}
	}
}

func until(ctx context.Context, patience time.Duration, what string, f func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := f()
		var hopeless fatal
		switch {
		case err == nil:
			return nil
		case errors.As(err, &hopeless):
			return hopeless.error
		case time.Now().After(deadline):
			return fmt.Errorf("waited %v for %s: %w", patience, what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited for %s: %w", what, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
