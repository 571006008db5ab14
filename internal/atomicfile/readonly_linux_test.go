package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// readOnlyFolder with one file, in which this thread can create nothing, also if it is root's.
func readOnlyFolder(t *testing.T, content string) (path string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "made")
	path = filepath.Join(dir, "out")
	for _, err := range []error{os.Mkdir(dir, 0o755), os.WriteFile(path, []byte(content), 0o644), os.Chmod(dir, 0o555),
		os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		runtime.LockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Setfsuid(0); runtime.UnlockOSThread() })
	}
	return path
}

func TestAReadOnlyFileThatHasTheContentCountsAsWritten(t *testing.T) {
	path := readOnlyFolder(t, "first")
	if err := Write(path, text("first")); err != nil {
		t.Errorf("the same content: %v", err)
	}
	if err := Write(path, text("second")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("another content: %v", err)
	}
	if err := Write(path+"2", text("first")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("another file: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "first" {
		t.Errorf("read back %q", got)
	}
	lock, err := Lock(filepath.Dir(path))
	if err != nil {
		t.Fatalf("lock of a read-only folder: %v", err)
	}
	lock.Close()
}

func TestADeviceIsWrittenAndNotReplaced(t *testing.T) {
	if err := Write("/dev/full", text("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("err %v", err)
	}
	if info, err := os.Stat("/dev/full"); err != nil || info.Mode()&os.ModeDevice == 0 {
		t.Fatalf("it was replaced: %v, %v", info, err)
	}
	if err := Write("/dev/null", text("x")); err != nil {
		t.Error(err)
	}
}
