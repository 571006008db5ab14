package cli

import (
	"io"
	"os"
	"path/filepath"

	"github.com/loadline/loadline/internal/atomicfile"
)

// CheckWritable rejects an output path that cannot be written, before any work is done.
func CheckWritable(flag, path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return Usagef("--%s %s is a directory", flag, path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return Usagef("--%s %s: there is no directory %s", flag, path, filepath.Dir(path))
	}
	return nil
}

// lockFolder makes a folder and locks it, so that two commands do not write to it at the same
// time. The lock ends with the process.
func lockFolder(dir string) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return atomicfile.Lock(dir)
}
