package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// Publisher takes decisions off the hands of those who decide, and sees them to the
// stream. It keeps what was not acknowledged, each service's in order: of each
// service one decision at a time is under way, since a teacher counts a student's
// decisions by their rising numbers, and of all services together so many as may
// be in flight.
type Publisher struct {
	link  *Link
	epoch uint64
	limit  int

	lock  sync.Mutex
	queues []queue
	first  int           // box to begin with, so that all come to their turn
	wake  chan struct{} // of one: there is something
	empty chan struct{} // closed when nothing waits; nil = nobody wants to know
}

// queue is what one student has done.
type queue struct {
	service string // whose decisions these are; empty = scenes
	subject string
	last    uint64
	waiting []message
	inFlight  bool // the first is under way
	lost    int
}

// NewPublisher is for the students of a process, who are told apart from those of
// the process before by the epoch: it must rise. Of each service it keeps so many
// decisions at most; beyond them the oldest, which nobody has acknowledged, is let
// go. Run sets it to work.
func (l *Link) NewPublisher(services []string, epoch uint64, most int) *Publisher {
	c := &Publisher{link: l, epoch: epoch, limit: max(most, 2), queues: make([]queue, len(services)), wake: make(chan struct{}, 1)}
	for i, s := range services {
		c.queues[i].service, c.queues[i].subject = s, l.subject(s)
	}
	return c
}

// Add numbers a decision and keeps it. It never waits.
func (c *Publisher) Add(service int, at time.Time, version uint64, local *drpc.Local, done drpc.Action) {
	c.put(service, func(b *queue) message {
		b.last++
		return &drpc.Experience{
			Service: b.service, Sequence: b.last, Epoch: c.epoch, Version: version, At: at, Local: *local, Action: done,
		}
	})
}

// put keeps a letter in a box.
func (c *Publisher) put(in int, write func(*queue) message) {
	c.lock.Lock()
	b := &c.queues[in]
	b.waiting = append(b.waiting, write(b))
	if len(b.waiting) > c.limit {
		if b.inFlight { // the first may be acknowledged any moment: the second goes
			b.waiting[1] = b.waiting[0]
		}
		b.waiting = b.waiting[1:]
		b.lost++
	}
	c.lock.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Waiting decisions that were not acknowledged, and those that were let go.
func (c *Publisher) Waiting() (waiting, lost int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for i := range c.queues {
		waiting += len(c.queues[i].waiting)
		lost += c.queues[i].lost
	}
	return waiting, lost
}

// How long the courier stays away from servers that refuse or do not answer.
const (
	leastPause = 50 * time.Millisecond
	mostPause  = 5 * time.Second
)

// Run carries until the context is done.
func (c *Publisher) Run(ctx context.Context) {
	pause := leastPause
	for ctx.Err() == nil {
		back := c.link.reconnection()
		heads := c.next()
		if len(heads) == 0 {
			select {
			case <-ctx.Done():
			case <-c.wake:
			}
			continue
		}
		if c.sendAll(ctx, heads) {
			pause = leastPause
			continue
		}
		sleep(ctx, pause, back)
		pause = min(2*pause, mostPause)
	}
}

// queued is the first letter of a box.
type queued struct {
	queue     int
	subject string
	message  message
}

// next of the boxes in which something waits, as many as may be in flight.
func (c *Publisher) next() []queued {
	c.lock.Lock()
	defer c.lock.Unlock()
	var heads []queued
	for k := range c.queues {
		i := (c.first + k) % len(c.queues)
		if b := &c.queues[i]; len(b.waiting) > 0 && len(heads) < c.link.config.InFlight {
			b.inFlight = true
			heads = append(heads, queued{i, b.subject, b.waiting[0]})
		}
	}
	if len(heads) > 0 {
		c.first = (heads[len(heads)-1].queue + 1) % len(c.queues)
	}
	return heads
}

// sendAll sends heads and waits for their receipts. It says whether any is settled.
func (c *Publisher) sendAll(ctx context.Context, heads []queued) bool {
	under := make([]*sending, len(heads))
	for i := range heads {
		var err error
		if under[i], err = c.link.send(ctx, heads[i].subject, heads[i].message); err != nil {
			c.link.config.log().Debug("a decision cannot be sent and is kept", "error", err)
			break // nor can the others
		}
	}
	arrived := false
	for i, s := range under {
		var err error
		if s == nil {
			err = errNotSent
		} else if _, err = s.wait(ctx); errors.Is(err, errTooLong) {
			c.link.config.log().Warn("what was seen cannot be sent and is let go", "error", err)
		} else if err != nil {
			c.link.config.log().Debug("a decision was not acknowledged and is kept", "error", err)
		}
		c.settle(&heads[i], err)
		arrived = arrived || err == nil || errors.Is(err, errTooLong) // no use in waiting
	}
	return arrived
}

var errNotSent = errors.New("it was not sent")

// settle takes a letter that was acknowledged out of its box, and one that never will
// be.
func (c *Publisher) settle(h *queued, err error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	b := &c.queues[h.queue]
	b.inFlight = false
	if err == nil || errors.Is(err, errTooLong) {
		b.waiting = b.waiting[1:]
	}
	if errors.Is(err, errTooLong) {
		b.lost++
	}
	if c.empty != nil && c.isEmpty() {
		close(c.empty)
		c.empty = nil
	}
}

func (c *Publisher) isEmpty() bool {
	return !slices.ContainsFunc(c.queues, func(b queue) bool { return len(b.waiting) > 0 })
}

// Flush waits until everything is acknowledged, or the context is done, while Run
// is at work.
func (c *Publisher) Flush(ctx context.Context) error {
	c.lock.Lock()
	if c.isEmpty() {
		c.lock.Unlock()
		return nil
	}
	if c.empty == nil {
		c.empty = make(chan struct{})
	}
	empty := c.empty
	c.lock.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
