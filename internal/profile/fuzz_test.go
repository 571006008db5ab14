package profile

import (
	"math"
	"strings"
	"testing"
)

// FuzzReadSet: every accepted set makes monotone curves with valid inverses, or an error.
func FuzzReadSet(f *testing.F) {
	f.Add(`{"app":"a","profiles":[{"service":"s","size":{},"percentile":99,"points":[{"load":1,"latency_seconds":0.1,` +
		`"error_seconds":0},{"load":2,"latency_seconds":0.05,"error_seconds":0.01}]}]}`)
	f.Add(`{"app":"a","profiles":[{"service":"s","percentile":50,"points":[{"load":0,"latency_seconds":0,` +
		`"error_seconds":0,"saturated":true}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		set, err := ReadSet(strings.NewReader(text), "file")
		if err != nil {
			return
		}
		for i := range set.Profiles {
			c, err := set.Profiles[i].Curve()
			if err != nil {
				continue
			}
			last := math.Inf(-1)
			for j, load := range c.Loads {
				latency := c.At(load)
				if !(latency >= last) {
					t.Fatalf("falls from %v to %v", last, latency)
				}
				last = latency
				if back, can := c.LoadAt(c.Latencies[j]); !can || back < load*(1-1e-9) {
					t.Fatalf("at %v/s %v s, but within that %v/s, %v", load, latency, back, can)
				}
			}
		}
	})
}
