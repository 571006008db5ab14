package controller

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

// slowMetering answers when its context ends: a Prometheus that never does.
type slowMetering struct{ *stage }

func (s slowMetering) Observe(ctx context.Context, _ time.Time, _ [][]string, _ *loadline.Observation) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestAStuckLoopIsNotAlive: a pass that does not heed its deadline fails the liveness probe after some
// intervals, and not before; one that waits for Prometheus never does.
func TestAStuckLoopIsNotAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		c, end := running(t, s)
		defer end()
		h := &Health{Controller: c}
		if err := h.Ready(); err == nil || !strings.Contains(err.Error(), "not in sync") {
			t.Errorf("before the caches are in sync: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go h.Start(ctx)
		if _, err := c.Reconcile(t.Context(), request(s.l)); err != nil {
			t.Fatal(err)
		}
		c.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
			a, err := s.open(ctx, l, latest)
			if err == nil {
				a.cluster.source = func(context.Context, time.Time) (metering, error) { return slowMetering{s}, nil }
				a.cluster.timeout = time.Hour // even if its own deadline were that long
			}
			return a, err
		}
		for range 20 {
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			if err := h.Live(); err != nil {
				t.Fatalf("a slow Prometheus: %v", err)
			}
			if err := h.Ready(); err != nil {
				t.Fatalf("a slow Prometheus: %v", err)
			}
		}

		release := make(chan struct{})
		s.looking = func() { <-release } // heeds no context
		within := passWithin(s.l.Spec.Interval.Span())
		time.Sleep(within)
		synctest.Wait()
		if err := h.Live(); err != nil {
			t.Errorf("within its deadline: %v", err)
		}
		time.Sleep((stuckAfter + 1) * within)
		synctest.Wait()
		for _, err := range []error{h.Live(), h.Ready()} {
			if err == nil || !strings.Contains(err.Error(), "stuck: ns/shop: pass since") {
				t.Errorf("a stuck loop: %v", err)
			}
		}
		s.looking = nil
		close(release)
		time.Sleep(within)
		synctest.Wait()
		if err := h.Live(); err != nil {
			t.Errorf("after it went on: %v", err)
		}
	})
}
