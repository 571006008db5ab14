package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// mark is the prefix of weights, with the version of their format.
var mark = []byte("LLW\x01")

// appendWeights writes weights as they are kept in the bucket: mark, version,
// checksum, and then service, schema and data, each after its length. Everything
// is little-endian.
func appendWeights(b []byte, w drpc.Weights, schema string) ([]byte, error) {
	if len(w.Service) > math.MaxUint16 || len(schema) > math.MaxUint16 {
		return nil, fmt.Errorf("fleet: the name of service %.40s... has %d bytes, must be at most %d", w.Service, len(w.Service),
			math.MaxUint16)
	}
	b = append(b, mark...)
	b = binary.LittleEndian.AppendUint64(b, w.Version)
	b = append(b, w.Checksum[:]...)
	for _, s := range []string{w.Service, schema} {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(s)))
		b = append(b, s...)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(w.Data)))
	return append(b, w.Data...), nil
}

var errShort = errors.New("truncated")

// readWeights decodes weights. The student checks the checksum.
func readWeights(b []byte, schema string) (drpc.Weights, error) {
	var w drpc.Weights
	if len(b) >= len(mark) && bytes.Equal(b[:3], mark[:3]) && b[3] != mark[3] {
		return w, fmt.Errorf("the weights are of layout %d, this student reads %d: %w; run teacher and agents of the same release",
			b[3], mark[3], drpc.ErrUnfit)
	}
	head := len(mark) + 8 + sha256.Size
	if len(b) < head || !bytes.Equal(b[:len(mark)], mark) {
		return w, fmt.Errorf("%d bytes that are no weights: %w", len(b), drpc.ErrTorn)
	}
	w.Version = binary.LittleEndian.Uint64(b[len(mark):])
	copy(w.Checksum[:], b[len(mark)+8:])
	b = b[head:]
	take := func(length int) (field []byte, err error) {
		if length < 0 || length > len(b) {
			return nil, fmt.Errorf("weights %d: %w: %w", w.Version, errShort, drpc.ErrTorn)
		}
		field, b = b[:length], b[length:]
		return field, nil
	}
	var texts [2]string
	for i := range texts {
		size, err := take(2)
		if err != nil {
			return w, err
		}
		text, err := take(int(binary.LittleEndian.Uint16(size)))
		if err != nil {
			return w, err
		}
		texts[i] = string(text)
	}
	w.Service = texts[0]
	if texts[1] != schema {
		return w, fmt.Errorf("weights %d of %s are for students that are %q, this one is %q: %w; run teacher and agents of the same "+
			"release", w.Version, w.Service, texts[1], schema, drpc.ErrUnfit)
	}
	size, err := take(4)
	if err != nil {
		return w, err
	}
	if n := binary.LittleEndian.Uint32(size); uint64(n) != uint64(len(b)) {
		return w, fmt.Errorf("weights %d of %s have %d bytes of data, must have %d: %w", w.Version, w.Service, len(b), n, drpc.ErrTorn)
	}
	w.Data = bytes.Clone(b)
	return w, nil
}
