package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// Collector is the teacher's end of a fleet: it reads the stream, counts each message
// once, writes a checkpoint and publishes weights. A fleet must have one. It is for one
// goroutine.
type Collector struct {
	// Received, if set, gets each message when it is counted, in order. If it fails,
	// nothing of the batch is acknowledged and all of it is delivered again: what was
	// learned from the batch must be discarded.
	Received func(*drpc.Delivery) error

	// Persist, if set, writes what was learned together with the ledger, atomically.
	// See Commit and Resume.
	Persist func(Ledger) error

	// Services, if set, are those whose experience is counted.
	Services []string

	link        *Link
	dir         string
	lock        io.Closer
	ledger      Ledger // as committed
	pending     Ledger // as read
	position    uint64 // in the stream, of the last message that this process has read
	uncommitted int
}

// NewCollector resumes from the checkpoint in a folder and locks the folder.
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

// Close unlocks the folder.
func (c *Collector) Close() error { return c.lock.Close() }

// Ledger is what was committed and published.
func (c *Collector) Ledger() Ledger { return c.ledger.clone() }

// Pending is what was counted, including what is not committed.
func (c *Collector) Pending() Ledger { return c.pending.clone() }

// Uncommitted is the number of messages that were read and not acknowledged.
func (c *Collector) Uncommitted() int { return c.uncommitted }

// Unreadable is the number of messages that could not be decoded.
func (c *Collector) Unreadable() uint64 { return c.link.Unreadable() }

// Resume continues from a ledger that was written with Persist. The checkpoint takes
// precedence if it is newer, as after a run that only counted.
func (c *Collector) Resume(l Ledger) {
	version, digest := c.ledger.Version, c.ledger.Digest
	if l.Version > version {
		version, digest = l.Version, l.Digest
	}
	if !l.StreamCreated.Equal(c.ledger.StreamCreated) || l.Last >= c.ledger.Last {
		c.ledger = l.clone()
	}
	c.ledger.Version, c.ledger.Digest = version, digest
	c.pending = c.ledger.clone()
}

// batch is how many messages are read at once.
const batch = 1024

// Collect reads at most a batch and returns how many messages were new. It hands them to
// Received, and neither writes nor acknowledges anything: Commit does, and may follow
// after many calls. If Received fails, or the process is killed before Commit, all of
// them are delivered again to the collector that begins with the last checkpoint.
func (c *Collector) Collect() (counted int, err error) {
	deliveries, err := c.link.fetch(c.position, batch)
	if err != nil || len(deliveries) == 0 {
		return 0, err
	}
	next := c.pending.clone()
	next.UseStream(c.link.StreamCreated())
	next.Forget(c.Services)
	for i := range deliveries {
		if !c.known(&deliveries[i], &next) {
			next.Skip(deliveries[i].Sequence)
			continue
		}
		if !next.Count(&deliveries[i]) {
			continue
		}
		counted++
		if c.Received != nil {
			if err := c.Received(&deliveries[i]); err != nil {
				return 0, fmt.Errorf("experience %s: %w", deliveries[i].ID(), err)
			}
		}
	}
	c.pending, c.position = next, deliveries[len(deliveries)-1].Sequence
	c.uncommitted += len(deliveries)
	return counted, nil
}

// known reports whether a message is of a service that is counted. Without a list the number of services
// is bounded, since the ledger grows with them.
func (c *Collector) known(d *drpc.Delivery, l *Ledger) bool {
	if d.Snapshot != nil {
		return true
	}
	if c.Services != nil {
		return slices.Contains(c.Services, d.Service)
	}
	_, counted := l.Marks[d.Service]
	return counted || len(l.Marks) < maxMarks
}

// Commit writes what was read and acknowledges it, in this order: Persist, checkpoint,
// acknowledgement. A process that is killed before the writing has counted nothing; one
// that is killed after it recognises what is delivered again.
func (c *Collector) Commit() error {
	if c.uncommitted == 0 {
		return nil
	}
	if c.Persist != nil {
		if err := c.Persist(c.pending.clone()); err != nil {
			return err
		}
	}
	if err := writeCheckpoint(c.dir, c.link.config.Name, &c.pending); err != nil {
		return &WriteError{err}
	}
	c.ledger = c.pending.clone()
	if err := c.link.Ack(c.position); err != nil {
		return err
	}
	c.uncommitted = 0
	return nil
}

// WriteError is a failure of the disk, not of the servers.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// Publish publishes the students of a model, unless they were published last and are
// still in the bucket, undamaged. Versions rise above everything that was ever published
// and above the model's own, which training counts from 1, so that students that began
// with a model of the same number use what the teacher publishes.
func (c *Collector) Publish(m *drpc.Model) (published bool, err error) {
	digest := Digest(m)
	if digest == c.ledger.Digest {
		if there, err := c.published(m, c.ledger.Version); err != nil || there {
			return false, err
		}
	}
	next := c.Ledger()
	next.Version = max(next.Version, m.Version)
	for _, service := range m.Services {
		switch w, err := c.link.Latest(service); {
		case errors.Is(err, drpc.ErrNone), errors.Is(err, drpc.ErrTorn), errors.Is(err, ErrUnsigned):
		case errors.Is(err, drpc.ErrUnfit), err == nil:
			if checkVersion(w, max(c.ledger.Version, m.Version)) == nil { // else students refuse them, and they are replaced
				next.Version = max(next.Version, w.Version)
			}
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
		if err := c.link.Put(w); err != nil {
			return false, err
		}
	}
	// If the process is killed before this, the next one publishes the same again.
	next.Digest = digest
	if err := writeCheckpoint(c.dir, c.link.config.Name, &next); err != nil {
		return false, err
	}
	c.ledger = next
	c.pending.Version, c.pending.Digest = next.Version, next.Digest
	return true, nil
}

// published reports whether the bucket has an intact version for all services: a server may
// have been restarted without its data.
func (c *Collector) published(m *drpc.Model, version uint64) (bool, error) {
	for i, service := range m.Services {
		want, err := weightsOf(service, m, i, version)
		if err != nil {
			return false, err
		}
		switch w, err := c.link.Latest(service); {
		case errors.Is(err, drpc.ErrNone), errors.Is(err, drpc.ErrTorn), errors.Is(err, drpc.ErrUnfit), errors.Is(err, ErrUnsigned):
			return false, nil
		case err != nil:
			return false, err
		case w.Version != version || w.Checksum != want.Checksum || !bytes.Equal(w.Data, want.Data):
			return false, nil
		}
	}
	return true, nil
}

// weightsOf returns a model's student as it is published.
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

// Digest identifies the students of a model.
func Digest(m *drpc.Model) string {
	h := sha256.New()
	for i, service := range m.Services {
		fmt.Fprintf(h, "%s\n%x\n", service, m.Students[i].Params())
	}
	return hex.EncodeToString(h.Sum(nil))
}
