//go:build unix && !solaris && !illumos && !aix

package fleet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockFolder takes a folder for this process. The kernel lets go of it when the
// process ends, however it ends, so there are no stale locks.
func lockFolder(dir string) (io.Closer, error) {
	path := filepath.Join(dir, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		holder, _ := io.ReadAll(io.LimitReader(file, 64))
		return nil, fmt.Errorf("folder %s is in use by process %s: give another, or stop that one", dir, strings.TrimSpace(string(holder)))
	}
	// Who holds it is told to the next who asks; the lock does not depend on it.
	_ = file.Truncate(0)
	_, _ = fmt.Fprintf(file, "%d\n", os.Getpid())
	return file, nil
}
