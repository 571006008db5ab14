package modelfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	fault := errors.New("it has no actor")
	if err := Save(path, func() (*File, error) { return nil, fault }); !errors.Is(err, fault) || !strings.Contains(err.Error(),
		"write "+path) {
		t.Errorf("a model that makes no file: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a model that makes no file left one")
	}
	if err := Save(path, func() (*File, error) { return sample(t), nil }); err != nil {
		t.Fatal(err)
	}
	kind, err := Load(path, func(f *File) (string, error) { return f.Card.Kind, nil })
	if err != nil || kind != "test/pair" {
		t.Errorf("loaded %q: %v", kind, err)
	}
	kind, err = Load(path, func(f *File) (string, error) { return "half", fault })
	if !errors.Is(err, fault) || !strings.HasPrefix(err.Error(), path+": ") || kind != "" {
		t.Errorf("a file that is refused: %q, %v", kind, err)
	}
	if _, err = Load(path+"x", func(*File) (int, error) { return 1, nil }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestSettingsAreTaken(t *testing.T) {
	type all struct{ Window int }
	for _, row := range []struct {
		name, settings string
		taken, known   bool
	}{
		{"what is known", `{"window":3}`, true, true},
		{"a field of another version", `{"window":3,"depth":1}`, true, false},
		{"another type", `{"window":"3"}`, false, false},
		{"none at all", "", false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := Card{Settings: []byte(row.settings)}
			for _, way := range []struct {
				take func(any) error
				want bool
			}{{c.TakeSettings, row.taken}, {c.TakeKnownSettings, row.known}} {
				var s all
				err := way.take(&s)
				if (err == nil) != way.want || err == nil && s.Window != 3 {
					t.Errorf("%+v, %v", s, err)
				}
				if err != nil && (!strings.HasPrefix(err.Error(), "its settings cannot be read: ") || !strings.HasSuffix(err.Error(),
					"; train it again")) {
					t.Error(err)
				}
			}
		})
	}
}

// TestAModelWithinAnother embeds two models beside a network, and extracts each unchanged.
func TestAModelWithinAnother(t *testing.T) {
	file := sample(t)
	own := New(Card{Kind: "test/one", Features: []Feature{{Name: "cpu", Spread: 1}}})
	net, err := file.Net("actor")
	if err != nil {
		t.Fatal(err)
	}
	own.Add("member", net)
	for _, prefix := range []string{"a1-", "a11-"} {
		if net, err = own.Net("member"); err != nil {
			t.Fatal(err)
		}
		net.Params()[0] = float32(len(prefix))
		own.Add("member", net)
		card, err := file.Embed(prefix, own)
		if err != nil {
			t.Fatal(err)
		}
		if card.Networks != nil || card.Kind != "test/one" || !slices.Equal(card.FeatureNames(), []string{"cpu"}) {
			t.Errorf("card %+v", card)
		}
		again, err := file.Embedded(prefix, card)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := encoded(t, own), encoded(t, again); !slices.Equal(want, got) {
			t.Errorf("%s: %d bytes, want %d", prefix, len(got), len(want))
		}
	}
	if _, err := file.Net("a1-member"); err != nil || len(file.Card.Networks) != 4 {
		t.Errorf("networks %q: %v", sortedKeys(file.Card.Networks), err)
	}
}
