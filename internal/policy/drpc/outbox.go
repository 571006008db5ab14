package drpc

import (
	"errors"
	"fmt"
	"time"
)

// Message is what is published to the stream: an Experience or a Snapshot.
type Message interface {
	ID() string
	AppendBinary([]byte) ([]byte, error)
}

// Outbox is the queue of one publisher of messages: it numbers a student's experience
// and keeps every message, in order, until it is acknowledged. At most one message is
// in flight, since the teacher identifies repeated experience by its rising numbers.
type Outbox struct {
	Service string
	Epoch   uint64
	Most    int // messages kept; above it the oldest unacknowledged message is dropped
	Lost    int // messages dropped so far

	last     uint64
	waiting  []Message
	inFlight bool // the first of waiting
}

// Add numbers and keeps an experience.
func (o *Outbox) Add(at time.Time, version uint64, local *Local, done Action) {
	o.last++
	o.Put(&Experience{Service: o.Service, Sequence: o.last, Epoch: o.Epoch, Version: version, At: at, Local: *local, Action: done})
}

// Put keeps a message that is numbered already.
func (o *Outbox) Put(m Message) {
	o.waiting = append(o.waiting, m)
	for len(o.waiting) > max(o.Most, 1) {
		if o.inFlight { // the first may be acknowledged at any moment: drop the second
			if len(o.waiting) == 2 {
				return
			}
			o.waiting[1] = o.waiting[0]
		}
		o.waiting = o.waiting[1:]
		o.Lost++
	}
}

// Waiting is the number of messages that are not acknowledged.
func (o *Outbox) Waiting() int { return len(o.waiting) }

// Send returns the first message and marks it as in flight; nil if none waits. Done
// must follow.
func (o *Outbox) Send() Message {
	if len(o.waiting) == 0 {
		return nil
	}
	o.inFlight = true
	return o.waiting[0]
}

// Done ends the flight of the first message: it leaves the queue, or stays to be sent
// again.
func (o *Outbox) Done(leaves bool) {
	o.inFlight = false
	if leaves {
		o.waiting[0] = nil
		o.waiting = o.waiting[1:]
	}
}

// Flush publishes the waiting experience, oldest first, until the stream is full. A
// full stream is not an error: the rest waits for the next call.
func (o *Outbox) Flush(up Uplink) error {
	for m := o.Send(); m != nil; m = o.Send() {
		e, ok := m.(*Experience)
		if !ok {
			o.Done(false)
			return fmt.Errorf("drpc: message %s of %s is no experience", m.ID(), o.Service)
		}
		_, err := up.Publish(*e)
		o.Done(err == nil)
		if errors.Is(err, ErrFull) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
