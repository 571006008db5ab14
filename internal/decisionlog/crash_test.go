package decisionlog

import (
	"bufio"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

const writerVariable = "DECISIONLOG_TEST_WRITER"

// TestMain is also the writer that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(writerVariable); dir != "" {
		writeForEver(dir)
	}
	os.Exit(m.Run())
}

func writeForEver(dir string) {
	l, err := Open(dir, Options{SegmentBytes: 30_000, TotalBytes: 10 << 20, Sync: -1})
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	app := sampleApp()
	for n := 0; ; n++ {
		if err := l.Append(app, sampleRecord(app, n)); err != nil {
			os.Exit(1)
		}
		if n == 20 {
			os.Stdout.WriteString("written\n")
		}
	}
}

func TestAKilledWriter(t *testing.T) {
	dir := t.TempDir()
	writer := exec.Command(os.Args[0])
	writer.Env = append(os.Environ(), writerVariable+"="+dir)
	out, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || said != "written\n" {
		writer.Process.Kill()
		t.Fatalf("the writer said %q, %v", said, err)
	}
	if _, err := Open(dir, Options{}); err == nil {
		t.Error("two writers")
	}
	if err := writer.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	writer.Wait()

	before, damage := numbers(t, dir)
	for _, d := range damage {
		if !d.Tail {
			t.Errorf("damage %v", d)
		}
	}
	wantRun(t, before, 0, len(before))
	if len(before) < 21 {
		t.Errorf("%d records, and 21 were written before the kill", len(before))
	}
	l := open(t, dir, Options{SegmentBytes: 30_000, TotalBytes: 10 << 20})
	fill(t, l, len(before), len(before)+1)
	after, damage := numbers(t, dir)
	if wantRun(t, after, 0, len(before)+1); len(damage) > 0 {
		t.Errorf("damage %v", damage)
	}
}

// Readers open and close while the log is written, rotated and dropped, and see records without
// a gap.
func TestReadingWhileItIsWritten(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{SegmentBytes: 20_000, TotalBytes: 60_000, Sync: -1})
	fill(t, l, 0, 1)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					readOnce(t, dir)
				}
			}
		})
	}
	fill(t, l, 1, 150)
	close(stop)
	readers.Wait()
}

func readOnce(t *testing.T, dir string) {
	r, err := OpenReader(dir)
	if err != nil {
		t.Error(err)
		return
	}
	var last time.Time
	for i := range r.Segments() {
		err := r.Read(i, func(e Entry) error {
			if e.App == nil || !last.IsZero() && !e.Record.At.After(last) {
				t.Errorf("record of %v after that of %v", e.Record.At, last)
			}
			last = e.Record.At
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	for _, d := range r.Damage {
		if !d.Tail {
			t.Errorf("damage %v", d)
		}
	}
}
