package decisionlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// stored opens logs of a store.
func stored(t *testing.T, s *Store, name string) *StoredLog {
	t.Helper()
	l, err := s.Open("shop", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// grow appends records until the log has grown by some bytes.
func grow(t *testing.T, l *StoredLog, from int, records int) {
	t.Helper()
	app := sampleApp()
	for n := from; n < from+records; n++ {
		if err := l.Append(app, sampleRecord(app, n)); err != nil {
			t.Fatalf("record %d: %v", n, err)
		}
	}
}

// onDisk is the size of all files below a folder.
func onDisk(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		bytes += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// TestLogsShareOneSize: many applications together stay within the size of the store, a busy one takes what
// others leave and does not displace the records of a quiet one.
func TestLogsShareOneSize(t *testing.T) {
	dir := t.TempDir()
	const most = 64 << 10
	s, err := NewStore(dir, most, Options{SegmentBytes: 16 << 10, TotalBytes: 1 << 30, Sync: -1})
	if err != nil {
		t.Fatal(err)
	}
	quiet := stored(t, s, "quiet")
	grow(t, quiet, 0, 6)
	before := quiet.Size()
	largest := int64(0)
	busy := stored(t, s, "busy")
	for n := 0; n < 400; n += 25 {
		grow(t, busy, n, 25)
		if got := onDisk(t, dir); got > most {
			t.Fatalf("%d bytes after %d records, may have %d", got, n, most)
		}
		largest = max(largest, busy.Size())
	}
	if largest < most/2 {
		t.Errorf("the busy log had %d bytes at most of %d: it could have had what the other left", largest, most)
	}
	if quiet.Size() != before {
		t.Errorf("the quiet log has %d bytes, had %d", quiet.Size(), before)
	}
	// A third and a fourth get their share, at the cost of the busy one.
	for _, name := range []string{"c", "d"} {
		grow(t, stored(t, s, name), 0, 60)
	}
	if got := onDisk(t, dir); got > most {
		t.Errorf("%d bytes, may have %d", got, most)
	}
	if busy.Size() >= largest || quiet.Size() != before {
		t.Errorf("busy has %d bytes, quiet %d", busy.Size(), quiet.Size())
	}
}

// TestAStoreWithoutRoomSaysSo: where all that there is is being written, nothing is dropped and the record
// is refused.
func TestAStoreWithoutRoomSaysSo(t *testing.T) {
	s, err := NewStore(t.TempDir(), 64<<10, Options{SegmentBytes: 16 << 10, TotalBytes: 1 << 30, Sync: -1})
	if err != nil {
		t.Fatal(err)
	}
	app := sampleApp()
	for i := range 20 {
		l := stored(t, s, fmt.Sprint("app-", i))
		for n := range 4 {
			err = errors.Join(err, l.Append(app, sampleRecord(app, n)))
		}
	}
	if !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	if _, err := NewStore(t.TempDir(), 1, Options{}); err == nil {
		t.Error("a store of one byte")
	}
}

// TestLogsOfDeletedApplicationsAreRemoved, some time after their last record; those that are there, written
// or young stay.
func TestLogsOfDeletedApplicationsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	s, err := NewStore(dir, 1<<20, Options{SegmentBytes: 16 << 10, Sync: -1})
	if err != nil {
		t.Fatal(err)
	}
	old := noon.Add(-25 * time.Hour)
	for _, name := range []string{"gone", "there", "young", "written"} {
		l := stored(t, s, name)
		grow(t, l, 0, 3)
		if name != "written" {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if name == "young" {
			old = noon
		}
		paths, err := filepath.Glob(filepath.Join(dir, "shop", name, segmentPrefix+"*"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%v, %v", paths, err)
		}
		for _, path := range paths {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
		old = noon.Add(-25 * time.Hour)
	}
	known := func(namespace, name string) bool { return namespace == "shop" && name == "there" }
	for range 2 {
		removed, err := s.Sweep(noon, 24*time.Hour, known)
		if err != nil || len(removed) > 1 || len(removed) == 1 && removed[0] != filepath.Join("shop", "gone") {
			t.Errorf("removed %v, %v", removed, err)
		}
	}
	for name, want := range map[string]bool{"gone": false, "there": true, "young": true, "written": true} {
		if _, err := os.Stat(filepath.Join(dir, "shop", name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	again, err := NewStore(dir, 1<<20, Options{SegmentBytes: 16 << 10})
	if err != nil || len(again.other) != 3 {
		t.Errorf("a later process finds %v, %v", again, err)
	}
}
