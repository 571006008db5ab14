package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestResultsOfThisFormatAreRead: testdata/drift.json was written by an earlier commit, and `make
// check` compares with it.
func TestResultsOfThisFormatAreRead(t *testing.T) {
	r, err := ReadResults("testdata/drift.json")
	if err != nil {
		t.Fatal(err)
	}
	if r.Format != FormatVersion || r.Suite != "drift" || len(r.Rows) == 0 {
		t.Errorf("format %d, suite %q, %d rows", r.Format, r.Suite, len(r.Rows))
	}
}

// TestNewerResultsAreRefused: the error names the file, its format, the format that is read, and what
// to do.
func TestNewerResultsAreRefused(t *testing.T) {
	text, err := os.ReadFile("testdata/drift.json")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), ResultsJSON)
	was, now := fmt.Appendf(nil, `"format": %d`, FormatVersion), fmt.Appendf(nil, `"format": %d`, FormatVersion+1)
	if err := os.WriteFile(path, bytes.Replace(text, was, now, 1), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = ReadResults(path)
	var other *OtherVersionError
	want := fmt.Sprintf("%s has format %d, and this program reads %d: use the loadline that wrote it, or run", path, FormatVersion+1,
		FormatVersion)
	if !errors.As(err, &other) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
