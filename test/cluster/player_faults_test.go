package cluster

import (
	"testing"
	"time"
)

func TestFaultyPages(t *testing.T) {
	now := time.UnixMilli(1_000_000_500)
	const text = "# TYPE cpu counter\ncpu{pod=\"a\"} 12.5\nup 1\n"
	const open = "# TYPE cpu counter\ncpu{pod=\"a\"} 12.5 # {trace=\"b\"} 1\n# EOF\n"
	for _, c := range []struct {
		name  string
		fault Fault
		page  string
		want  string
	}{
		{"zero", Zero, text, "# TYPE cpu counter\ncpu{pod=\"a\"} 0\nup 0\n"},
		{"not a number", NotANumber, text, "# TYPE cpu counter\ncpu{pod=\"a\"} NaN\nup NaN\n"},
		{"a clock that is behind", Behind, text, "# TYPE cpu counter\ncpu{pod=\"a\"} 12.5 999970500\nup 1 999970500\n"},
		{"a clock that is ahead", Ahead, text, "# TYPE cpu counter\ncpu{pod=\"a\"} 12.5 1000090500\nup 1 1000090500\n"},
		{"an hour ago", Old, text, "# TYPE cpu counter\ncpu{pod=\"a\"} 12.5 996400500\nup 1 996400500\n"},
		{"nothing", Empty, text, ""},
		{"nothing in OpenMetrics", Empty, open, "# EOF\n"},
	} {
		if got := string(c.fault.distort([]byte(c.page), now)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
