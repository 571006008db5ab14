package loop_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/loop"
)

// onTheWall is a cluster whose clock is the wall's.
type onTheWall struct{ *fakeCluster }

func (c onTheWall) Observe(ctx context.Context, into *loadline.Observation) error {
	c.now = time.Now()
	return c.fakeCluster.Observe(ctx, into)
}

func TestWallClockKeepsTheBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		l, c, _ := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Delay: time.Second},
			func(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
				at = append(at, now.Sub(began))
				if len(at) == 2 {
					time.Sleep(25 * time.Second) // misses two beats
				}
				return loadline.Proposal{}, nil
			}})
		l.Cluster, l.Clock = onTheWall{c}, loop.Wall{}
		if err := l.Run(context.Background(), began.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{0, 10 * time.Second, 40 * time.Second, 50 * time.Second}
		if len(at) != len(want) {
			t.Fatalf("decided at %v, want %v", at, want)
		}
		for i := range want {
			if at[i] != want[i] {
				t.Errorf("decided at %v, want %v", at, want)
			}
		}
		if got := time.Since(began); got != time.Minute {
			t.Errorf("ended after %v", got)
		}
	})
}

func TestWallClockEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		began := time.Now()
		err := loop.Wall{}.WaitUntil(ctx, began.Add(time.Hour))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
