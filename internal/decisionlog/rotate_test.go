package decisionlog

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/atomicfile"
)

func TestTheLogIsBounded(t *testing.T) {
	dir := t.TempDir()
	o := Options{SegmentBytes: 20_000, TotalBytes: 40_000, Sync: -1}
	l := open(t, dir, o)
	for n := range 400 {
		fill(t, l, n, n+1)
		files, bytes := size(t, dir)
		if bytes > o.TotalBytes {
			t.Fatalf("%d bytes after record %d", bytes, n)
		}
		if all, _ := listSegments(dir); files > 0 && all[files-1].size > o.SegmentBytes {
			t.Fatalf("a segment of %d bytes after record %d", all[files-1].size, n)
		}
		if n == 200 { // a writer that is opened again respects it
			l.Close()
			l = open(t, dir, o)
		}
	}
	got, _ := numbers(t, dir)
	wantRun(t, got, 400-len(got), 400)
	if len(got) < 60 {
		t.Errorf("only %d records are left in %d bytes", len(got), o.TotalBytes)
	}
	if all, _ := listSegments(dir); all[0].number == 1 {
		t.Error("the first segment is still there")
	}
}

func TestSegmentsHoldSoMuchTime(t *testing.T) {
	dir := t.TempDir()
	o := Options{SegmentSpan: time.Minute, Keep: 3 * time.Minute, Sync: -1}
	fill(t, open(t, dir, o), 0, 40) // ten minutes
	got, _ := numbers(t, dir)
	// Three minutes are kept, and what shares a segment with them.
	if wantRun(t, got, 40-len(got), 40); len(got) < 13 || len(got) > 20 {
		t.Errorf("%d records are left, want three to five minutes of four each", len(got))
	}
	if files, _ := size(t, dir); files < 4 || files > 5 {
		t.Errorf("%d segments, want one a minute", files)
	}
}

func TestARecordLargerThanASegmentIsRefused(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{SegmentBytes: 20_000, TotalBytes: 60_000})
	app := sampleApp()
	r := sampleRecord(app, 0)
	r.Error = strings.Repeat("x", 20_000)
	if err := l.Append(app, r); err == nil || !strings.Contains(err.Error(), "larger than a segment") {
		t.Errorf("err %v", err)
	}
	fill(t, l, 1, 3)
	got, damage := numbers(t, dir)
	if wantRun(t, got, 1, 3); len(damage) > 0 {
		t.Errorf("damage %v", damage)
	}
}

// A partial line that could be neither completed nor undone is kept, and the next record begins
// a segment.
func TestAWriteThatFails(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{Sync: -1})
	fill(t, l, 0, 1)
	l.file.Close() // as if the disk had failed
	if err := l.Append(sampleApp(), sampleRecord(sampleApp(), 1)); err == nil {
		t.Fatal("no error")
	}
	l.retire()
	fill(t, l, 2, 4)
	got, _ := numbers(t, dir)
	if len(got) != 3 || got[0] != 0 || got[1] != 2 || got[2] != 3 {
		t.Errorf("records %v", got)
	}
}

func TestAnApplicationThatChangesIsWrittenAgain(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	app, same, other := sampleApp(), sampleApp(), sampleApp()
	other.Services[0].Bounds.MaxReplicas = 99
	for n, a := range []*loadline.App{app, app, same, other} {
		if err := l.Append(a, sampleRecord(a, n)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(segmentPath(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), `{"v":1,"app":`); n != 2 {
		t.Errorf("%d applications, want the first and the changed one", n)
	}
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	var most []int
	err = r.Read(0, func(e Entry) error { most = append(most, e.App.Services[0].Bounds.MaxReplicas); return nil })
	if err != nil || len(most) != 4 || most[2] != 10 || most[3] != 99 {
		t.Errorf("bounds %v", most)
	}
}

// Wherever a writer was killed during compression, each record is present once.
func TestKilledWhilePacking(t *testing.T) {
	dir := t.TempDir()
	o := Options{SegmentBytes: 20_000, TotalBytes: 60_000, Sync: -1}
	l := open(t, dir, o)
	fill(t, l, 0, 20)
	l.Close()
	all, err := listSegments(dir)
	if err != nil || len(all) < 3 || !all[0].packed() || !all[1].packed() || all[len(all)-1].packed() {
		t.Fatalf("segments %v, %v", all, err)
	}
	plain := make([]string, 2)
	for i := range plain {
		text, err := all[i].open()
		if err != nil {
			t.Fatal(err)
		}
		whole, err := io.ReadAll(text)
		if err != nil {
			t.Fatal(err)
		}
		text.Close()
		plain[i] = segmentPath(dir, all[i].number)
		if err := os.WriteFile(plain[i], whole, 0o644); err != nil { // packed, and not yet removed
			t.Fatal(err)
		}
	}
	if err := os.Remove(all[1].path); err != nil { // closed, and not yet packed
		t.Fatal(err)
	}
	part := filepath.Join(dir, ".decisions-000002.log.gz.1"+atomicfile.Suffix)
	if err := os.WriteFile(part, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, _ := numbers(t, dir)
	wantRun(t, got, 0, 20)
	fill(t, open(t, dir, o), 20, 21)
	got, damage := numbers(t, dir)
	if wantRun(t, got, 0, 21); len(damage) > 0 {
		t.Errorf("damage %v", damage)
	}
	for _, path := range append(plain, part) {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
}

func TestAPackedSegmentThatIsDamaged(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{SegmentBytes: 20_000, TotalBytes: 60_000, Sync: -1})
	fill(t, l, 0, 20)
	l.Close()
	all, err := listSegments(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(all[0].path)
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string][]byte{"cut": text[:len(text)/2], "foreign": []byte("no gzip"), "empty": nil} {
		if err := os.WriteFile(all[0].path, broken, 0o644); err != nil {
			t.Fatal(err)
		}
		got, damage := numbers(t, dir)
		if len(got) < 10 || got[len(got)-1] != 19 {
			t.Errorf("%s: records %v, want those of the other segments", name, got)
		}
		if len(damage) != 1 || !strings.Contains(damage[0].String(), "cannot be read from byte") {
			t.Errorf("%s: damage %v", name, damage)
		}
		open(t, dir, Options{}).Close()
	}
}
