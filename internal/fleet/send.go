package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// Publish implements drpc.Uplink. It waits for the receipt, at most for the timeout;
// Publisher does not block.
func (l *Link) Publish(e drpc.Experience) (drpc.Receipt, error) {
	ctx, cancel := context.WithTimeout(context.Background(), l.config.Timeout)
	defer cancel()
	sent, err := l.send(ctx, l.subject(e.Service), &e)
	if err != nil {
		return drpc.Receipt{}, err
	}
	return sent.wait(ctx)
}

// sending is a message in flight.
type sending struct {
	link     *Link
	id       string
	snapshot bool
	bytes    int
	future   jetstream.PubAckFuture
}

// send publishes a message without waiting for its receipt. A message that is sent
// again is recognised by its id.
func (l *Link) send(ctx context.Context, subject string, what drpc.Message) (*sending, error) {
	id := what.ID()
	data, err := what.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	if _, _, err := l.ready(ctx); err != nil {
		return nil, fmt.Errorf("experience %s: %w", id, err)
	}
	future, err := l.js.PublishMsgAsync(&nats.Msg{
		Subject: subject, Data: data, Header: nats.Header{nats.MsgIdHdr: []string{id}},
	})
	if err != nil {
		return nil, fmt.Errorf("experience %s: %w", id, err)
	}
	return &sending{l, id, subject == l.snapshotSubject(), len(data), future}, nil
}

// wait for the receipt.
func (s *sending) wait(ctx context.Context) (drpc.Receipt, error) {
	m := &s.link.meter
	select {
	case ack := <-s.future.Ok():
		if s.snapshot {
			m.snapshots.Add(1)
			m.snapshotBytes.Add(uint64(s.bytes))
		} else {
			m.decisions.Add(1)
			m.payload.Add(uint64(s.bytes))
		}
		if ack.Duplicate {
			m.duplicates.Add(1)
		}
		return drpc.Receipt{Sequence: ack.Sequence, Duplicate: ack.Duplicate}, nil
	case err := <-s.future.Err():
		s.link.recheck(err)
		if full(err) {
			m.refused.Add(1)
			return drpc.Receipt{}, fmt.Errorf("experience %s: %w (%w)", s.id, drpc.ErrFull, err)
		}
		if tooLong(err) {
			return drpc.Receipt{}, fmt.Errorf("experience %s of %d bytes: %w", s.id, s.bytes, errTooLong)
		}
		return drpc.Receipt{}, fmt.Errorf("experience %s: %w", s.id, err)
	case <-ctx.Done():
		return drpc.Receipt{}, fmt.Errorf("experience %s: %w", s.id, ctx.Err())
	}
}

// Errors of a server without space: in the stream, and in the server.
const (
	codeStoreFailed     jetstream.ErrorCode = 10077
	codeNoResources     jetstream.ErrorCode = 10023
	codeStorageExceeded jetstream.ErrorCode = 10047
	codeTooLong         jetstream.ErrorCode = 10054
)

// errTooLong: the stream was created for shorter messages.
var errTooLong = fmt.Errorf("the stream takes no message of that length: nats stream edit --max-msg-size=%d, or give the fleet "+
	"another name", maxMessage)

func tooLong(err error) bool {
	var answer *jetstream.APIError
	return errors.As(err, &answer) && answer.ErrorCode == codeTooLong
}

// full reports whether an error means that there is no space now.
func full(err error) bool {
	var answer *jetstream.APIError
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.ErrorCode {
	case codeStoreFailed:
		return strings.HasPrefix(answer.Description, "maximum")
	case codeNoResources, codeStorageExceeded:
		return true
	}
	return false
}
