package modelfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/loadline/loadline/internal/nn"
)

// Keys and values of the metadata.
const (
	keyFormat   = "format"
	keyVersion  = "version"
	keyCard     = "card"
	keyChecksum = "checksum"

	formatName = "loadline-model"
	version    = 1
)

const metadataKey = "__metadata__"

// entry is a tensor in a safetensors header.
type entry struct {
	Type    string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

const float32Type, float32Size = "F32", 4

// header is a safetensors header.
type header struct {
	metadata map[string]string
	names    []string // in the order of the file
	entries  map[string]entry
}

// parseHeader rejects duplicate keys: which one counts would depend on the reader.
func parseHeader(text []byte) (header, error) {
	h := header{entries: map[string]entry{}}
	d := json.NewDecoder(bytes.NewReader(text))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return h, fmt.Errorf("the header is not a JSON object")
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return h, fmt.Errorf("the header is not JSON: %w", err)
		}
		name, _ := token.(string)
		if _, twice := h.entries[name]; twice || (name == metadataKey && h.metadata != nil) {
			return h, fmt.Errorf("the header names %q twice", name)
		}
		if name == metadataKey {
			if err := d.Decode(&h.metadata); err != nil {
				return h, fmt.Errorf("%s must be a map of strings: %w", metadataKey, err)
			}
			continue
		}
		var e entry
		if err := d.Decode(&e); err != nil {
			return h, fmt.Errorf("tensor %q: %w", name, err)
		}
		h.names, h.entries[name] = append(h.names, name), e
	}
	if _, err := d.Token(); err != nil {
		return h, fmt.Errorf("the header is not JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return h, fmt.Errorf("the header goes on after its end")
	}
	return h, nil
}

// size is the number of values of a shape, if it is valid and within the file.
func (e entry) size(bytes int64) (int64, error) {
	if e.Type != float32Type {
		return 0, fmt.Errorf("type %q, must be %s", e.Type, float32Type)
	}
	if len(e.Shape) == 0 || len(e.Shape) > 8 {
		return 0, fmt.Errorf("%d dimensions, must be 1 to 8", len(e.Shape))
	}
	size := int64(1)
	for _, n := range e.Shape {
		if n < 0 || n > bytes || size*max(n, 1) > bytes {
			return 0, fmt.Errorf("shape %v is larger than the file", e.Shape)
		}
		size *= n
	}
	if e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1] > bytes {
		return 0, fmt.Errorf("lies at %v of %d bytes", e.Offsets, bytes)
	}
	if e.Offsets[1]-e.Offsets[0] != size*float32Size {
		return 0, fmt.Errorf("has %d bytes, shape %v needs %d", e.Offsets[1]-e.Offsets[0], e.Shape, size*float32Size)
	}
	return size, nil
}

// digest is over the metadata except itself, and over every tensor's name, shape and bytes,
// each preceded by its length, so that nothing can move from one to the other unnoticed.
// Tensors are sorted by name.
func digest(metadata map[string]string, tensors []nn.Tensor) string {
	h := sha256.New()
	for _, key := range sortedKeys(metadata) {
		if key != keyChecksum {
			hashText(h, key)
			hashText(h, metadata[key])
		}
	}
	for _, t := range tensors {
		hashText(h, t.Name)
		hashText(h, fmt.Sprint(t.Shape))
		hashText(h, string(littleEndian(t.Data)))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func hashText(h hash.Hash, text string) {
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))
	io.WriteString(h, text)
}

func littleEndian(values []float32) []byte {
	out := make([]byte, 0, len(values)*float32Size)
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}
