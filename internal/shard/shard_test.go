package shard

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestParse(t *testing.T) {
	for _, row := range []struct {
		text, index string
		want        Part
		fault       string
	}{
		{"1/1", "", Part{0, 1}, ""},
		{"2/4", "", Part{1, 4}, ""},
		{"index/4", "3", Part{3, 4}, ""},
		{"index/4", "4", Part{}, "must be from 0 to 3"},
		{"index/4", "", Part{}, "JOB_COMPLETION_INDEX"},
		{"0/4", "", Part{}, "from 1 to 4"},
		{"5/4", "", Part{}, "from 1 to 4"},
		{"3", "", Part{}, "must be I/N"},
		{"1/0", "", Part{}, "must be I/N"},
		{"1/1001", "", Part{}, "must be I/N"},
	} {
		got, err := Parse(row.text, row.index)
		if got != row.want || (row.fault == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), row.fault) {
			t.Errorf("%q with index %q: %v, %v", row.text, row.index, got, err)
		}
	}
}

func TestOrderBeginsAtThePart(t *testing.T) {
	for _, row := range []struct {
		part Part
		want []int
	}{
		{Part{}, []int{0, 1, 2, 3, 4}}, {Part{0, 2}, []int{0, 1, 2, 3, 4}}, {Part{1, 2}, []int{2, 3, 4, 0, 1}},
		{Part{9, 10}, []int{4, 0, 1, 2, 3}},
	} {
		if got := row.part.Order(5); !slices.Equal(got, row.want) {
			t.Errorf("%v: %v", row.part, got)
		}
	}
	if got := (Part{1, 2}).Order(0); len(got) != 0 {
		t.Error(got)
	}
}

func TestClaimsAreExclusive(t *testing.T) {
	c, err := OpenClaims(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	done, err := c.Claim("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Claim("a"); !errors.Is(err, ErrLater) {
		t.Errorf("a claimed unit: %v", err)
	}
	done()
	if done, err = c.Claim("a"); err != nil {
		t.Fatalf("a released unit: %v", err)
	}
	done()
	var none *Claims
	if done, err := none.Claim("a"); err != nil || done == nil {
		t.Error(err)
	}
}

// TestRunWaitsForWhatAUnitNeeds: units that need another one are tried again when it has ended, on any
// number of workers.
func TestRunWaitsForWhatAUnitNeeds(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		var mu sync.Mutex
		var made []int
		err := Run(t.Context(), Work{Workers: workers, Order: []int{5, 4, 3, 2, 1, 0}, Do: func(_ context.Context, unit int) error {
			mu.Lock()
			defer mu.Unlock()
			if unit > 0 && !slices.Contains(made, unit-1) {
				return ErrLater
			}
			made = append(made, unit)
			return nil
		}})
		if err != nil || !slices.Equal(made, []int{0, 1, 2, 3, 4, 5}) {
			t.Errorf("%d workers: %v, %v", workers, made, err)
		}
	}
}

func TestRunPollsForOtherProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		err := Run(t.Context(), Work{Workers: 1, Order: []int{0}, Poll: Poll, Do: func(context.Context, int) error {
			if tries++; tries < 4 {
				return ErrLater
			}
			return nil
		}})
		if err != nil || tries != 4 {
			t.Errorf("%d tries, %v", tries, err)
		}
	})
}

func TestRunStops(t *testing.T) {
	broken := errors.New("broken")
	made := 0
	err := Run(t.Context(), Work{Workers: 1, Order: []int{0, 1, 2}, Do: func(_ context.Context, unit int) error {
		made++
		return broken
	}})
	if !errors.Is(err, broken) || made != 1 {
		t.Errorf("at an error: %d units, %v", made, err)
	}
	err = Run(t.Context(), Work{Workers: 3, Order: []int{0, 1}, Do: func(context.Context, int) error { return ErrLater }})
	if !errors.Is(err, errStuck) {
		t.Errorf("units that wait for each other: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		err := Run(ctx, Work{Workers: 2, Order: []int{0, 1}, Poll: Poll, Do: func(context.Context, int) error { return ErrLater }})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("at the end of the context: %v", err)
		}
	})
	if err := Run(t.Context(), Work{}); err != nil {
		t.Errorf("without units: %v", err)
	}
}
