package formulation

import (
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

func TestEveryFeatureHasAPhrase(t *testing.T) {
	for _, name := range FeatureNames() {
		phrase := phrases[name]
		if phrase == nil {
			t.Errorf("feature %s has no phrase", name)
			continue
		}
		if text := phrase(0.42); text == "" && name != "depth" || strings.Contains(text, "%!") {
			t.Errorf("feature %s at 0.42: %q", name, text)
		}
	}
	if len(phrases) != len(features) {
		t.Errorf("%d phrases for %d features", len(phrases), len(features))
	}
}

func TestDescribe(t *testing.T) {
	values := []float64{1.234, 0, -0.5, 2}
	names := []string{"cpu", "queue", "trend", "need"}
	rate := loadline.Sample{Value: 246.2, At: time.Unix(1, 0)}
	const want = "246 req/s, CPU at 123 % of the request, load -29 % in a minute, work for 3 full replicas"
	if got := Describe(rate, names, func(i int) float64 { return values[i] }); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Describe(rate, []string{"rate"}, func(int) float64 { return 7 }); got != "7 req/s" {
		t.Errorf("%q: the rate twice", got)
	}
}

func TestEveryMoveIsDescribed(t *testing.T) {
	for _, f := range Formulations() {
		for _, m := range f.Moves {
			if text := describeMove(m.Name); !strings.Contains(text, " ") {
				t.Errorf("%s: move %q is %q", f.Name, m.Name, text)
			}
		}
	}
}
