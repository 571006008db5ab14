package prom

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// DefaultBudget is the memory that the answers of all servers of a process may take.
const DefaultBudget = 128 << 20

// What a request is charged beyond what is kept of its answer: one that is read as it arrives has one
// series and buffers, one that is decoded as a whole takes several times its size.
const (
	streamedCharge = 1 << 20
	bufferedCharge = 4 << 20
	bufferedAnswer = 256 << 10 // size limit of such an answer
)

// ErrBudget means that answers take more memory than they may.
var ErrBudget = errors.New("too much memory")

// Budget bounds the memory that answers take, of all clients that share it: one LoadLine's server,
// which may be any server, must not end a process that runs others. It is safe for concurrent use.
type Budget struct {
	total int64

	mu    sync.Mutex
	free  int64
	queue []*waiter // requests, first come, first served
}

type waiter struct {
	bytes int64
	ready chan struct{}
}

// NewBudget of a process, in bytes. It is at least enough for four holders of one request each.
func NewBudget(bytes int64) *Budget {
	bytes = max(bytes, 4*bufferedCharge)
	return &Budget{total: bytes, free: bytes}
}

// acquire waits until a request may be made. A nil budget has no bound.
func (b *Budget) acquire(ctx context.Context, bytes int64) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	if len(b.queue) == 0 && b.free >= bytes {
		b.free -= bytes
		b.mu.Unlock()
		return nil
	}
	w := &waiter{bytes, make(chan struct{})}
	b.queue = append(b.queue, w)
	b.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.queue {
		if other == w {
			b.queue = append(b.queue[:i], b.queue[i+1:]...)
			b.admit()
			return fmt.Errorf("%w: the answers of all LoadLines of this process take %d MB, so that no other was asked for in time: %w",
				ErrBudget, b.total>>20, ctx.Err())
		}
	}
	b.free += bytes // it was admitted at the same moment
	b.admit()
	return ctx.Err()
}

// take memory for what is kept of an answer. It does not wait, since requests that wait for each other
// would do so for ever.
func (b *Budget) take(bytes int64) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free < bytes {
		return false
	}
	b.free -= bytes
	return true
}

func (b *Budget) release(bytes int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += bytes
	b.admit()
}

// admit the first in the queue. The caller holds the lock.
func (b *Budget) admit() {
	for len(b.queue) > 0 && b.free >= b.queue[0].bytes {
		w := b.queue[0]
		b.free -= w.bytes
		b.queue = b.queue[1:]
		close(w.ready)
	}
}

// Free is what is not taken.
func (b *Budget) Free() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free
}

// share of the budget for one holder: a quarter, so that no LoadLine takes all.
func (b *Budget) share() int64 { return b.total / 4 }

// Keep is the memory of what is kept of the answers of one observation. It is safe for concurrent use.
type Keep struct {
	budget *Budget
	limit  int64

	mu          sync.Mutex
	taken, used int64 // of the budget; of that
}

// keepStep is what a Keep takes of the budget at once: all applications share its lock.
const keepStep = 16 << 10

// Keep begins an observation. Release ends it.
func (c *Client) Keep() *Keep {
	k := &Keep{budget: c.budget, limit: DefaultBudget}
	if c.budget != nil {
		k.limit = c.budget.share()
	}
	return k
}

// Take adds to it, or returns an error that wraps ErrBudget.
func (k *Keep) Take(bytes int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.used+int64(bytes) > k.limit {
		return fmt.Errorf("%w: the answers for this application take more than %d MB: aggregate by service, or by pod, in the queries "+
			"of the preset (spec.prometheus.queries)", ErrBudget, k.limit>>20)
	}
	if more := k.used + int64(bytes) - k.taken; more > 0 {
		step := max(more, min(keepStep, k.limit-k.taken))
		if !k.budget.take(step) {
			return fmt.Errorf("%w: the answers of all LoadLines of this process take more than %d MB: raise loadline run "+
				"--answer-memory, or find the LoadLine whose answers are that large", ErrBudget, k.budget.total>>20)
		}
		k.taken += step
	}
	k.used += int64(bytes)
	return nil
}

// Release all that was taken.
func (k *Keep) Release() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.budget.release(k.taken)
	k.taken, k.used = 0, 0
}

type streamedKey struct{}

// streamed marks a request whose answer is read as it arrives.
func streamed(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamedKey{}, true)
}

func isStreamed(ctx context.Context) bool { return ctx.Value(streamedKey{}) != nil }
