package fleet

import (
	"time"

	"github.com/loadline/loadline/internal/drpc"
)

// Ledger counts each experience once, however often it was sent or read. It is
// everything that a teacher must not forget, and is kept in its checkpoint.
type Ledger struct {
	Made    time.Time       `json:"stream_made"`  // sequences are of the stream that was made then
	Last    uint64          `json:"last"`         // sequence up to which everything is counted
	Counted uint64          `json:"counted"`      // experiences
	Again   uint64          `json:"again"`        // that had been counted before
	Marks   map[string]Mark `json:"marks"`        // by service
	Version uint64          `json:"version"`      // of the weights that were published last
	Digest  string          `json:"weights_hash"` // of their parameters, to know whether others are new
}

// Mark is how far a student has been counted.
type Mark struct {
	Epoch    uint64 `json:"epoch"`
	Sequence uint64 `json:"sequence"`
}

// Attend says which stream sequences are of from now on. In another stream they
// begin anew; what students have been counted for stays.
func (l *Ledger) Attend(made time.Time) {
	if !l.Made.Equal(made) {
		l.Made, l.Last = made, 0
	}
}

// Count says whether this is the first time. The sequence tells what was read
// again, the student's own number what was sent again after the server had
// forgotten its id.
func (l *Ledger) Count(d *drpc.Delivery) bool {
	if d.Sequence <= l.Last {
		l.Again++
		return false
	}
	l.Last = d.Sequence
	m := l.Marks[d.Service]
	if d.Epoch < m.Epoch || d.Epoch == m.Epoch && d.Experience.Sequence <= m.Sequence {
		l.Again++
		return false
	}
	if l.Marks == nil {
		l.Marks = map[string]Mark{}
	}
	l.Marks[d.Service] = Mark{d.Epoch, d.Experience.Sequence}
	l.Counted++
	return true
}
