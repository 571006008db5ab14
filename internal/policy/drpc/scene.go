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

// Scene is the whole application at an instant of the teacher's period: what
// students' experience lacks. Whoever sees all services and the users sends it, once
// a period. It names no service: both ends put services and kinds of requests into
// the order of their names, and the fingerprint says whether they are the same.
type Scene struct {
	Sequence uint64 // of the witness's scenes, from 1; with Epoch it is the message's id
	Epoch    uint64 // of the witness's process
	At       time.Time
	Of       Fingerprint
	View     View  // by name of the service
	Worth    Worth // of the period that ends with it
	Known    bool  // whether it was measured
	Mix      Mix   // by name of the kind; nil = not measured
}

// Fingerprint is of the names of services and kinds of requests.
type Fingerprint [8]byte

// fingerprintOf names that are in order.
func fingerprintOf(services, kinds []string) Fingerprint {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q", services, kinds, LocalFeatures, besideFeatures)
	return Fingerprint(h.Sum(nil))
}

// ID tells scenes apart, for a transport that drops what it has already. No service
// has such a name in a subject.
func (s *Scene) ID() string { return fmt.Sprintf("=scene/%d/%d", s.Epoch, s.Sequence) }

var sceneSum = crc64.MakeTable(crc64.ECMA)

// sceneMark begins a scene, with the number of its layout.
var sceneMark = []byte("LLS\x01")

const (
	sceneHead    = 4 + 8 + 3*8 + 1 + 3*2 + 5*8
	sceneService = 4 * (Locals + besides)
	sceneMachine = 9
	sceneTail    = 8

	// MaxScene is the longest scene in bytes, of some thousand services.
	MaxScene = 128 << 10
)

// sceneBytes is how long a scene is.
func sceneBytes(services, machines, kinds int) int {
	return sceneHead + services*sceneService + machines*sceneMachine + kinds*8 + sceneTail
}

// AppendBinary writes the message.
func (s *Scene) AppendBinary(b []byte) ([]byte, error) {
	v, begin := &s.View, len(b)
	if n := sceneBytes(len(v.Locals), len(v.Machines), len(s.Mix)); n > MaxScene {
		return b, fmt.Errorf("drpc: a scene of %d services and %d machines has %d bytes, must be at most %d: divide the application",
			len(v.Locals), len(v.Machines), n, MaxScene)
	}
	b = append(append(b, sceneMark...), s.Of[:]...)
	for _, word := range [3]uint64{s.Sequence, s.Epoch, uint64(s.At.UnixNano())} {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	b = appendFlag(b, s.Known)
	for _, n := range [3]int{len(v.Locals), len(v.Machines), len(s.Mix)} {
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
	}
	for _, x := range [5]float64{s.Worth.Reward, s.Worth.QoS, s.Worth.Util, s.Worth.CPU, s.Worth.Memory} {
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
	return binary.LittleEndian.AppendUint64(b, crc64.Checksum(b[begin:], sceneSum)), nil
}

func appendFlag(b []byte, yes bool) []byte {
	if yes {
		return append(b, 1)
	}
	return append(b, 0)
}

// errScene is of bytes that are no scene.
var errScene = errors.New("it is torn or of another release")

// UnmarshalBinary reads a message and refuses what is none.
func (s *Scene) UnmarshalBinary(b []byte) error {
	fail := func(err error) error { return fmt.Errorf("drpc: a scene of %d bytes: %w", len(b), err) }
	if len(b) < sceneHead+sceneTail || len(b) > MaxScene || !bytes.HasPrefix(b, sceneMark) {
		return fail(errScene)
	}
	body := b[:len(b)-sceneTail]
	if crc64.Checksum(body, sceneSum) != binary.LittleEndian.Uint64(b[len(body):]) {
		return fail(errScene)
	}
	r := reader{rest: body[len(sceneMark):]}
	var got Scene
	copy(got.Of[:], r.take(len(got.Of)))
	got.Sequence, got.Epoch = r.word(), r.word()
	got.At = time.Unix(0, int64(r.word())).UTC()
	got.Known = r.flag()
	services, machines, kinds := r.count(), r.count(), r.count()
	if len(b) != sceneBytes(services, machines, kinds) {
		return fail(errScene)
	}
	for _, x := range []*float64{&got.Worth.Reward, &got.Worth.QoS, &got.Worth.Util, &got.Worth.CPU, &got.Worth.Memory} {
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
		return fmt.Errorf("drpc: scene %s holds a value that is not finite", got.ID())
	}
	*s = got
	return nil
}

// reader takes a message apart whose length is known to be right.
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

// Show makes a scene of a view; epoch, number and worth are for the witness to add.
func (e *Eyes) Show(at time.Time, v *View, mix Mix) Scene {
	s := Scene{At: at, Of: e.order.of, View: View{Machines: slices.Clone(v.Machines)}}
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

// Recognise puts a scene into this application's order. What is of other services,
// or does not fit a teacher of this shape, is refused.
func (e *Eyes) Recognise(s *Scene, shape Shape, into *View) (Mix, error) {
	if s.Of != e.order.of {
		return nil, fmt.Errorf("scene %s is of other services, kinds of requests or another release than %s here: %w; run witness and teacher of one release on the same application", s.ID(), e.App.Name, ErrUnfit)
	}
	n := len(e.App.Services)
	if len(s.View.Locals) != n || s.Mix != nil && len(s.Mix) != len(e.App.Kinds) || shape == Plain &&
		len(s.View.Machines) != len(e.App.Nodes) {
		return nil, fmt.Errorf("scene %s is of %d services, %d machines and %d kinds of requests, %s has %d, %d and %d: %w",
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
