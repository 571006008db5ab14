package history

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

var update = flag.Bool("update", false, "write the history of the present version to testdata")

// known is a history of two services, with values that are absent.
func known() *History {
	h := &History{
		Manifest: Manifest{Source: "test", Namespace: "shop", By: "loadline test", Notes: []string{"a note"},
			Absent: []Absence{{"service", "queue", "not measured", "none"}}},
		Start: epoch, Step: 15 * time.Second, Steps: 3,
		Services: []Service{{Name: "cart"}, {Name: "web"}},
	}
	nan := NewSeries(1)[0] // absent
	h.Services[1].Series[loadline.ServiceRate] = Series{1, nan, 3}
	h.Services[1].Series[loadline.ServiceCPU] = Series{0.5, 0.25, 0}
	h.Services[0].Series[loadline.ServiceRate] = Series{nan, 7, 8}
	h.Tidy()
	return h
}

// TestHistoriesOfEveryVersionAreRead: what a release wrote, later ones read. testdata has a folder of
// every version.
func TestHistoriesOfEveryVersionAreRead(t *testing.T) {
	if *update {
		dir := fmt.Sprintf("testdata/past-%d", Version)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := Write(dir, known()); err != nil {
			t.Fatal(err)
		}
	}
	dirs, err := filepath.Glob("testdata/past-*")
	if err != nil || len(dirs) < Version {
		t.Fatalf("there are %d histories of %d versions (%v): -update writes the present one", len(dirs), Version, err)
	}
	want := known()
	for _, dir := range dirs {
		h, err := Read(dir, Options{})
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		if h.Steps != want.Steps || !h.Start.Equal(want.Start) || h.Step != want.Step || h.Manifest.Source != "test" ||
			!reflect.DeepEqual(h.Manifest.Absent, want.Manifest.Absent) {
			t.Errorf("%s: %+v", dir, h.Manifest)
		}
		if len(h.Services) != 2 {
			t.Fatalf("%s: services %+v", dir, h.Services)
		}
		for i := range want.Services {
			got, want := fmt.Sprint(h.Services[i].Name, h.Services[i].Series), fmt.Sprint(want.Services[i].Name, want.Services[i].Series)
			if got != want {
				t.Errorf("%s: got %s\nwant %s", dir, got, want)
			}
		}
	}
}

// TestNewerHistoriesAreRefused: the error names the file, its version, the version that is read, and
// what to do.
func TestNewerHistoriesAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fmt.Sprintf("testdata/past-%d", Version))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ManifestFile)
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"version":%d,"steps":"another shape"}`, Version+1), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Read(dir, Options{})
	for _, want := range []string{path, fmt.Sprintf("version %d is newer than this program reads (%d)", Version+1, Version),
		"use the Loadline that wrote it"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
