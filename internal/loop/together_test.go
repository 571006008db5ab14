package loop_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/loop"
)

// together runs joined loops until an instant, and ends them.
func together(ctx context.Context, until time.Time, loops []*loop.Loop, others ...loop.Periodic) error {
	j, err := loop.Join(loops, others...)
	if err != nil {
		return err
	}
	defer j.End()
	return j.Until(ctx, until)
}

// Two loops with one clock act as each alone: at their own periods, after their own delays, and one
// that cannot observe does not hold the other.
func TestLoopsTogetherActAsAlone(t *testing.T) {
	quick := fakePolicy{loadline.Needs{Period: 5 * time.Second, Delay: 7 * time.Second}, oneMore}
	slow := fakePolicy{loadline.Needs{Period: 10 * time.Second, Delay: time.Second}, oneMore}
	for _, blind := range []bool{false, true} {
		a, aCluster, aRecords := newLoop(quick)
		b, bCluster, bRecords := newLoop(slow)
		b.Clock = aCluster
		if blind {
			aCluster.observeErr = errors.New("connection refused")
		}
		var ticks []time.Duration
		err := together(context.Background(), start.Add(31*time.Second), []*loop.Loop{a, b}, loop.Periodic{Every: 10 * time.Second,
			Do: func(_ context.Context, now time.Time) error {
				ticks = append(ticks, now.Sub(start))
				bCluster.now = now
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		alone, aloneCluster, aloneRecords := newLoop(quick)
		aloneCluster.observeErr = aCluster.observeErr
		run(t, alone, 31*time.Second)
		if got, want := strings.Join(aCluster.applied, " "), strings.Join(aloneCluster.applied, " "); got != want {
			t.Errorf("applied at %s, alone at %s", got, want)
		}
		if len(*aRecords) != len(*aloneRecords) {
			t.Errorf("%d decisions, alone %d", len(*aRecords), len(*aloneRecords))
		}
		var decided []time.Duration
		for _, d := range *bRecords {
			decided = append(decided, d.Applied.Sub(start))
		}
		if want := []time.Duration{1 * time.Second, 11 * time.Second}; !slices.Equal(decided[:2], want) || len(*bRecords) != 4 {
			t.Errorf("the other was applied at %v, want %v first", decided, want)
		}
		if want := []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second}; !slices.Equal(ticks, want) {
			t.Errorf("ticks at %v, want %v", ticks, want)
		}
	}
}

func TestTogetherEndsWithAnError(t *testing.T) {
	l, _, _ := newLoop(fakePolicy{loadline.Needs{Period: time.Second}, oneMore})
	full := errors.New("full")
	err := together(context.Background(), start.Add(time.Minute), []*loop.Loop{l}, loop.Periodic{Every: time.Second,
		Do: func(context.Context, time.Time) error { return full }})
	if !errors.Is(err, full) {
		t.Error(err)
	}
	l, _, _ = newLoop(fakePolicy{})
	if err := together(context.Background(), start.Add(time.Minute), []*loop.Loop{l}); err == nil {
		t.Error("a policy without a period ran")
	}
}
