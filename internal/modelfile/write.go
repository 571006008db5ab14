package modelfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/loadline/loadline/internal/atomicfile"
)

// Encode writes the file's bytes. The same model gives the same bytes.
func (f *File) Encode(w io.Writer) error {
	if err := f.check(); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	card, err := json.Marshal(f.Card)
	if err != nil {
		return fmt.Errorf("model card: %w", err)
	}
	// Settings are written as they are; the header would replace what is not UTF-8, and the checksum of
	// the card would not match.
	card = bytes.ToValidUTF8(card, []byte("\uFFFD"))
	metadata := map[string]string{keyFormat: formatName, keyVersion: strconv.Itoa(version), keyCard: string(card)}
	tensors := f.all()
	metadata[keyChecksum] = digest(metadata, tensors)
	head := map[string]any{metadataKey: metadata}
	at := int64(0)
	for _, t := range tensors {
		end := at + int64(len(t.Data)*float32Size)
		shape := make([]int64, len(t.Shape))
		for i, n := range t.Shape {
			shape[i] = int64(n)
		}
		head[t.Name] = entry{Type: float32Type, Shape: shape, Offsets: [2]int64{at, end}}
		at = end
	}
	text, err := json.Marshal(head)
	if err != nil {
		return fmt.Errorf("model header: %w", err)
	}
	// Tensors begin at a multiple of eight, as the library writes them.
	text = append(text, bytes.Repeat([]byte{' '}, (8-len(text)%8)%8)...)
	if len(text) > longestHeader {
		return fmt.Errorf("model header has %d bytes, must be at most %d", len(text), longestHeader)
	}
	out := bytes.NewBuffer(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))
	out.Write(text)
	for _, t := range tensors {
		out.Write(littleEndian(t.Data))
	}
	_, err = w.Write(out.Bytes())
	return err
}

// Write writes the model to a path atomically.
func (f *File) Write(path string) error { return atomicfile.Write(path, f.Encode) }
