package pool

import (
	"strings"
	"testing"
)

func TestParseQuota(t *testing.T) {
	for _, c := range []struct{ text, want, err string }{
		{"", "", ""},
		{"cpu=20,memory=40Gi,pods=100", "pods=100,requests.cpu=20,requests.memory=40Gi", ""},
		{"limits.cpu=500m,limits.memory=1Gi", "limits.cpu=0.5,limits.memory=1Gi", ""},
		{"cpus=20", "", `unknown resource "cpus"; did you mean "cpu"?`},
		{"cpu=-1", "", "cpu=-1: must be cores such as 20 or 500m, above 0"},
		{"pods=1Gi", "", "pods=1Gi: must be a number such as 100, above 0"},
		{"cpu=1,requests.cpu=2", "", "requests.cpu is given twice"},
	} {
		q, err := ParseQuota(c.text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v, want %q", c.text, err, c.err)
			}
			continue
		}
		if got := QuotaString(q); err != nil || got != c.want {
			t.Errorf("%q is %q, %v; want %q", c.text, got, err, c.want)
		}
	}
}
