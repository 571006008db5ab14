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

// Share does not lock either.
func Share(dir string) (io.Closer, error) { return Lock(dir) }

// Claim does not lock either: several processes do the same work.
func Claim(dir, name string) (io.Closer, error) {
	return os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
}
