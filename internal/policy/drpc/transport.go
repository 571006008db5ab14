package drpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// Experience is one decision of one student, sent to the teacher. It has no reward: there is
// one for the whole application, in the snapshot.
type Experience struct {
	Service  string
	Sequence uint64 // of the student's decisions, from 1; with Service and Epoch it is the message's id
	Epoch    uint64 // of the student's process: sequences restart with it
	Version  uint64 // of the weights that decided
	At       time.Time
	Local    Local
	Action   Action // as applied
}

// ID is unique per experience, for transports that drop duplicates.
func (e *Experience) ID() string { return fmt.Sprintf("%s/%d/%d", e.Service, e.Epoch, e.Sequence) }

// experienceBytes is the length of a message without the service's name.
const experienceBytes = 2 + 4*8 + 4*(Locals+Axes)

// AppendBinary writes the message.
func (e *Experience) AppendBinary(b []byte) ([]byte, error) {
	if len(e.Service) > math.MaxUint16 {
		return b, fmt.Errorf("drpc: the name of service %.40s... has %d bytes, must be at most %d", e.Service, len(e.Service),
			math.MaxUint16)
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(e.Service)))
	b = append(b, e.Service...)
	for _, v := range [4]uint64{e.Sequence, e.Epoch, e.Version, uint64(e.At.UnixNano())} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, v := range e.Local {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	for _, v := range e.Action {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b, nil
}

// UnmarshalBinary reads a message and rejects anything else.
func (e *Experience) UnmarshalBinary(b []byte) error {
	if len(b) < 2 || len(b) != experienceBytes+int(binary.LittleEndian.Uint16(b)) {
		return fmt.Errorf("drpc: an experience of %d bytes is truncated or of another release", len(b))
	}
	n := int(binary.LittleEndian.Uint16(b))
	e.Service, b = string(b[2:2+n]), b[2+n:]
	var words [4]uint64
	for i := range words {
		words[i], b = binary.LittleEndian.Uint64(b), b[8:]
	}
	e.Sequence, e.Epoch, e.Version, e.At = words[0], words[1], words[2], time.Unix(0, int64(words[3])).UTC()
	for i := range e.Local {
		e.Local[i], b = math.Float32frombits(binary.LittleEndian.Uint32(b)), b[4:]
	}
	for i := range e.Action {
		e.Action[i], b = math.Float32frombits(binary.LittleEndian.Uint32(b)), b[4:]
	}
	for _, v := range append(e.Local[:], e.Action[:]...) {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("drpc: experience %s holds a value that is not finite", e.ID())
		}
	}
	return nil
}

// Errors of a transport.
var (
	// ErrFull rejects an experience: the stream is full, and acknowledged messages are
	// not discarded. Keep it and try again later.
	ErrFull = errors.New("the stream of experience is full")
	// ErrNone: there are no weights for this service yet.
	ErrNone = errors.New("there are no weights yet")
)

// Receipt acknowledges that an experience is stored.
type Receipt struct {
	Sequence  uint64 // in the stream, from 1
	Duplicate bool   // it was stored already
}

// Delivery is an experience or a snapshot with its place in the stream.
type Delivery struct {
	Sequence uint64
	Experience
	Snapshot *Snapshot // nil = it is an experience
}

// Uplink is a student's end of the stream of experience. A message with a receipt is not lost;
// without one the student keeps it.
type Uplink interface {
	Publish(e Experience) (Receipt, error)
}

// Inbox is the teacher's end. Fetch returns unacknowledged messages in order; acknowledged ones
// are not delivered again. The teacher saves the sequence of the last learned experience with
// its checkpoint, so that a message that is delivered twice is counted once.
type Inbox interface {
	Fetch(most int) ([]Delivery, error)
	Ack(sequence uint64) error // of this and all before it
}

// WeightStore is where the teacher publishes weights and students read them.
type WeightStore interface {
	Put(w Weights) error
	Latest(service string) (Weights, error) // or ErrNone
}

// Transport combines both ends: in-process here, over a network for remote students.
type Transport interface {
	Uplink
	Inbox
	WeightStore
}
