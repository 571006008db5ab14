package modelfile

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/nn"
)

func FuzzRead(f *testing.F) {
	whole := encoded(f, sample(f))
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(binary.LittleEndian.AppendUint64(nil, math.MaxUint64))
	f.Add(rewritten(f, func(m map[string]string, all []nn.Tensor) []nn.Tensor {
		m[keyCard] = strings.ReplaceAll(m[keyCard], `"width":4`, `"width":65536`)
		return all
	}))
	f.Add([]byte("\x10\x00\x00\x00\x00\x00\x00\x00{\"__metadata__\":{"))
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		again, err := Read(bytes.NewReader(encoded(t, got)))
		if err != nil || again.Parameters() != got.Parameters() {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
	})
}

// FuzzCard tests behind the checksum: a card of any text in an otherwise valid file.
func FuzzCard(f *testing.F) {
	card := ""
	rewritten(f, func(m map[string]string, all []nn.Tensor) []nn.Tensor {
		card = m[keyCard]
		return all
	})
	f.Add(card)
	f.Add(strings.ReplaceAll(card, `"width":4`, `"width":65536`))
	f.Add(strings.ReplaceAll(card, `"from":[0]`, `"from":[-1,99]`))
	f.Add(`{"kind":"x","networks":{}}`)
	f.Fuzz(func(t *testing.T, card string) {
		file := rewritten(t, func(m map[string]string, all []nn.Tensor) []nn.Tensor {
			m[keyCard] = card
			return all
		})
		got, err := Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		for name := range got.Card.Networks {
			if _, err := got.Net(name); err != nil {
				t.Fatalf("a network that was accepted cannot be built: %v", err)
			}
		}
	})
}
