package decisionlog

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// TestTimeOfADecisionWithoutDecoding: it is that of the record, for every line of the format; and what is not
// wanted is not visited.
func TestTimeOfADecisionWithoutDecoding(t *testing.T) {
	text, err := os.ReadFile("testdata/format.log")
	if err != nil {
		t.Fatal(err)
	}
	decisions := 0
	for line := range bytes.Lines(text) {
		object, err := checkLine(bytes.TrimSuffix(line, []byte{'\n'}))
		if err != nil {
			t.Fatal(err)
		}
		l, err := parseLine(object, "x")
		if err != nil {
			t.Fatal(err)
		}
		at, known := decidedAt(object)
		if known != (l.Decision != nil) || known && !at.Equal(l.Decision.At) {
			t.Errorf("%v, %v of %.80s", at, known, object)
		}
		if known {
			decisions++
		}
	}
	if decisions == 0 {
		t.Fatal("the file has no decision")
	}
	var r Reader
	if err := r.readAll(bytes.NewReader(text), "x", func(time.Time) bool { return false }, func(Entry) error {
		t.Error("a decision that is not wanted is visited")
		return nil
	}); err != nil || len(r.Damage) != 0 {
		t.Errorf("%v, %v", err, r.Damage)
	}
}
