//go:build !unix || solaris || illumos || aix

package decisionlog

import (
	"io"
	"os"
	"path/filepath"
)

// lock cannot be had here: the file is only a sign, and the user sees to it that
// there is one writer.
func lock(dir string) (io.Closer, error) {
	return os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o644)
}
