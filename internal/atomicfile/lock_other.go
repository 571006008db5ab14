//go:build !unix || solaris || illumos || aix

package atomicfile

import (
	"io"
	"os"
	"path/filepath"
)

// Lock does not lock on this platform: the user must ensure that there is one process.
func Lock(dir string) (io.Closer, error) {
	return os.OpenFile(filepath.Join(dir, LockFile), os.O_RDWR|os.O_CREATE, 0o600)
}
