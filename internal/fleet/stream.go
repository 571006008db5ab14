package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// MisfitError is an existing stream whose configuration does not suit experience.
type MisfitError struct{ Stream, Field, Is, Must string }

func (e *MisfitError) Error() string {
	return fmt.Sprintf("fleet: stream %s has %s %s, must be %s: change it (nats stream edit), or give the fleet another name", e.Stream,
		e.Field, e.Is, e.Must)
}

func (l *Link) streamName() string { return l.config.Name + "-experience" }

// subject of a service's experience. It is short, since it is sent with each decision.
func (l *Link) subject(service string) string { return l.config.Name + ".x." + token(service) }

// snapshotSubject differs from the subjects of all services: no token contains "=".
func (l *Link) snapshotSubject() string { return l.subject("") + "=scene" }

// openStream opens the stream, or creates it. The limits of an existing stream are kept:
// the administrator may have chosen them.
func (l *Link) openStream(ctx context.Context) (jetstream.Stream, error) {
	c := &l.config
	stream, err := l.js.Stream(ctx, l.streamName())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = l.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: l.streamName(), Description: "Experience of students that their teacher has not counted yet",
			Subjects:  []string{l.subject("") + "*"},
			Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Replicas: l.replicas(),
			// A full stream rejects new messages: the oldest were acknowledged.
			Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
			MaxBytes: c.MaxBytes, MaxMsgs: c.MaxMessages, MaxMsgsPerSubject: c.PerService, MaxMsgSize: maxMessage,
			Duplicates: c.Duplicates, AllowDirect: true,
		})
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // created concurrently
			stream, err = l.js.Stream(ctx, l.streamName())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fleet: stream %s: %w", l.streamName(), err)
	}
	return stream, l.fits(stream.CachedInfo().Config)
}

// maxMessage is the longest snapshot; decisions are far shorter.
const maxMessage = drpc.MaxSnapshot

// fits reports whether the configuration of a stream is suitable.
func (l *Link) fits(c jetstream.StreamConfig) error {
	var faults []error
	must := func(ok bool, field, is, must string) {
		if !ok {
			faults = append(faults, &MisfitError{l.streamName(), field, is, must})
		}
	}
	want := l.subject("") + "*"
	must(len(c.Subjects) == 1 && c.Subjects[0] == want, "subjects", strings.Join(c.Subjects, ", "), want)
	must(c.Discard == jetstream.DiscardNew, "discard policy", strings.ToLower(c.Discard.String()), "new: what was acknowledged may not go")
	must(c.Retention == jetstream.LimitsPolicy, "retention", strings.ToLower(c.Retention.String()), "limits")
	must(c.MaxAge == 0, "max age", c.MaxAge.String(), "0: what was acknowledged may not go")
	must(c.MaxMsgsPerSubject <= 0 || c.DiscardNewPerSubject, "discard new per subject", "false", "true")
	must(c.AllowDirect, "direct access", "false", "true: the teacher reads by it")
	must(c.MaxBytes > 0 || c.MaxMsgs > 0, "size", "unlimited", "limited by bytes or messages")
	return errors.Join(faults...)
}

// replicas of a stream or bucket that this link creates.
func (l *Link) replicas() int {
	switch {
	case l.config.Replicas > 0:
		return l.config.Replicas
	case l.config.Server == nil && l.conn.ConnectedClusterName() != "":
		return 3
	}
	return 1
}

// token encodes a name as one part of a subject: other characters become =XX.
func token(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}
