package drpc

import (
	"fmt"
	"sync"
)

// InProcess is a transport within one process: ordered and deterministic. It behaves like a
// durable stream of bounded size, and is safe for concurrent use.
type InProcess struct {
	Most int // maximum number of experiences

	lock    sync.Mutex
	queue   []Delivery
	last    uint64            // last sequence assigned
	acked   uint64            // sequence acknowledged
	known   map[string]uint64 // ids of the messages in the queue
	weights map[string]Weights

	messages, bytes uint64
}

// NewInProcess makes a transport for at most this many experiences.
func NewInProcess(most int) *InProcess {
	return &InProcess{Most: max(most, 1), known: map[string]uint64{}, weights: map[string]Weights{}}
}

// Publish implements Uplink.
func (t *InProcess) Publish(e Experience) (Receipt, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	id := e.ID()
	if sequence, there := t.known[id]; there {
		return Receipt{sequence, true}, nil
	}
	if len(t.queue) >= t.Most {
		return Receipt{}, fmt.Errorf("experience %s: %w", id, ErrFull)
	}
	t.last++
	t.queue = append(t.queue, Delivery{Sequence: t.last, Experience: e})
	t.known[id] = t.last
	t.messages++
	t.bytes += uint64(experienceBytes + len(e.Service))
	return Receipt{Sequence: t.last}, nil
}

// Fetch implements Inbox.
func (t *InProcess) Fetch(most int) ([]Delivery, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	return append([]Delivery(nil), t.queue[:min(most, len(t.queue))]...), nil
}

// Ack implements Inbox.
func (t *InProcess) Ack(sequence uint64) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if sequence > t.last {
		return fmt.Errorf("drpc: sequence %d is acknowledged, the last that was given is %d", sequence, t.last)
	}
	n := 0
	for n < len(t.queue) && t.queue[n].Sequence <= sequence {
		delete(t.known, t.queue[n].ID())
		n++
	}
	t.queue = append(t.queue[:0], t.queue[n:]...)
	t.acked = max(t.acked, sequence)
	return nil
}

// Put implements Shelf.
func (t *InProcess) Put(w Weights) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if there, ok := t.weights[w.Service]; ok && there.Version >= w.Version {
		return fmt.Errorf("weights %d of %s: there are %d already: %w", w.Version, w.Service, there.Version, ErrOutdate)
	}
	w.Data = append([]byte(nil), w.Data...)
	t.weights[w.Service] = w
	t.bytes += uint64(len(w.Data) + len(w.Checksum) + 8 + len(w.Service))
	return nil
}

// Latest implements Shelf.
func (t *InProcess) Latest(service string) (Weights, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	w, ok := t.weights[service]
	if !ok {
		return Weights{}, fmt.Errorf("%s: %w", service, ErrNone)
	}
	w.Data = append([]byte(nil), w.Data...)
	return w, nil
}

// Carried is the number of experiences and bytes sent, published weights included in the bytes.
func (t *InProcess) Carried() (messages, bytes uint64) {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.messages, t.bytes
}
