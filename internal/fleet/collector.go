package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// Collector is the teacher's end at work: it counts experience once, hands it on,
// keeps its checkpoint, and publishes weights. It is for one goroutine. Of a fleet
// there must be one.
type Collector struct {
	// Heard, if set, gets each experience when it is counted, in order. If it fails,
	// nothing of the batch is acknowledged and all of it comes again: what it has
	// learned until then must not be kept.
	Received func(*drpc.Delivery) error

	// Keeper, if set, keeps what was learned, with the ledger as it is then: whole, or
	// not at all. See Keep and Resume.
	Persist func(Ledger) error

	link     *Link
	dir      string
	lock     io.Closer
	ledger   Ledger // as written down
	pending     Ledger // as read
	position uint64 // in the stream, of what was read by this process
	uncommitted   int
}

// NewCollector takes up where the checkpoint in a folder ends.
func NewCollector(l *Link, dir string) (*Collector, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	held, err := atomicfile.Lock(dir)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	ledger, err := readCheckpoint(dir, l.config.Name)
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return &Collector{link: l, dir: dir, lock: held, ledger: ledger, pending: ledger.clone()}, nil
}

// Close lets go of the folder.
func (t *Collector) Close() error { return t.lock.Close() }

// Ledger is what has been counted, written down and published.
func (t *Collector) Ledger() Ledger { return t.ledger.clone() }

// Pending is what has been counted, written down or not.
func (t *Collector) Pending() Ledger { return t.pending.clone() }

// Resume takes up where a ledger ends that somebody has kept together with what was
// learned. One that was written after it, by a teacher that only counts, goes before.
func (t *Collector) Resume(l Ledger) {
	version, digest := t.ledger.Version, t.ledger.Digest
	if l.Version > version {
		version, digest = l.Version, l.Digest
	}
	if !l.StreamCreated.Equal(t.ledger.StreamCreated) || l.Last >= t.ledger.Last {
		t.ledger = l.clone()
	}
	t.ledger.Version, t.ledger.Digest = version, digest
	t.pending = t.ledger.clone()
}

// batch is how much is read at once.
const batch = 1024

// Collect reads what there is, up to a batch, and says how much of it was new. It is
// handed to Heard, but neither written down nor acknowledged: Keep does that, and may
// be called after many times. If Heard fails, or the process is killed before Keep,
// all of it comes again to whoever begins with the last checkpoint.
func (t *Collector) Collect() (counted int, err error) {
	deliveries, err := t.link.fetch(t.position, batch)
	if err != nil || len(deliveries) == 0 {
		return 0, err
	}
	next := t.pending.clone()
	next.UseStream(t.link.StreamCreated())
	for i := range deliveries {
		if !next.Count(&deliveries[i]) {
			continue
		}
		counted++
		if t.Received != nil {
			if err := t.Received(&deliveries[i]); err != nil {
				return 0, fmt.Errorf("experience %s: %w", deliveries[i].ID(), err)
			}
		}
	}
	t.pending, t.position = next, deliveries[len(deliveries)-1].Sequence
	t.uncommitted += len(deliveries)
	return counted, nil
}

// Uncommitted is how much was read that Keep has not acknowledged.
func (t *Collector) Uncommitted() int { return t.uncommitted }

// Commit writes down what was read, and acknowledges it. The order is what makes it
// once: count, write down, acknowledge. Killed before writing, what was read comes
// again and nobody has counted it; killed after, it comes again and is known. Keeper
// writes before the checkpoint does.
func (t *Collector) Commit() error {
	if t.uncommitted == 0 {
		return nil
	}
	if t.Persist != nil {
		if err := t.Persist(t.pending.clone()); err != nil {
			return err
		}
	}
	if err := writeCheckpoint(t.dir, t.link.config.Name, &t.pending); err != nil {
		return err
	}
	t.ledger = t.pending.clone()
	if err := t.link.Ack(t.position); err != nil {
		return err
	}
	t.uncommitted = 0
	return nil
}

