package cli

import (
	"os"
	"path/filepath"
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
