package controller

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/loadline/loadline/api/v1alpha1"
)

// recording is a controller over a stage that keeps decision logs in a folder.
func recording(t *testing.T, s *stage, dir string) *Controller {
	t.Helper()
	c := New(t.Context(), Options{Client: server(t, s.l), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return s.now },
		Decisions: dir})
	c.restorer = func(string) restorer { return s }
	c.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
		a, err := s.open(ctx, l, latest)
		if err == nil {
			a.cluster.now, a.loop.Clock = c.Now, &realClock{now: c.Now}
			a.records, a.sink = c.recordsOf(l), c.Log
			a.openLog(c.Now())
		}
		return a, err
	}
	return c
}

// logged makes a pass and returns the condition DecisionLog.
func logged(t *testing.T, s *stage, r *runner, a *application) string {
	t.Helper()
	s.now = s.now.Add(a.Needs.Period)
	s.rate.At = s.now
	v, err := r.pass(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if !v.seen || v.outcome() == "failed" {
		t.Errorf("the pass failed: %v", v.err)
	}
	status := v.status(s.l, a.model, nil)
	is := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDecisionLog)
	if is == nil {
		return ""
	}
	return string(is.Status) + " " + is.Reason + " " + is.Message
}

// TestALogThatCannotBeOpenedDoesNotStopScaling: the application runs, the condition says why nothing is
// recorded, and recording begins when it can.
func TestALogThatCannotBeOpenedDoesNotStopScaling(t *testing.T) {
	s, _ := newStage(t)
	dir := filepath.Join(t.TempDir(), "decisions")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	c := recording(t, s, dir)
	a, err := c.open(t.Context(), s.l, func() *v1alpha1.LoadLine { return s.l })
	if err != nil {
		t.Fatal(err)
	}
	r := c.newRunner(s.l)
	if got := logged(t, s, r, a); !strings.HasPrefix(got, "False NotRecorded scaling goes on") || !strings.Contains(got, dir) {
		t.Errorf("%q", got)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	s.now = s.now.Add(reopenAfter)
	if got := logged(t, s, r, a); got != "True Recording " {
		t.Errorf("%q", got)
	}
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "ns", "shop", "decisions-*")); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestAFullDiskDoesNotStopScaling: on a file system of 64 KiB that others fill, passes go on, the condition
// says what is wrong, and records are written again when there is room.
func TestAFullDiskDoesNotStopScaling(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	s, _ := newStage(t)
	c := recording(t, s, dir)
	a, err := c.open(t.Context(), s.l, func() *v1alpha1.LoadLine { return s.l })
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	r := c.newRunner(s.l)
	if got := logged(t, s, r, a); got != "True Recording " {
		t.Errorf("%q", got)
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%v", err)
	}
	for i := 0; ; i++ { // what is left of the last page
		if got := logged(t, s, r, a); strings.HasPrefix(got, "False NotRecorded") && strings.Contains(got, "no space left") {
			break
		} else if i == 100 {
			t.Fatalf("%q on a full disk", got)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if got := logged(t, s, r, a); got != "True Recording " {
		t.Errorf("%q after there is room again", got)
	}
}

// TestLogsOfDeletedLoadLinesAreSwept, those of running ones stay.
func TestLogsOfDeletedLoadLinesAreSwept(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		s.now = time.Now()
		c := recording(t, s, dir)
		c.Now = time.Now
		old := time.Now().Add(-25 * time.Hour)
		for _, name := range []string{"ns/shop", "ns/gone"} {
			file := filepath.Join(dir, name, "decisions-000001.log")
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("x"), 0o600),
				os.Chtimes(file, old, old)); err != nil {
				t.Fatal(err)
			}
		}
		c.runs[request(s.l).NamespacedName] = c.newRunner(s.l)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go c.sweepLogs(ctx)
		time.Sleep(sweepEvery + time.Second)
		synctest.Wait()
		for name, want := range map[string]bool{"ns/shop": true, "ns/gone": false} {
			if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
