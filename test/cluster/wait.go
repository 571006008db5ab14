package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

// fatal is an error for which waiting does not help.
type fatal struct{ error }

// noEnd is for waiting that only its context bounds.
var noEnd time.Time

// reportAfter is when waiting is reported on standard error, and how often then.
const reportAfter = 2 * time.Minute

// Eventually waits until f has no error. It has no bound of its own, since a busy
// machine is not a failure: shortly before the test binary's timeout the test fails
// with f's last error.
func Eventually(t testing.TB, what string, f func() error) {
	t.Helper()
	end := noEnd
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, bounded := d.Deadline(); bounded {
			end = deadline.Add(-time.Minute) // for the logs and the end of all processes
		}
	}
	if err := until(t.Context(), end, t.Name()+": "+what, f); err != nil {
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

// StaysUntil waits as Eventually does until done has no error, and fails the test if
// holds has one before.
func StaysUntil(t testing.TB, what string, holds, done func() error) {
	t.Helper()
	Eventually(t, what, func() error {
		if err := holds(); err != nil {
			return fatal{fmt.Errorf("%s did not stay: %w", what, err)}
		}
		return done()
	})
}

// Until waits until f has no error or ctx ends.
func Until(ctx context.Context, what string, f func() error) error { return until(ctx, noEnd, what, f) }

func until(ctx context.Context, end time.Time, what string, f func() error) error {
	began := time.Now()
	for report := began.Add(reportAfter); ; {
		err := f()
		var hopeless fatal
		now := time.Now()
		switch {
		case err == nil:
			return nil
		case errors.As(err, &hopeless):
			return hopeless.error
		case !end.IsZero() && now.After(end):
			return fmt.Errorf("waited %v for %s: %w", now.Sub(began).Round(time.Second), what, err)
		case now.After(report):
			fmt.Fprintf(os.Stderr, "waiting for %s for %v: %v\n", what, now.Sub(began).Round(time.Second), err)
			report = now.Add(reportAfter)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited for %s: %w", what, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
