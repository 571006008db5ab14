package shard

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
)

// ErrLater is returned by a unit that cannot be done yet: it needs another one, or another process is
// doing it.
var ErrLater = errors.New("to be done later")

// errStuck: all units that are left wait for each other.
var errStuck = errors.New("every unit of work waits for another one")

// Poll is how often a process looks for what others have done.
const Poll = time.Second

// Work is what Run does.
type Work struct {
	Workers int   // at once
	Order   []int // units, each once
	// Poll: units can become possible without one of this process having ended; 0 = they cannot.
	Poll time.Duration
	Do   func(ctx context.Context, unit int) error
}

// turns are the units of one call of Run.
type turns struct {
	mu      sync.Mutex
	changed *sync.Cond
	ready   []int // to be tried
	later   []int // tried since the last change
	running int
	poll    bool
	err     error
}

// Run does all units. One that returns ErrLater is tried again when another one has ended, or after
// Poll. The first error stops the rest; units in progress end by their context.
func Run(ctx context.Context, w Work) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t := &turns{ready: append([]int{}, w.Order...), poll: w.Poll > 0}
	t.changed = sync.NewCond(&t.mu)
	defer context.AfterFunc(ctx, t.wake)()
	if t.poll {
		tick := time.NewTicker(w.Poll)
		defer tick.Stop()
		go func() {
			for {
				select {
				case <-tick.C:
					t.wake()
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	var group sync.WaitGroup
	for range min(max(w.Workers, 1), max(len(w.Order), 1)) {
		group.Go(func() {
			// Decisions are timed by the thread's CPU clock.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for {
				unit, found := t.next(ctx)
				if !found {
					return
				}
				err := w.Do(ctx, unit)
				if t.ended(unit, err); err != nil && !errors.Is(err, ErrLater) {
					stop(err)
				}
			}
		})
	}
	group.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return t.err
}

// next unit; none = all are done, or the work is stopped.
func (t *turns) next(ctx context.Context) (unit int, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		switch {
		case ctx.Err() != nil || t.err != nil:
			return 0, false
		case len(t.ready) > 0:
			unit, t.ready = t.ready[0], t.ready[1:]
			t.running++
			return unit, true
		case t.running == 0 && len(t.later) == 0:
			return 0, false
		case t.running == 0 && !t.poll:
			t.err = errStuck
			t.changed.Broadcast()
			return 0, false
		}
		t.changed.Wait()
	}
}

// ended is called with the unit's error.
func (t *turns) ended(unit int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	if errors.Is(err, ErrLater) {
		t.later = append(t.later, unit)
	} else {
		t.again()
	}
	t.changed.Broadcast()
}

// wake all workers: something may be possible now.
func (t *turns) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.again()
	t.changed.Broadcast()
}

func (t *turns) again() {
	t.ready = append(t.ready, t.later...)
	t.later = nil
}
