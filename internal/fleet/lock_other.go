//go:build !unix || solaris || illumos || aix

package fleet

import (
	"io"
	"os"
	"path/filepath"
)

// lockFolder cannot be had here: the file is only a sign, and the user sees to it
// that there is one process.
func lockFolder(dir string) (io.Closer, error) {
	return os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
}