// Pass counts what there is, up to a batch, keeps it, and says how much that was.
func (t *Collector) Pass() (counted int, err error) {
	if counted, err = t.Collect(); err != nil {
		return 0, err
	}
	return counted, t.Commit()
}

// Publish publishes the students of a model, unless they are those that were
// published last and still lie there. Versions of the fleet rise above everything that was ever
// published, and above the model's own, which training counts from 1: students that
// began with a model of the same number take what the teacher has.
func (t *Collector) Publish(m *drpc.Model) (published bool, err error) {
	digest := digestOf(m)
	if digest == t.ledger.Digest {
		if there, err := t.published(m, t.ledger.Version); err != nil || there {
			return false, err
		}
	}
	next := t.Ledger()
	next.Version = max(next.Version, m.Version)
	for _, service := range m.Services {
		switch w, err := t.link.Latest(service); {
		case errors.Is(err, drpc.ErrNone), errors.Is(err, drpc.ErrTorn), errors.Is(err, drpc.ErrUnfit), err == nil:
			next.Version = max(next.Version, w.Version)
		default:
			return false, err
		}
	}
	next.Version++
	for i, service := range m.Services {
		w, err := weightsOf(service, m, i, next.Version)
		if err != nil {
			return false, err
		}
		if err := t.link.Put(w); err != nil {
			return false, err
		}
	}
	// Killed before this, the next teacher publishes the same once more.
	next.Digest = digest
	if err := writeCheckpoint(t.dir, t.link.config.Name, &next); err != nil {
		return false, err
	}
	t.ledger = next
	t.pending.Version, t.pending.Digest = next.Version, next.Digest
	return true, nil
}

// published says whether a version lies there for all services, sound: a server may
// have come back without what it held, and objects may be damaged.
func (t *Collector) published(m *drpc.Model, version uint64) (bool, error) {
	for i, service := range m.Services {
		want, err := weightsOf(service, m, i, version)
		if err != nil {
			return false, err
		}
		switch w, err := t.link.Latest(service); {
		case errors.Is(err, drpc.ErrNone), errors.Is(err, drpc.ErrTorn), errors.Is(err, drpc.ErrUnfit):
			return false, nil
		case err != nil:
			return false, err
		case w.Version != version || w.Checksum != want.Checksum || !bytes.Equal(w.Data, want.Data):
			return false, nil
		}
	}
	return true, nil
}

// weightsOf a model's student as they are published.
func weightsOf(service string, m *drpc.Model, at int, version uint64) (drpc.Weights, error) {
	config := drpc.StudentConfig()
	config.Buffer = 1
	student, err := drpc.NewStudent(service, config, 1)
	if err != nil {
		return drpc.Weights{}, err
	}
	if have, want := m.Students[at].Size(), student.Net().Size(); have != want {
		return drpc.Weights{}, fmt.Errorf("the student of %s has %d parameters, must have %d: %w", service, have, want, drpc.ErrUnfit)
	}
	copy(student.Net().Params(), m.Students[at].Params())
	return drpc.WeightsOf(student, version), nil
}

// digestOf the students of a model.
func digestOf(m *drpc.Model) string {
	h := sha256.New()
	for i, service := range m.Services {
		fmt.Fprintf(h, "%s\n%x\n", service, m.Students[i].Params())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Run counts until the context is done, looking again after a pause whenever there
// is nothing. Whatever fails is told and tried again: servers come back.
func (t *Collector) Run(ctx context.Context, pause time.Duration, told func(counted int, err error)) {
	for ctx.Err() == nil {
		back := t.link.reconnection()
		counted, err := t.Pass()
		if told != nil && (counted > 0 || err != nil) {
			told(counted, err)
		}
		if counted < batch {
			sleep(ctx, pause, back)
		}
	}
}

// Services that have been heard of, in order.
func (l *Ledger) Services() []string {
	services := make([]string, 0, len(l.Marks))
	for s := range l.Marks {
		services = append(services, s)
	}
	slices.Sort(services)
	return services
}
