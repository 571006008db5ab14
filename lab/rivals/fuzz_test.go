package rivals

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/loadline/loadline/internal/modelfile"
)

// FuzzFromFile: a model file of a rival with any card, and without some of its arrays, is opened or
// gives an error; what is opened makes a rival or an error.
func FuzzFromFile(f *testing.F) {
	app := chain()
	whole, _ := firm(f, app, 1, 0, 0)
	from, err := whole.File()
	if err != nil {
		f.Fatal(err)
	}
	from.Arrays["table"], from.Arrays["tried"] = []float32{1, 2}, []float32{1}
	for i, name := range Names() {
		from.Card.Kind = FileKind(name)
		card, err := json.Marshal(from.Card)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(card, uint8(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, card []byte, which, without uint8) {
		file := *from
		file.Card, file.Arrays = modelfile.Card{}, maps.Clone(from.Arrays)
		if json.Unmarshal(card, &file.Card) != nil {
			return
		}
		if names := slices.Sorted(maps.Keys(file.Arrays)); int(without) < len(names) {
			delete(file.Arrays, names[without])
		}
		m, err := FromFile(Names()[int(which)%len(Names())], &file)
		if err != nil {
			return
		}
		if m.Period <= 0 || len(m.Services) == 0 {
			t.Fatalf("it was accepted: %+v", m)
		}
		_, _ = New(m, app, 0)
	})
}
