package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"github.com/loadline/loadline/api/v1alpha1"
)

func TestNumber(t *testing.T) {
	for text, want := range map[string]float64{`2`: 2, `"0.85"`: 0.85, `"99.90"`: 99.9, `0`: 0} {
		var n v1alpha1.Number
		if err := json.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		if v, err := n.Float(); err != nil || v != want {
			t.Errorf("%s is %v, %v", text, v, err)
		}
		if again, _ := json.Marshal(n); string(again) != text {
			t.Errorf("%s became %s", text, again)
		}
	}
	for _, text := range []string{`"x"`, `"NaN"`, `"+Inf"`, `""`} {
		var n v1alpha1.Number
		if err := json.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		if v, err := n.Float(); err == nil {
			t.Errorf("%s is %v", text, v)
		}
	}
	for _, v := range []float64{0, 3, 0.7, 14.4, 1e12, 99.99} {
		if got, err := v1alpha1.Decimal(v).Float(); err != nil || got != v {
			t.Errorf("%v became %v, %v", v, got, err)
		}
	}
}
