package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// Publisher sends the experience of the students of one process, and the snapshots of its
// AppObserver, to the stream. Adding a message never blocks. Messages stay queued, by service
// and in order, until the server has acknowledged them. One message of each service is in
// flight at a time, and Config.InFlight of all services together.
type Publisher struct {
	link *Link

	lock   sync.Mutex
	queues []queue
	first  int           // queue to begin with, so that all take turns
	wake   chan struct{} // capacity 1: something was added
	empty  chan struct{} // closed when nothing waits; nil = no flush is in progress
	err    error         // of the last attempt in which nothing was acknowledged
}

// queue holds the messages of one subject.
type queue struct {
	drpc.Outbox
	subject   string
	snapshots bool
}

// NewPublisher queues at most limit messages of each service; above it the oldest
// unacknowledged message is dropped and counted as lost. The epoch identifies this
// process and must be higher than that of the process before it. Run sends.
func (l *Link) NewPublisher(services []string, epoch uint64, limit int) *Publisher {
	p := &Publisher{link: l, wake: make(chan struct{}, 1)}
	for _, s := range services {
		p.queues = append(p.queues, queue{Outbox: drpc.Outbox{Service: s, Epoch: epoch, Most: max(limit, 2)}, subject: l.subject(s)})
	}
	return p
}

// addSnapshots adds a queue for snapshots and returns its index. It must be called before Run.
func (p *Publisher) addSnapshots() int {
	p.queues = append(p.queues, queue{Outbox: drpc.Outbox{Most: MaxUnacknowledged}, subject: p.link.snapshotSubject(), snapshots: true})
	return len(p.queues) - 1
}

// Add numbers and queues a decision.
func (p *Publisher) Add(service int, at time.Time, version uint64, local *drpc.Local, done drpc.Action) {
	p.lock.Lock()
	p.queues[service].Add(at, version, local, done)
	p.lock.Unlock()
	p.notify()
}

// put queues a message that is numbered already.
func (p *Publisher) put(in int, m drpc.Message) {
	p.lock.Lock()
	p.queues[in].Put(m)
	p.lock.Unlock()
	p.notify()
}

func (p *Publisher) notify() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Waiting is the number of decisions that are not acknowledged yet, and of those that
// were dropped.
func (p *Publisher) Waiting() (waiting, lost int) { return p.count(false) }

func (p *Publisher) count(snapshots bool) (waiting, lost int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	for i := range p.queues {
		if q := &p.queues[i]; q.snapshots == snapshots {
			waiting += q.Waiting()
			lost += q.Lost
		}
	}
	return waiting, lost
}

// Err is why the last attempt to send failed; nil if it succeeded.
func (p *Publisher) Err() error {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.err
}

// Pauses after an attempt in which nothing was acknowledged.
const (
	minPause = 50 * time.Millisecond
	maxPause = 5 * time.Second
)

// Run sends until the context is done.
func (p *Publisher) Run(ctx context.Context) {
	pause := minPause
	for ctx.Err() == nil {
		reconnection := p.link.reconnection()
		batch := p.next()
		if len(batch) == 0 {
			select {
			case <-ctx.Done():
			case <-p.wake:
			}
			continue
		}
		if p.sendAll(ctx, batch) {
			pause = minPause
			continue
		}
		sleep(ctx, pause, reconnection)
		pause = min(2*pause, maxPause)
	}
}

// queued is the first message of a queue.
type queued struct {
	queue   int
	subject string
	message drpc.Message
}

// next returns the first message of each queue, as many as may be in flight.
func (p *Publisher) next() []queued {
	p.lock.Lock()
	defer p.lock.Unlock()
	var batch []queued
	for k := range p.queues {
		i := (p.first + k) % len(p.queues)
		if q := &p.queues[i]; q.Waiting() > 0 && len(batch) < p.link.config.InFlight {
			batch = append(batch, queued{i, q.subject, q.Send()})
		}
	}
	if len(batch) > 0 {
		p.first = (batch[len(batch)-1].queue + 1) % len(p.queues)
	}
	return batch
}

// sendAll sends a batch and waits for the acknowledgements. It reports whether any
// message left its queue.
func (p *Publisher) sendAll(ctx context.Context, batch []queued) (progress bool) {
	sent := make([]*sending, len(batch))
	var failed error
	for i := range batch {
		var err error
		if sent[i], err = p.link.send(ctx, batch[i].subject, batch[i].message); err != nil {
			failed = err
			break // the others would fail too
		}
	}
	for i, s := range sent {
		err := errNotSent
		if s != nil {
			if _, err = s.wait(ctx); err != nil {
				failed = err
			}
		}
		if errors.Is(err, errTooLong) {
			p.link.config.log().Warn("message dropped: the stream does not accept its size", "error", err)
		}
		p.settle(&batch[i], err)
		progress = progress || err == nil || errors.Is(err, errTooLong) // waiting would not help
	}
	if ctx.Err() == nil {
		p.setErr(progress, failed)
	}
	return progress
}

var errNotSent = errors.New("not sent")

// setErr records an attempt. The first failure after a success is logged, unless the
// link has logged that the servers are unreachable.
func (p *Publisher) setErr(progress bool, err error) {
	if progress {
		err = nil
	}
	p.lock.Lock()
	changed := err != nil && p.err == nil
	p.err = err
	p.lock.Unlock()
	if changed && !errors.Is(err, nats.ErrDisconnected) {
		p.link.config.log().Warn("experience cannot be published: it is kept and sent again", "error", err)
	}
}

// settle removes a message that was acknowledged, or that never will be.
func (p *Publisher) settle(m *queued, err error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	q := &p.queues[m.queue]
	tooLong := errors.Is(err, errTooLong)
	q.Done(err == nil || tooLong)
	if tooLong {
		q.Lost++
	}
	if p.empty != nil && p.isEmpty() {
		close(p.empty)
		p.empty = nil
	}
}

func (p *Publisher) isEmpty() bool {
	return !slices.ContainsFunc(p.queues, func(q queue) bool { return q.Waiting() > 0 })
}

// Flush waits, while Run sends, until everything is acknowledged or the context is done.
func (p *Publisher) Flush(ctx context.Context) error {
	p.lock.Lock()
	if p.isEmpty() {
		p.lock.Unlock()
		return nil
	}
	if p.empty == nil {
		p.empty = make(chan struct{})
	}
	empty := p.empty
	p.lock.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
	}
	waiting, _ := p.count(false)
	snapshots, _ := p.count(true)
	if waiting+snapshots == 0 {
		return nil
	}
	return fmt.Errorf("%d decisions and %d snapshots are not acknowledged: %w", waiting, snapshots, errors.Join(ctx.Err(), p.Err()))
}
