//go:build unix && !solaris && !illumos && !aix

package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Lock locks a folder for this process until it is closed, or reports which process has it
// (BusyError). The kernel releases the lock when the process ends, so there are no stale locks.
// A folder that is read-only needs no lock.
func Lock(dir string) (io.Closer, error) {
	return lock(dir, filepath.Join(dir, LockFile), syscall.LOCK_EX)
}

// Share locks a folder as Lock does, but together with other processes that share it.
func Share(dir string) (io.Closer, error) {
	return lock(dir, filepath.Join(dir, LockFile), syscall.LOCK_SH)
}

// Claim locks one file of a folder as Lock locks the folder. The file is created if necessary, and
// stays behind.
func Claim(dir, name string) (io.Closer, error) {
	return lock(dir, filepath.Join(dir, name), syscall.LOCK_EX)
}

func lock(dir, path string, how int) (io.Closer, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if readOnly(err) {
		return io.NopCloser(nil), nil
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		holder, _ := io.ReadAll(io.LimitReader(file, 64))
		return nil, &BusyError{Dir: dir, Process: strings.TrimSpace(string(holder))}
	}
	// The holder is recorded for the error message; the lock does not depend on it.
	_ = file.Truncate(0)
	_, _ = fmt.Fprintf(file, "%d\n", os.Getpid())
	return file, nil
}
