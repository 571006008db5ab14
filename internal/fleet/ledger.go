package fleet

import (
	"maps"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// Ledger counts each experience once, however often it was sent or read. It is part of
// the teacher's checkpoint.
type Ledger struct {
	StreamCreated    time.Time                `json:"stream_made"`  // when the stream was created that sequences refer to
	Last             uint64                   `json:"last"`         // sequence up to which everything is counted
	Counted          uint64                   `json:"counted"`      // experiences
	Repeated         uint64                   `json:"again"`        // that had been counted before
	Foreign          uint64                   `json:"foreign"`      // of unknown services, not counted
	Marks            map[string]drpc.Position `json:"marks"`        // by service
	Snapshots        uint64                   `json:"scenes"`       // of the whole application
	SnapshotsCounted drpc.Position            `json:"witness"`      // up to which they are counted
	Version          uint64                   `json:"version"`      // of the weights that were published last
	Digest           string                   `json:"weights_hash"` // of their parameters, to detect new ones
}

// UseStream sets the stream that sequences refer to. Another stream starts at sequence 0;
// the counts per student stay.
func (l *Ledger) UseStream(made time.Time) {
	if !l.StreamCreated.Equal(made) {
		l.StreamCreated, l.Last = made, 0
	}
}

// Count reports whether a delivery is counted for the first time. The sequence detects
// what was read again; the student's own number detects what was sent again after the
// server dropped its id.
func (l *Ledger) Count(d *drpc.Delivery) bool {
	if d.Sequence <= l.Last {
		l.Repeated++
		return false
	}
	l.Last = d.Sequence
	if s := d.Snapshot; s != nil {
		if !l.SnapshotsCounted.Advance(s.Epoch, s.Sequence) {
			l.Repeated++
			return false
		}
		l.Snapshots++
		return true
	}
	mark := l.Marks[d.Service]
	if !mark.Advance(d.Epoch, d.Experience.Sequence) {
		l.Repeated++
		return false
	}
	if l.Marks == nil {
		l.Marks = map[string]drpc.Position{}
	}
	l.Marks[d.Service] = mark
	l.Counted++
	return true
}

// Skip passes over a message that is not counted.
func (l *Ledger) Skip(sequence uint64) {
	if sequence > l.Last {
		l.Last = sequence
		l.Foreign++
	}
}

// Forget the positions of all but some services; nil = of none. Names of services that are gone, or never
// were, must not stay in every checkpoint.
func (l *Ledger) Forget(but []string) {
	if but != nil {
		maps.DeleteFunc(l.Marks, func(service string, _ drpc.Position) bool { return !slices.Contains(but, service) })
	}
}

// clone has marks of its own.
func (l *Ledger) clone() Ledger {
	c := *l
	c.Marks = maps.Clone(l.Marks)
	return c
}
