package modelfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/loadline/loadline/internal/nn"
)

// Faults of a file. Each error also says what to do.
var (
	ErrTorn      = errors.New("the file is damaged: its length differs from that in its header; copy or train it again")
	ErrForeign   = errors.New("this is not a loadline model; give a file that loadline wrote")
	ErrNewer     = errors.New("the file is of a newer format; upgrade loadline")
	ErrChanged   = errors.New("the checksum does not match: the file was changed or damaged since it was written; copy or train it again")
	ErrMisshapen = errors.New("weights and architecture do not fit; train the model again")
)

const (
	longestHeader = 4 << 20
	longestFile   = 1 << 30
)

// Open reads a model from a path.
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	defer file.Close()
	f, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("read model %s: %w", path, err)
	}
	return f, nil
}

// Read reads a model from its bytes.
func Read(r io.Reader) (*File, error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	// Memory grows with the data, not with what the header claims.
	data, err := io.ReadAll(io.LimitReader(r, longestFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > longestFile {
		return nil, fmt.Errorf("the file is larger than %d bytes: %w", longestFile, ErrForeign)
	}
	if err := h.checkFormat(); err != nil {
		return nil, err
	}
	tensors, err := h.tensors(data)
	if err != nil {
		return nil, err
	}
	if h.metadata[keyChecksum] != digest(h.metadata, tensors) {
		return nil, ErrChanged
	}
	return newFile(h, tensors)
}

func readHeader(r io.Reader) (header, error) {
	var length [8]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return header{}, fmt.Errorf("%w (%w)", ErrForeign, err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n < 2 || n > longestHeader {
		return header{}, fmt.Errorf("%w (a header of %d bytes, must be 2 to %d)", ErrForeign, n, longestHeader)
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err != nil {
		return header{}, err
	}
	if uint64(len(text)) < n {
		if len(text) > 0 && text[0] != '{' {
			return header{}, ErrForeign
		}
		return header{}, ErrTorn
	}
	if text[0] != '{' {
		return header{}, fmt.Errorf("%w (the header does not begin with {)", ErrForeign)
	}
	h, err := parseHeader(bytes.TrimRight(text, " "))
	if err != nil {
		return header{}, fmt.Errorf("%w (%w)", ErrForeign, err)
	}
	return h, nil
}

// checkFormat comes first: a newer file cannot be checked further.
func (h header) checkFormat() error {
	if h.metadata[keyFormat] != formatName {
		return fmt.Errorf("%w (format is %q, must be %q)", ErrForeign, h.metadata[keyFormat], formatName)
	}
	v, err := strconv.Atoi(h.metadata[keyVersion])
	switch {
	case err != nil || v < 1:
		return fmt.Errorf("%w (version is %q, must be a number)", ErrForeign, h.metadata[keyVersion])
	case v > version:
		return fmt.Errorf("%w (version %d; this program reads up to %d)", ErrNewer, v, version)
	}
	return nil
}

// tensors extracts them from the data, sorted by name. They must fill it without gap or
// overlap, as safetensors requires.
func (h header) tensors(data []byte) ([]nn.Tensor, error) {
	slices.SortFunc(h.names, func(a, b string) int {
		return cmp.Or(cmp.Compare(h.entries[a].Offsets[0], h.entries[b].Offsets[0]),
			cmp.Compare(h.entries[a].Offsets[1], h.entries[b].Offsets[1]), strings.Compare(a, b))
	})
	var out []nn.Tensor
	at := int64(0)
	for _, name := range h.names {
		e := h.entries[name]
		if e.Offsets[1] > int64(len(data)) {
			return nil, fmt.Errorf("%w (tensor %q lies beyond the end)", ErrTorn, name)
		}
		size, err := e.size(int64(len(data)))
		if err != nil {
			return nil, fmt.Errorf("%w (tensor %q: %w)", ErrMisshapen, name, err)
		}
		if e.Offsets[0] != at {
			return nil, fmt.Errorf("%w (tensor %q begins at %d, must at %d)", ErrMisshapen, name, e.Offsets[0], at)
		}
		at = e.Offsets[1]
		t := nn.Tensor{Name: name, Data: make([]float32, size)}
		for _, n := range e.Shape {
			t.Shape = append(t.Shape, int(n))
		}
		for i := range t.Data {
			t.Data[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[e.Offsets[0]+int64(i)*float32Size:]))
		}
		out = append(out, t)
	}
	if at != int64(len(data)) {
		return nil, fmt.Errorf("%w (%d bytes follow the last tensor)", ErrTorn, int64(len(data))-at)
	}
	slices.SortFunc(out, func(a, b nn.Tensor) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// newFile combines card and tensors and compares them.
func newFile(h header, tensors []nn.Tensor) (*File, error) {
	var card Card
	if err := json.Unmarshal([]byte(h.metadata[keyCard]), &card); err != nil {
		return nil, fmt.Errorf("%w (card: %w)", ErrMisshapen, err)
	}
	f := New(card)
	for _, t := range tensors {
		if name, free := strings.CutPrefix(t.Name, arrayPrefix+"."); free {
			if len(t.Shape) != 1 {
				return nil, fmt.Errorf("%w (array %q has %d dimensions, must have 1)", ErrMisshapen, name, len(t.Shape))
			}
			f.Arrays[name] = t.Data
			continue
		}
		f.tensors = append(f.tensors, t)
	}
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrMisshapen, err)
	}
	return f, nil
}
