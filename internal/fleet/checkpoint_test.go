package fleet

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// FuzzReadCheckpoint: any checkpoint is read or gives an error that names it; what is read counts on,
// and comes back when it is written.
func FuzzReadCheckpoint(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, checkpointName)
	l := Ledger{StreamCreated: time.Unix(1000, 0).UTC(), Last: 7, Counted: 5, Marks: map[string]drpc.Position{"web": {}}, Digest: "ab"}
	if err := writeCheckpoint(dir, "shop", &l); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"layout":1,"fleet":"shop","marks":null,"last":18446744073709551615}`))
	f.Add([]byte(`{"layout":99,"fleet":"shop"}`))
	f.Add([]byte(`{"layout":1,"fleet":"other"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := readCheckpoint(dir, "shop")
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("%v does not name the file", err)
			}
			return
		}
		if err := writeCheckpoint(dir, "shop", &l); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := readCheckpoint(dir, "shop")
		if err != nil || !reflect.DeepEqual(again, l) {
			t.Fatalf("%+v came back as %+v, %v", l, again, err)
		}
		before := l.Counted + l.Repeated
		for range 2 {
			l.Count(&drpc.Delivery{Sequence: 3, Experience: experience("web", 1, 1)})
		}
		if l.Counted+l.Repeated-before != 2 {
			t.Errorf("two deliveries: %+v", l)
		}
	})
}

var update = flag.Bool("update", false, "write the checkpoint of the present layout to testdata")

func knownLedger() Ledger {
	return Ledger{
		StreamCreated: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Last: 70, Counted: 60, Repeated: 7,
		Marks:     map[string]drpc.Position{"cart": {Epoch: 3, Sequence: 20}, "web": {Epoch: 2, Sequence: 40}},
		Snapshots: 3, SnapshotsCounted: drpc.Position{Epoch: 1, Sequence: 3}, Version: 5, Digest: "0a1b",
	}
}

// TestCheckpointsOfEveryLayoutAreRead: what a release wrote, later ones read, and count on from it.
func TestCheckpointsOfEveryLayoutAreRead(t *testing.T) {
	if *update {
		l := knownLedger()
		dir := filepath.Join("testdata", fmt.Sprintf("checkpoint-%d", checkpointLayout))
		if err := errors.Join(os.MkdirAll(dir, 0o755), writeCheckpoint(dir, "shop", &l)); err != nil {
			t.Fatal(err)
		}
	}
	dirs, err := filepath.Glob("testdata/checkpoint-*")
	if err != nil || len(dirs) < checkpointLayout {
		t.Fatalf("there are %d checkpoints of %d layouts (%v): -update writes the present one", len(dirs), checkpointLayout, err)
	}
	for _, dir := range dirs {
		l, err := readCheckpoint(dir, "shop")
		if err != nil || !reflect.DeepEqual(l, knownLedger()) {
			t.Errorf("%s: %+v, %v", dir, l, err)
		}
		if l.Count(&drpc.Delivery{Sequence: 71, Experience: experience("web", 2, 40)}) {
			t.Errorf("%s: what was counted before is counted again", dir)
		}
	}
}

// TestNewerCheckpointsAreRefused: the error names the file, its layout, the layout that is read, and
// what to do.
func TestNewerCheckpointsAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, checkpointName)
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"layout":%d,"fleet":"shop"}`, checkpointLayout+1), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := readCheckpoint(dir, "shop")
	want := fmt.Sprintf("checkpoint %s has layout %d, and this program reads %d: use the loadline that wrote it, or remove it", path,
		checkpointLayout+1, checkpointLayout)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
