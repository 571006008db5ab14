package cli

import (
	"strings"
	"testing"
	"time"
)

func TestObjectivesAreReadAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct {
		text, kind string
		percentile float64
		latency    time.Duration
		fault      string
	}{
		{"99% < 250ms", "", 99, 250 * time.Millisecond, ""},
		{"99.9 %<1.5s", "", 99.9, 1500 * time.Millisecond, ""},
		{"checkout: 95% < 2s", "checkout", 95, 2 * time.Second, ""},
		{"GET /a:b : 95% <= 2s", "GET /a:b", 95, 2 * time.Second, ""},
		{"250ms", "", 0, 0, "must be like"},
		{"99 < 250ms", "", 0, 0, "like 99%"},
		{"100% < 250ms", "", 0, 0, "between 0% and 100%"},
		{"99% < 250", "", 0, 0, "above 0, like 250ms"},
		{"99% < -1s", "", 0, 0, "above 0"},
		{": 99% < 1s", "", 0, 0, "is empty"},
	} {
		o, err := parseObjective(c.text)
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%q: err %v, want %q in it", c.text, err, c.fault)
			}
			continue
		}
		if err != nil || o.Kind != c.kind || o.SLO.Percentile != c.percentile || o.SLO.Latency != c.latency {
			t.Errorf("%q: %+v, %v", c.text, o, err)
		}
	}
}
