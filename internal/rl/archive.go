package rl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"math"
	"strconv"
	"strings"
)

// Archive converts a state to bytes or back. One description, an Archive method, serves both
// directions, so that they cannot drift apart. After a failure it does nothing more.
type Archive struct {
	data      []byte // written so far, or not read yet
	restoring bool
	err       error
}

// archiveName is the prefix of every saved state, archiveVersion the digit that follows.
const (
	archiveName    = "loadline-learning-"
	archiveVersion = 2
)

var archiveFormat = archiveName + strconv.Itoa(archiveVersion)

var archiveSum = crc64.MakeTable(crc64.ECMA)

// Save returns the state as bytes.
func Save(what interface{ Archive(*Archive) }) []byte {
	a := &Archive{data: []byte(archiveFormat)}
	what.Archive(a)
	return binary.LittleEndian.AppendUint64(a.data, crc64.Checksum(a.data, archiveSum))
}

// Restore restores a saved state. Torn or foreign bytes change nothing; those of something
// built differently are an error too, after which what must not be used.
func Restore(data []byte, what interface{ Archive(*Archive) }) error {
	body := len(data) - 8
	if body < len(archiveFormat) || !strings.HasPrefix(string(data), archiveName) {
		return errors.New("rl: it is not a saved state: it is another kind of file, or empty; start again without it")
	}
	if string(data[:len(archiveFormat)]) != archiveFormat {
		return fmt.Errorf("rl: the saved state is of version %q, and this program reads %d: use the loadline that saved it, or start "+
			"again without it", data[len(archiveName):len(archiveFormat)], archiveVersion)
	}
	if crc64.Checksum(data[:body], archiveSum) != binary.LittleEndian.Uint64(data[body:]) {
		return errors.New("rl: the saved state is damaged: its checksum does not fit")
	}
	a := &Archive{data: data[len(archiveFormat):body], restoring: true}
	what.Archive(a)
	if a.err == nil && len(a.data) > 0 {
		a.err = fmt.Errorf("rl: the saved state has %d bytes too many", len(a.data))
	}
	return a.err
}

// Restoring reports the direction.
func (a *Archive) Restoring() bool { return a.restoring }

// Err is the first failure.
func (a *Archive) Err() error { return a.err }

// Fail records a failure, unless err is nil.
func (a *Archive) Fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// word saves or restores one number.
func (a *Archive) word(v uint64) uint64 {
	if !a.restoring {
		a.data = binary.LittleEndian.AppendUint64(a.data, v)
		return v
	}
	if a.err == nil && len(a.data) < 8 {
		a.err = errors.New("rl: the saved state is too short")
	}
	if a.err != nil {
		return v
	}
	v, a.data = binary.LittleEndian.Uint64(a.data), a.data[8:]
	return v
}

// Int is a whole number.
func (a *Archive) Int(v *int) { *v = int(a.word(uint64(*v))) }

// Uint64 is a seed, for instance.
func (a *Archive) Uint64(v *uint64) { *v = a.word(*v) }

// Float is a number.
func (a *Archive) Float(v *float64) { *v = math.Float64frombits(a.word(math.Float64bits(*v))) }

// Bool is yes or no.
func (a *Archive) Bool(v *bool) {
	var bit uint64
	if *v {
		bit = 1
	}
	*v = a.word(bit) != 0
}

// length is that of the following data, at size bytes each.
func (a *Archive) length(n, size int) int {
	n = int(a.word(uint64(n)))
	if a.restoring && a.err == nil && (n < 0 || n > len(a.data)/size) {
		a.err = errors.New("rl: the saved state is too short")
	}
	if a.err != nil {
		return 0
	}
	return n
}

// Bytes are of any length.
func (a *Archive) Bytes(v *[]byte) {
	n := a.length(len(*v), 1)
	if !a.restoring {
		a.data = append(a.data, *v...)
	} else if a.err == nil {
		*v, a.data = append([]byte(nil), a.data[:n]...), a.data[n:]
	}
}

// Label must be the same when the state is restored: the kind and the settings
// of what is saved.
func (a *Archive) Label(label string) {
	saved := []byte(label)
	a.Bytes(&saved)
	if a.err == nil && string(saved) != label {
		a.err = fmt.Errorf("rl: the saved state is of %s, this is %s", saved, label)
	}
}

// Floats have the same length as when saved.
func (a *Archive) Floats(v []float32) {
	n := a.length(len(v), 4)
	if a.err == nil && n != len(v) {
		a.err = fmt.Errorf("rl: the saved state has %d values where this has %d", n, len(v))
	}
	if a.err != nil {
		return
	}
	if !a.restoring {
		for _, f := range v {
			a.data = binary.LittleEndian.AppendUint32(a.data, math.Float32bits(f))
		}
		return
	}
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(a.data[4*i:]))
	}
	a.data = a.data[4*len(v):]
}

// Some are values of any number; restoring replaces the slice.
func (a *Archive) Some(v *[]float32) {
	n := len(*v)
	a.Int(&n)
	if a.restoring && a.err == nil {
		if n < 0 || n > len(a.data)/4 {
			a.err = errors.New("rl: the saved state is too short")
			return
		}
		*v = make([]float32, n)
	}
	a.Floats(*v)
}
