package guard_test

import (
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/guard"
)

func TestRungsAreReadByName(t *testing.T) {
	for text, want := range map[string]guard.Rung{
		"primary": guard.Primary, "rule": guard.Rule, "hold": guard.Hold, "floor": guard.Floor,
		"learned": guard.Primary, // as earlier versions wrote it
	} {
		var got guard.Rung
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s is read as %v: %v", text, got, err)
		}
	}
	var r guard.Rung
	if err := r.UnmarshalText([]byte("roof")); err == nil || !strings.Contains(err.Error(), "must be primary") {
		t.Errorf("roof: %v", err)
	}
}
