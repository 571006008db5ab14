package cli

import (
	"os"
	"path/filepath"
)

// checkWritable refuses an output path before hours are spent on what should
// go there.
func checkWritable(flag, path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usagef("--%s %s is a directory", flag, path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return usagef("--%s %s: there is no directory %s", flag, path, filepath.Dir(path))
	}
	return nil
}
