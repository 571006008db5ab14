package doctor

import "testing"

// An overshooting trigger needs no tolerance.
func TestOvershootNeedsNoTolerance(t *testing.T) {
	p := healthy(t)
	p.change("ScaledObject", "cart", nil, "spec", "advanced")
	p.change("ScaledObject", "cart", []any{map[string]any{"type": "external",
		"metadata": map[string]any{"loadline": "main", "tolerance": "overshoot"}}}, "spec", "triggers")
	if (want{state: Warning, check: "scaledobject", service: "cart"}).in(p.examine()) {
		t.Error("a tolerance is asked for")
	}
}
