package drpc

import (
	"errors"
	"time"
)

// Outbox is a student's side of the stream: it numbers experiences and keeps what
// was not acknowledged, in order, until it is.
type Outbox struct {
	Service string
	Epoch   uint64
	Most    int // kept at most; beyond it the oldest, which nobody has acknowledged, is let go
	Lost    int // let go so far

	next    uint64
	waiting []Experience
}

// Add numbers and keeps an experience.
func (o *Outbox) Add(at time.Time, version uint64, local *Local, done Action) {
	o.next++
	o.waiting = append(o.waiting, Experience{
		Service: o.Service, Sequence: o.next, Epoch: o.Epoch, Version: version, At: at, Local: *local, Action: done,
	})
	if over := len(o.waiting) - max(o.Most, 1); over > 0 {
		o.waiting = append(o.waiting[:0], o.waiting[over:]...)
		o.Lost += over
	}
}

// Waiting is how many were not acknowledged.
func (o *Outbox) Waiting() int { return len(o.waiting) }

// Flush sends what waits, the oldest first, until the stream is full. That is no
// error: the rest waits for the next time. Deciding never waits for it.
func (o *Outbox) Flush(up Uplink) error {
	sent := 0
	defer func() { o.waiting = append(o.waiting[:0], o.waiting[sent:]...) }()
	for i := range o.waiting {
		if _, err := up.Publish(o.waiting[i]); err != nil {
			if errors.Is(err, ErrFull) {
				return nil
			}
			return err
		}
		sent++
	}
	return nil
}
