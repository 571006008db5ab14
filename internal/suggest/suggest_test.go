package suggest

import "testing"

func TestOf(t *testing.T) {
	known := []string{"bookinfo", "boutique", "sockshop", "hpa"}
	for name, want := range map[string]string{
		"bookinf": "bookinfo", "Botique": "boutique", "hps": "hpa", "hap": "hpa", "boutiqeu": "boutique", "zzzz": "", "": "",
	} {
		if got := Of(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"dya", "day", 1}, {"ca", "abc", 3}} {
		if got := edits(row.a, row.b); got != row.want {
			t.Errorf("%s to %s: %d, want %d", row.a, row.b, got, row.want)
		}
		if edits(row.a, row.b) != edits(row.b, row.a) {
			t.Errorf("%s and %s: not symmetric", row.a, row.b)
		}
	}
}
