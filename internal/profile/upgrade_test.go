package profile

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the profiles of the present format to testdata")

func knownSet() *Set {
	return &Set{App: "shop", Profiles: []Profile{{
		Service: "web", Size: Size{CPURequest: 0.5, CPULimit: 1}, Percentile: 99,
		Points: []Point{{Load: 1, Latency: 0.01, Error: 0.001}, {Load: 40, Latency: 0.2}, {Load: 50, Saturated: true}},
	}}, Missing: []Missing{{Service: "cart", Reason: "no load"}}}
}

// TestProfilesOfEveryFormatAreRead: what a release wrote, later ones read. set-0.json is without a
// format, as releases before there was one wrote it.
func TestProfilesOfEveryFormatAreRead(t *testing.T) {
	if *update {
		var b bytes.Buffer
		if err := knownSet().Write(&b); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(fmt.Sprintf("testdata/set-%d.json", setFormat), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("testdata/set-*.json")
	if err != nil || len(files) < setFormat+1 {
		t.Fatalf("there are %d files of %d formats (%v): -update writes the present one", len(files), setFormat+1, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ReadSet(bytes.NewReader(text), path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(s, knownSet()) {
			t.Errorf("%s: %+v", path, s)
		}
	}
}

// TestNewerProfilesAreRefused: the error names the file, its format, the format that is read, and what
// to do.
func TestNewerProfilesAreRefused(t *testing.T) {
	text := fmt.Sprintf(`{"format":%d,"profiles":"another shape"}`, setFormat+1)
	_, err := ReadSet(strings.NewReader(text), "profiles.json")
	want := fmt.Sprintf("profiles.json has format %d, and this program reads %d: use the loadline that wrote it, or measure again",
		setFormat+1, setFormat)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
