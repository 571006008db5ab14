package decisionlog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
)

func open(t testing.TB, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// fill appends the records from..to-1.
func fill(t testing.TB, l *Log, from, to int) {
	t.Helper()
	app := sampleApp()
	for n := from; n < to; n++ {
		if err := l.Append(app, sampleRecord(app, n)); err != nil {
			t.Fatal(err)
		}
	}
}

// numbers of the records that a log holds, in the order of writing.
func numbers(t testing.TB, dir string) ([]int, []Damage) {
	t.Helper()
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for i := range r.Segments() {
		err := r.Read(i, func(e Entry) error {
			if e.App == nil || e.App.Name != "shop" {
				t.Errorf("record of %v without its application", e.Record.At)
			}
			all = append(all, int(e.Record.At.Sub(noon)/(15*time.Second)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all, r.Damage
}

func wantRun(t testing.TB, got []int, from, to int) {
	t.Helper()
	if len(got) != to-from {
		t.Fatalf("records %v, want %d to %d", got, from, to-1)
	}
	for i, n := range got {
		if n != from+i {
			t.Fatalf("records %v, want %d to %d", got, from, to-1)
		}
	}
}

func size(t testing.TB, dir string) (files int, bytes int64) {
	t.Helper()
	all, err := listSegments(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		bytes += s.size
	}
	return len(all), bytes
}

func TestALogGoesOnWhereItEnded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "log")
	l := open(t, dir, Options{})
	fill(t, l, 0, 3)
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(sampleApp(), sampleRecord(sampleApp(), 3)); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed log says %v", err)
	}
	fill(t, open(t, dir, Options{}), 3, 5)
	got, damage := numbers(t, dir)
	wantRun(t, got, 0, 5)
	if files, _ := size(t, dir); files != 1 || len(damage) > 0 {
		t.Errorf("%d segments, damage %v", files, damage)
	}
}

func TestOneWriterAtATime(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, Options{})
	var busy *atomicfile.BusyError
	if _, err := Open(dir, Options{}); !errors.As(err, &busy) || !strings.Contains(err.Error(), "one writer at a time") {
		t.Fatalf("a second writer gets %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, Options{})
}

// The log ends at every byte of its last two records, as if the writer had been killed there.
// They are short, so that this is fast.
func TestTornAtEveryByte(t *testing.T) {
	app := sampleApp()
	add := func(l *Log, n int) {
		t.Helper()
		r := &Record{At: noon.Add(time.Duration(n) * 15 * time.Second), Policy: "hpa", Error: "no data"}
		if err := l.Append(app, r); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	l := open(t, dir, Options{Sync: -1})
	add(l, 0)
	first := l.now.size
	add(l, 1)
	second := l.now.size
	add(l, 2)
	l.Close()
	whole, err := os.ReadFile(segmentPath(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	for cut := first; cut < int64(len(whole)); cut++ {
		if err := os.WriteFile(segmentPath(dir, 1), whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		left := 1
		if cut >= second {
			left = 2
		}
		got, damage := numbers(t, dir)
		wantRun(t, got, 0, left)
		if isWhole := cut == first || cut == second; len(damage) > 1 || isWhole != (len(damage) == 0) || !isWhole && !damage[0].Tail {
			t.Fatalf("cut at %d: damage %v", cut, damage)
		}
		again, err := Open(dir, Options{Sync: -1})
		if err != nil {
			t.Fatal(err)
		}
		add(again, left)
		again.Close()
		got, damage = numbers(t, dir)
		if wantRun(t, got, 0, left+1); len(damage) > 0 {
			t.Fatalf("cut at %d and written on: damage %v", cut, damage)
		}
	}
}

// A segment without a complete line is useless, and harmless.
func TestTornBeginning(t *testing.T) {
	for _, begin := range []string{"", "0", "1234abcd {\"v\":1", "\n", "no log at all\nand no end"} {
		dir := t.TempDir()
		if err := os.WriteFile(segmentPath(dir, 1), []byte(begin), 0o644); err != nil {
			t.Fatal(err)
		}
		l := open(t, dir, Options{})
		fill(t, l, 0, 2)
		l.Close()
		got, damage := numbers(t, dir)
		if wantRun(t, got, 0, 2); len(damage) > 0 {
			t.Errorf("%q: damage %v", begin, damage)
		}
	}
}

func TestDamageInTheMiddleIsSkippedAndReported(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	fill(t, l, 0, 1)
	at := l.now.size
	fill(t, l, 1, 3)
	l.Close()
	text, err := os.ReadFile(segmentPath(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	text[at+200] ^= 1
	if err := os.WriteFile(segmentPath(dir, 1), text, 0o644); err != nil {
		t.Fatal(err)
	}
	check := func(to int) {
		t.Helper()
		got, damage := numbers(t, dir)
		if len(got) != to-1 || got[0] != 0 || got[1] != 2 {
			t.Errorf("records %v", got)
		}
		if len(damage) != 1 || damage[0].Tail || damage[0].At != at || !strings.Contains(damage[0].String(), "checksum") {
			t.Errorf("damage %v", damage)
		}
	}
	check(3)
	// The writer removes tails only: records after the damage are valid.
	fill(t, open(t, dir, Options{}), 3, 4)
	check(4)
}

func TestOptionsSayWhatIsWrong(t *testing.T) {
	_, err := Open(t.TempDir(), Options{SegmentBytes: 1000, TotalBytes: 1500, Keep: -1})
	for _, want := range []string{"total bytes 1500", "keep -1ns"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestAVersionFromTheFuture(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	fill(t, l, 0, 1)
	l.Close()
	object := []byte(`{"v":2,"decision":"something quite new"}`)
	text := make([]byte, sumLength, 100)
	putSum(text, object)
	text[sumLength-1] = ' '
	text = append(append(text, object...), '\n')
	if err := os.WriteFile(segmentPath(dir, 2), text, 0o644); err != nil {
		t.Fatal(err)
	}
	var future *FutureError
	if _, err := Open(dir, Options{}); !errors.As(err, &future) || !strings.Contains(err.Error(), "000002.log is of version 2") {
		t.Errorf("the writer says %v", err)
	}
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Find(time.Time{}, ""); !errors.As(err, &future) || future.Version != 2 {
		t.Errorf("the reader says %v", err)
	}
}

func BenchmarkAppend(b *testing.B) {
	app := sampleApp()
	for name, o := range map[string]Options{"forced": {}, "not-forced": {Sync: -1}} {
		b.Run(name, func(b *testing.B) {
			l := open(b, b.TempDir(), o)
			r := sampleRecord(app, 0)
			b.ReportAllocs()
			for b.Loop() {
				if err := l.Append(app, r); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(l.buffer.Len()))
		})
	}
}
