package event

import "github.com/loadline/loadline/internal/sim"

// entry is a future event. Ties in time are broken by the order of scheduling, so that a run
// does not depend on the heap's layout.
type entry struct {
	at   int64 // nanoseconds
	seq  uint64
	id   int32
	kind kind
}

type kind int32

const (
	// Timers, at most one for each id; they are moved.
	cpuTimer  kind = iota // id: slot of a replica
	nodeTimer             // id: node; of its neighbours
	timers

	arrival     // id: kind of request
	rateOver    // id: kind of request; its rate is known up to now
	waitOver    // id: visit
	giveUp      // id: index into Engine.deadlines; at most one each
	backoffOver // id: visit
	thinkOver   // id: user
)

const never = int64(sim.Never)

func (a *entry) before(b *entry) bool {
	return a.at < b.at || (a.at == b.at && a.seq < b.seq)
}

// queue is a four-ary heap of entries: shallower than a binary one, and the four children share
// two cache lines. The position of each timer is kept, so that timers are moved instead of leaving
// cancelled entries in the heap.
type queue struct {
	heap []entry
	seq  uint64
	pos  [timers][]int32 // by id: index into heap, -1 = no timer
}

// grow makes room for the timers of n ids.
func (q *queue) grow(k kind, n int) {
	for len(q.pos[k]) < n {
		q.pos[k] = append(q.pos[k], -1)
	}
}

func (q *queue) push(at int64, k kind, id int32) {
	q.seq++
	q.heap = append(q.heap, entry{at: at, seq: q.seq, id: id, kind: k})
	q.up(len(q.heap) - 1)
}

// set moves, makes or (at = never) removes a timer.
func (q *queue) set(k kind, id int32, at int64) {
	i := q.pos[k][id]
	if i < 0 {
		if at != never {
			q.push(at, k, id)
		}
		return
	}
	if at == never {
		q.remove(int(i))
		return
	}
	e := &q.heap[i]
	if e.at == at {
		return
	}
	q.seq++
	earlier := at < e.at
	e.at, e.seq = at, q.seq
	if earlier {
		q.up(int(i))
	} else {
		q.down(int(i))
	}
}

func (q *queue) pop() {
	q.remove(0)
}

func (q *queue) remove(i int) {
	if e := &q.heap[i]; e.kind < timers {
		q.pos[e.kind][e.id] = -1
	}
	last := len(q.heap) - 1
	moved := q.heap[last]
	q.heap = q.heap[:last]
	if i == last {
		return
	}
	q.heap[i] = moved
	if i > 0 && moved.before(&q.heap[(i-1)>>2]) {
		q.up(i)
	} else {
		q.down(i)
	}
}

func (q *queue) up(i int) {
	e := q.heap[i]
	for i > 0 {
		p := (i - 1) >> 2
		if !e.before(&q.heap[p]) {
			break
		}
		q.put(i, q.heap[p])
		i = p
	}
	q.put(i, e)
}

func (q *queue) down(i int) {
	e := q.heap[i]
	n := len(q.heap)
	for {
		first := i<<2 + 1
		if first >= n {
			break
		}
		best := first
		for c := first + 1; c < min(first+4, n); c++ {
			if q.heap[c].before(&q.heap[best]) {
				best = c
			}
		}
		if !q.heap[best].before(&e) {
			break
		}
		q.put(i, q.heap[best])
		i = best
	}
	q.put(i, e)
}

func (q *queue) put(i int, e entry) {
	q.heap[i] = e
	if e.kind < timers {
		q.pos[e.kind][e.id] = int32(i)
	}
}
