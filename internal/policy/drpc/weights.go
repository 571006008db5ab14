package drpc

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/loadline/loadline/internal/nn"
)

// Weights are a student's parameters as published: versioned, with a checksum of all relevant
// content.
type Weights struct {
	Service  string
	Version  uint64 // increasing; of the teacher that made them
	Data     []byte // parameters, little-endian
	Checksum [sha256.Size]byte
}

// Reasons to reject weights.
var (
	ErrTorn    = errors.New("the checksum does not match: the weights are torn or changed; fetch them again")
	ErrUnfit   = errors.New("the weights do not fit this student")
	ErrOutdate = errors.New("the weights are not newer than those in force")
)

// WeightsOf encodes a student's parameters.
func WeightsOf(s *Student, version uint64) Weights {
	params := s.Net().Params()
	w := Weights{Service: s.Service, Version: version, Data: make([]byte, 0, 4*len(params))}
	for _, p := range params {
		w.Data = binary.LittleEndian.AppendUint32(w.Data, math.Float32bits(p))
	}
	w.Checksum = w.sum()
	return w
}

func (w *Weights) sum() [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "drpc student\n%s\n%d\n%d\n", w.Service, w.Version, len(w.Data))
	h.Write(w.Data)
	return [sha256.Size]byte(h.Sum(nil))
}

// Adopt uses new weights, all of them or none. Torn, foreign, misshapen and old ones are
// rejected, and the student keeps its own.
func (s *Student) Adopt(w Weights) error {
	net := s.Net()
	switch {
	case w.sum() != w.Checksum:
		return fmt.Errorf("weights %d of %s: %w", w.Version, w.Service, ErrTorn)
	case w.Service != s.Service:
		return fmt.Errorf("weights %d are of %s, this student is of %s: %w", w.Version, w.Service, s.Service, ErrUnfit)
	case len(w.Data) != 4*net.Size():
		return fmt.Errorf("weights %d of %s are %d bytes, must be %d: %w; an older student needs the teacher of its own release",
			w.Version, w.Service, len(w.Data), 4*net.Size(), ErrUnfit)
	case w.Version <= s.version:
		return fmt.Errorf("weights %d of %s, in force are %d: %w", w.Version, w.Service, s.version, ErrOutdate)
	}
	params := make([]float32, net.Size())
	for i := range params {
		params[i] = math.Float32frombits(binary.LittleEndian.Uint32(w.Data[4*i:]))
	}
	if !nn.Finite(params) {
		return fmt.Errorf("weights %d of %s hold values that are not finite: %w", w.Version, w.Service, ErrUnfit)
	}
	copy(net.Params(), params)
	s.version = w.Version
	return nil
}
