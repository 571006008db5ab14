package forecast

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/modelfile"
)

// TestForecastersWithinAnotherModel: a service without one stays without, and those of the
// others are unchanged.
func TestForecastersWithinAnotherModel(t *testing.T) {
	gru := fitted(t, "gru", noisyDays(400, 1)).Model().(*GRU)
	services := []string{"web", "cart", "stock"}
	file := modelfile.New(modelfile.Card{Kind: "test/policy"})
	cards, err := Embed(file, services, []*GRU{gru, nil, gru})
	if err != nil {
		t.Fatal(err)
	}
	if cards["web"].Training.Data != "web" || cards["cart"] != nil || len(cards) != 2 {
		t.Errorf("cards %v", cards)
	}
	got, err := Embedded(file, services, cards)
	if err != nil {
		t.Fatal(err)
	}
	if got[0] == nil || got[1] != nil || got[2] == nil {
		t.Fatalf("%v", got)
	}
	if want := encodedGRU(t, gru); !slices.Equal(encodedGRU(t, got[0]), want) || !slices.Equal(encodedGRU(t, got[2]), want) {
		t.Error("a forecaster is not as it was")
	}
	if none, err := Embedded(file, services, nil); err != nil || len(none) != 3 || none[0] != nil {
		t.Errorf("without cards: %v, %v", none, err)
	}
	cards["stock"].Kind = "policy/dqn"
	if _, err := Embedded(file, services, cards); err == nil || !strings.HasPrefix(err.Error(), "forecaster of stock: ") {
		t.Errorf("another kind: %v", err)
	}
}

func encodedGRU(t *testing.T, m *GRU) []byte {
	t.Helper()
	file, err := m.File("", nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := file.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
