package drpc

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// Snapshot is the whole application at an instant of the teacher's period: what students'
// experience lacks. The app observer, an agent that observes all services and the users, sends
// one per period. It contains no names: sender and receiver sort services and kinds of requests
// by name, and the fingerprint identifies the names.
type Snapshot struct {
	Sequence    uint64 // of the sender's snapshots, from 1; with Epoch it is the message's id
	Epoch       uint64 // of the sender's process
	At          time.Time
	Fingerprint Fingerprint
	View        View  // by name of the service
	Score       Score // of the period that ends with it
	Scored      bool  // whether it was measured
	Mix         Mix   // by name of the kind; nil = not measured
}

// Fingerprint is of the names of services and kinds of requests.
type Fingerprint [8]byte

// fingerprintOf sorted names.
func fingerprintOf(services, kinds []string) Fingerprint {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q", services, kinds, LocalFeatures, besideFeatures)
	return Fingerprint(h.Sum(nil))
}

// ID is unique per snapshot, for transports that drop duplicates. No service name contains an
// equals sign in a subject. The prefix is part of the protocol.
func (s *Snapshot) ID() string { return fmt.Sprintf("=scene/%d/%d", s.Epoch, s.Sequence) }

var snapshotChecksum = crc64.MakeTable(crc64.ECMA)

// snapshotMagic is the prefix of a snapshot, with the version of its format.
var snapshotMagic = []byte("LLS\x01")

const (
	snapshotHead    = 4 + 8 + 3*8 + 1 + 3*2 + 5*8
	snapshotService = 4 * (Locals + besides)
	snapshotMachine = 9
	snapshotTail    = 8

	// MaxSnapshot limits a snapshot, in bytes: enough for about a thousand services.
	MaxSnapshot = 128 << 10
)

// snapshotBytes is the length of a snapshot.
func snapshotBytes(services, machines, kinds int) int {
	return snapshotHead + services*snapshotService + machines*snapshotMachine + kinds*8 + snapshotTail
}

