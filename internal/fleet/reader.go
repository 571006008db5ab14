package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// reader is the teacher's position in the stream.
type reader struct {
	lock       sync.Mutex
	created    time.Time // creation time of the stream that sequences refer to
	checked    time.Time // when that was checked last
	given      uint64    // sequence
	acked      uint64
	removed    uint64 // of the acknowledged messages, those that the server has deleted
	unreadable uint64
}

// Fetch implements drpc.Inbox: in order of the stream's sequences, from the first
// unacknowledged one. It reads the stream directly, without a consumer: a consumer would
// redeliver lost messages after a timeout, out of order. An empty stream is not an error.
func (l *Link) Fetch(most int) ([]drpc.Delivery, error) { return l.fetch(0, most) }

// fetch reads after a sequence that need not be acknowledged.
func (l *Link) fetch(after uint64, most int) ([]drpc.Delivery, error) {
	ctx, cancel := context.WithTimeout(context.Background(), l.config.Timeout)
	defer cancel()
	in := &l.reader
	in.lock.Lock()
	defer in.lock.Unlock()
	if _, _, err := l.ready(ctx); err != nil {
		return nil, err
	}
	from := max(in.acked, after) + 1
	for {
		messages, err := l.read(ctx, from, max(most, 1))
		if err != nil {
			l.recheck(err)
			return nil, fmt.Errorf("fleet: read stream %s: %w", l.streamName(), err)
		}
		if len(messages) > 0 || time.Since(in.checked) > checkEvery {
			another, err := l.checkStream(ctx)
			if err != nil {
				return nil, err
			}
			if another {
				from = 1
				continue
			}
		}
		deliveries := make([]drpc.Delivery, 0, len(messages))
		for _, m := range messages {
			from = m.sequence + 1
			d, err := l.delivery(&m)
			if err != nil {
				if m.sequence > in.given {
					in.unreadable++
					l.config.log().Warn("a message cannot be used and is passed over: update the teacher before its agents",
						"sequence", m.sequence, "error", err)
				}
				in.given = max(in.given, m.sequence)
				continue
			}
			deliveries = append(deliveries, d)
			in.given = max(in.given, m.sequence)
		}
		if len(deliveries) > 0 || len(messages) == 0 {
			return deliveries, nil
		}
	}
}

// delivery decodes a message according to its subject.
func (l *Link) delivery(m *storedMessage) (drpc.Delivery, error) {
	d := drpc.Delivery{Sequence: m.sequence}
	if m.subject != l.snapshotSubject() {
		if err := d.Experience.UnmarshalBinary(m.data); err != nil {
			return d, err
		}
		if err := l.checkSubject(m.subject, &d.Experience); err != nil {
			return d, err
		}
		return d, checkNumbers(d.Epoch, d.Experience.Sequence, m.stored)
	}
	d.Snapshot = &drpc.Snapshot{}
	if err := d.Snapshot.UnmarshalBinary(m.data); err != nil {
		return d, err
	}
	return d, checkNumbers(d.Snapshot.Epoch, d.Snapshot.Sequence, m.stored)
}

// Ack implements drpc.Inbox: it lets the server delete counted messages, which frees space.
func (l *Link) Ack(sequence uint64) error {
	ctx, cancel := context.WithTimeout(context.Background(), l.config.Timeout)
	defer cancel()
	in := &l.reader
	in.lock.Lock()
	defer in.lock.Unlock()
	if sequence > in.given {
		return fmt.Errorf("fleet: sequence %d is acknowledged, the last that was given is %d", sequence, in.given)
	}
	in.acked = max(in.acked, sequence)
	if in.removed >= in.acked {
		return nil
	}
	stream, _, err := l.ready(ctx)
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSequence(in.acked+1))
	}
	if err != nil {
		l.recheck(err)
		return fmt.Errorf("fleet: acknowledge up to %d of stream %s: %w", in.acked, l.streamName(), err)
	}
	in.removed = in.acked
	return nil
}

// StreamCreated is the creation time of the stream that was last fetched from: a checkpoint's
// sequence is valid only in the stream that it was taken from.
func (l *Link) StreamCreated() time.Time {
	l.reader.lock.Lock()
	defer l.reader.lock.Unlock()
	return l.reader.created
}

// Unreadable is the number of messages that were skipped.
func (l *Link) Unreadable() uint64 {
	l.reader.lock.Lock()
	defer l.reader.lock.Unlock()
	return l.reader.unreadable
}

// checkEvery is how often an idle teacher checks whether its stream is still the same. Before
// messages are returned it always checks.
const checkEvery = 10 * time.Second

// checkStream starts from the beginning if the stream is another one than before: it may
// have been deleted, and created again by a student.
func (l *Link) checkStream(ctx context.Context) (another bool, err error) {
	stream, _, err := l.ready(ctx)
	if err != nil {
		return false, err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		l.recheck(err)
		return false, fmt.Errorf("fleet: stream %s: %w", l.streamName(), err)
	}
	in := &l.reader
	in.checked = time.Now()
	if info.Created.Equal(in.created) {
		return false, nil
	}
	another = !in.created.IsZero()
	in.created, in.given, in.acked, in.removed = info.Created, 0, 0, 0
	return another, nil
}

// storedMessage is a message of the stream.
type storedMessage struct {
	sequence uint64
	subject  string
	stored   time.Time // by the server
	data     []byte
}

// mostBytes is the size limit of one response.
const mostBytes = 1 << 20

// read requests messages from a sequence on by a batched direct get: one request, many
// responses, and one that marks the end.
func (l *Link) read(ctx context.Context, from uint64, most int) ([]storedMessage, error) {
	question, err := json.Marshal(struct {
		From     uint64 `json:"seq"`
		Most     int    `json:"batch"`
		MaxBytes int    `json:"max_bytes"`
	}{from, most, mostBytes})
	if err != nil {
		return nil, err
	}
	answers, err := l.conn.SubscribeSync(l.conn.NewRespInbox())
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }() // the connection may be gone, and the subscription with it
	if err := l.conn.PublishRequest("$JS.API.DIRECT.GET."+l.streamName(), answers.Subject, question); err != nil {
		return nil, err
	}
	var messages []storedMessage
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		switch status := m.Header.Get("Status"); status {
		case "":
		case "204", "404": // end of the batch, and no messages
			return messages, nil
		case "503":
			return nil, nats.ErrNoResponders
		default:
			return nil, fmt.Errorf("the server answers %s %s", status, m.Header.Get("Description"))
		}
		sequence, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
		if err != nil {
			return nil, errors.New("an answer without its sequence: the server is too old, it must be 2.11 or later")
		}
		if sequence < from || len(messages) > 0 && sequence <= messages[len(messages)-1].sequence {
			return nil, fmt.Errorf("sequence %d is out of order", sequence)
		}
		stored, err := time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
		if err != nil {
			return nil, fmt.Errorf("an answer whose time cannot be read: %w", err)
		}
		messages = append(messages, storedMessage{sequence, m.Header.Get("Nats-Subject"), stored, m.Data})
	}
}
