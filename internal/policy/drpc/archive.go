package drpc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/rl"
)

// All state of a training can be saved and restored: see rl.Archive. What the constructors set
// is not included.

// Archive saves or restores the student with its examples.
func (s *Student) Archive(a *rl.Archive) {
	mode := int(s.Mode)
	a.Int(&mode)
	s.Mode = Mode(mode)
	a.Uint64(&s.version)
	s.learner.Archive(a)
}

// Archive saves or restores the counts.
func (s *VisitCounts) Archive(a *rl.Archive) {
	table := s.Table()
	a.Some(&table)
	if a.Restoring() && a.Err() == nil {
		s.counts = VisitCountsFrom(table).counts
	}
}

// Archive saves or restores the shares.
func (m *Mix) Archive(a *rl.Archive) {
	n := len(*m)
	a.Int(&n)
	if a.Restoring() && a.Err() == nil {
		if n < 0 || n > 1<<16 {
			a.Fail(fmt.Errorf("drpc: the saved mix is of %d kinds", n))
			return
		}
		*m = nil
		if n > 0 {
			*m = make(Mix, n)
		}
	}
	for k := range *m {
		a.Float(&(*m)[k])
	}
}

// Archive saves or restores the recent values.
func (n *Notifier) Archive(a *rl.Archive) {
	a.Label(fmt.Sprintf("a notifier with %+v", n.config))
	a.Int(&n.iter)
	for i := range n.rings {
		for j := range n.rings[i] {
			a.Float(&n.rings[i][j])
		}
	}
}

// Archive saves or restores what was counted and not taken yet.
func (c *Collector) Archive(a *rl.Archive) {
	a.Uint64(&c.Last)
	a.Int(&c.Counted)
	a.Int(&c.Foreign)
	for i := range c.seen {
		a.Uint64(&c.seen[i].Epoch)
		a.Uint64(&c.seen[i].Sequence)
	}
	a.Floats(c.actions)
}

// Archive saves or restores the stream and the weights. No message may be unacknowledged.
func (t *InProcess) Archive(a *rl.Archive) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if len(t.queue) > 0 {
		a.Fail(errors.New("drpc: the stream holds messages that are not acknowledged"))
	}
	a.Uint64(&t.last)
	a.Uint64(&t.acked)
	a.Uint64(&t.messages)
	a.Uint64(&t.bytes)
	names := slices.Sorted(maps.Keys(t.weights))
	n := len(names)
	a.Int(&n)
	for i := 0; i < n && a.Err() == nil; i++ {
		var w Weights
		if !a.Restoring() {
			w = t.weights[names[i]]
		}
		archiveText(a, &w.Service)
		a.Uint64(&w.Version)
		a.Bytes(&w.Data)
		if a.Restoring() {
			w.Checksum = w.sum()
			t.weights[w.Service] = w
		}
	}
}

// Archive saves or restores the queues.
func (j *Join) Archive(a *rl.Archive) {
	a.Label(fmt.Sprintf("scenes and decisions of %q every %v", j.services, j.period))
	a.Uint64(&j.Late)
	a.Uint64(&j.Incomplete)
	a.Uint64(&j.Broken)
	archiveText(a, &j.Silent)
	a.Uint64(&j.messages)
	for i := range j.progress {
		h := &j.progress[i]
		a.Uint64(&h.epoch)
		a.Uint64(&h.sequence)
		archiveTime(a, &h.at)
		a.Uint64(&h.message)
	}
	for i, n := 0, archiveCount(a, &j.gaps); i < n && a.Err() == nil; i++ {
		a.Int(&j.gaps[i].service)
		archiveTime(a, &j.gaps[i].from)
		archiveTime(a, &j.gaps[i].to)
		j.isService(a, j.gaps[i].service)
	}
	for i, n := 0, archiveCount(a, &j.snapshots); i < n && a.Err() == nil; i++ {
		data, err := j.snapshots[i].AppendBinary(nil)
		if !a.Restoring() {
			a.Fail(err)
		}
		a.Bytes(&data)
		if a.Restoring() && a.Err() == nil {
			a.Fail(j.snapshots[i].UnmarshalBinary(data))
		}
	}
	for i, n := 0, archiveCount(a, &j.decisions); i < n && a.Err() == nil; i++ {
		d := &j.decisions[i]
		a.Int(&d.service)
		archiveTime(a, &d.at)
		a.Floats(d.action[:])
		j.isService(a, d.service)
	}
}

func (j *Join) isService(a *rl.Archive, service int) {
	if service < 0 || service >= len(j.services) {
		a.Fail(fmt.Errorf("drpc: a saved decision is of service %d, there are %d", service, len(j.services)))
	}
}

// archiveCount is the length of the list that follows; it is allocated when restoring.
func archiveCount[T any](a *rl.Archive, list *[]T) int {
	n := len(*list)
	a.Int(&n)
	if a.Restoring() && a.Err() == nil {
		if n < 0 || n > 1<<20 {
			a.Fail(fmt.Errorf("drpc: a saved list is %d long", n))
			return 0
		}
		*list = make([]T, n)
	}
	return n
}

func archiveText(a *rl.Archive, text *string) {
	b := []byte(*text)
	a.Bytes(&b)
	*text = string(b)
}

// archiveTime keeps an instant to the nanosecond; the zero time stays zero.
func archiveTime(a *rl.Archive, t *time.Time) {
	known := !t.IsZero()
	nanos := uint64(t.UnixNano())
	a.Bool(&known)
	a.Uint64(&nanos)
	if !a.Restoring() {
		return
	}
	if *t = (time.Time{}); known {
		*t = time.Unix(0, int64(nanos)).UTC()
	}
}