// AppendBinary writes the message.
func (s *Snapshot) AppendBinary(b []byte) ([]byte, error) {
	v, begin := &s.View, len(b)
	if n := snapshotBytes(len(v.Locals), len(v.Machines), len(s.Mix)); n > MaxSnapshot {
		return b, fmt.Errorf("drpc: a snapshot of %d services and %d machines has %d bytes, must be at most %d: divide the application",
			len(v.Locals), len(v.Machines), n, MaxSnapshot)
	}
	b = append(append(b, snapshotMagic...), s.Fingerprint[:]...)
	for _, word := range [3]uint64{s.Sequence, s.Epoch, uint64(s.At.UnixNano())} {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	b = appendFlag(b, s.Scored)
	for _, n := range [3]int{len(v.Locals), len(v.Machines), len(s.Mix)} {
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
	}
	for _, x := range [5]float64{s.Score.Reward, s.Score.QoS, s.Score.Util, s.Score.CPU, s.Score.Memory} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	for i := range v.Locals {
		for _, x := range v.Locals[i] {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		for _, x := range v.Besides[i] {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	for _, m := range v.Machines {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(m.CPU))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(m.Memory))
		b = appendFlag(b, m.Known)
	}
	for _, x := range s.Mix {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return binary.LittleEndian.AppendUint64(b, crc64.Checksum(b[begin:], snapshotChecksum)), nil
}

func appendFlag(b []byte, yes bool) []byte {
	if yes {
		return append(b, 1)
	}
	return append(b, 0)
}

// errNotSnapshot reports bytes that are not a snapshot.
var errNotSnapshot = errors.New("it is truncated, corrupt or of another release")

// UnmarshalBinary reads a message and rejects anything else.
func (s *Snapshot) UnmarshalBinary(b []byte) error {
	fail := func(err error) error { return fmt.Errorf("drpc: a snapshot of %d bytes: %w", len(b), err) }
	if len(b) < snapshotHead+snapshotTail || len(b) > MaxSnapshot || !bytes.HasPrefix(b, snapshotMagic) {
		return fail(errNotSnapshot)
	}
	body := b[:len(b)-snapshotTail]
	if crc64.Checksum(body, snapshotChecksum) != binary.LittleEndian.Uint64(b[len(body):]) {
		return fail(errNotSnapshot)
	}
	r := reader{rest: body[len(snapshotMagic):]}
	var got Snapshot
	copy(got.Fingerprint[:], r.take(len(got.Fingerprint)))
	got.Sequence, got.Epoch = r.word(), r.word()
	got.At = time.Unix(0, int64(r.word())).UTC()
	got.Scored = r.flag()
	services, machines, kinds := r.count(), r.count(), r.count()
	if len(b) != snapshotBytes(services, machines, kinds) {
		return fail(errNotSnapshot)
	}
	for _, x := range []*float64{&got.Score.Reward, &got.Score.QoS, &got.Score.Util, &got.Score.CPU, &got.Score.Memory} {
		*x = r.double()
	}
	got.View = View{
		Locals: make([]Local, services), Besides: make([][besides]float32, services), Machines: make([]Machine, machines),
	}
	for i := range services {
		for j := range got.View.Locals[i] {
			got.View.Locals[i][j] = r.single()
		}
		for j := range got.View.Besides[i] {
			got.View.Besides[i][j] = r.single()
		}
	}
	for i := range machines {
		got.View.Machines[i] = Machine{r.single(), r.single(), r.flag()}
	}
	for range kinds {
		got.Mix = append(got.Mix, r.double())
	}
	if r.infinite {
		return fmt.Errorf("drpc: snapshot %s holds a value that is not finite", got.ID())
	}
	*s = got
	return nil
}

// reader decodes a message whose length was checked.
type reader struct {
	rest     []byte
	infinite bool
}

func (r *reader) take(n int) (part []byte) {
	part, r.rest = r.rest[:n], r.rest[n:]
	return part
}

func (r *reader) word() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *reader) count() int   { return int(binary.LittleEndian.Uint16(r.take(2))) }
func (r *reader) flag() bool   { return r.take(1)[0] != 0 }

func (r *reader) double() float64 {
	v := math.Float64frombits(r.word())
	r.infinite = r.infinite || math.IsNaN(v) || math.IsInf(v, 0)
	return v
}

func (r *reader) single() float32 {
	v := math.Float32frombits(binary.LittleEndian.Uint32(r.take(4)))
	r.infinite = r.infinite || math.IsNaN(float64(v)) || math.IsInf(float64(v), 0)
	return v
}

// byName is services and kinds of an application in the order of their names.
type byName struct {
	services, kinds []int
	of              Fingerprint
}

func orderOf(app *loadline.App) byName {
	var names [2][]string
	for i := range app.Services {
		names[0] = append(names[0], app.Services[i].Name)
	}
	for k := range app.Kinds {
		names[1] = append(names[1], app.Kinds[k].Name)
	}
	var order [2][]int
	for i := range names {
		for j := range names[i] {
			order[i] = append(order[i], j)
		}
		slices.SortFunc(order[i], func(a, b int) int { return strings.Compare(names[i][a], names[i][b]) })
		slices.Sort(names[i])
	}
	return byName{order[0], order[1], fingerprintOf(names[0], names[1])}
}

// Snapshot makes a snapshot of a view; the sender adds epoch, sequence and score.
func (e *Encoder) Snapshot(at time.Time, v *View, mix Mix) Snapshot {
	s := Snapshot{At: at, Fingerprint: e.order.of, View: View{Machines: slices.Clone(v.Machines)}}
	for _, i := range e.order.services {
		s.View.Locals, s.View.Besides = append(s.View.Locals, v.Locals[i]), append(s.View.Besides, v.Besides[i])
	}
	if mix != nil {
		for _, k := range e.order.kinds {
			s.Mix = append(s.Mix, mix[k])
		}
	}
	return s
}

// Decode sorts a snapshot in this application's order. It rejects snapshots of other
// services and those that do not fit a teacher of this shape.
func (e *Encoder) Decode(s *Snapshot, shape Shape, into *View) (Mix, error) {
	if s.Fingerprint != e.order.of {
		return nil, fmt.Errorf("snapshot %s has other services or kinds of requests than %s, or is of another release: %w; run "+
			"the app observer and the teacher of one release on the same application", s.ID(), e.App.Name, ErrUnfit)
	}
	n := len(e.App.Services)
	if len(s.View.Locals) != n || s.Mix != nil && len(s.Mix) != len(e.App.Kinds) || shape == Plain &&
		len(s.View.Machines) != len(e.App.Nodes) {
		return nil, fmt.Errorf("snapshot %s has %d services, %d machines and %d kinds of requests, %s has %d, %d and %d: %w",
			s.ID(), len(s.View.Locals), len(s.View.Machines), len(s.Mix), e.App.Name, n, len(e.App.Nodes), len(e.App.Kinds), ErrUnfit)
	}
	*into = View{Locals: make([]Local, n), Besides: make([][besides]float32, n), Machines: s.View.Machines}
	for at, i := range e.order.services {
		into.Locals[i], into.Besides[i] = s.View.Locals[at], s.View.Besides[at]
	}
	if s.Mix == nil {
		return nil, nil
	}
	mix := make(Mix, len(s.Mix))
	for at, k := range e.order.kinds {
		mix[k] = s.Mix[at]
	}
	return mix, nil
}
