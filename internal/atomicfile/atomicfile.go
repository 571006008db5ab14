// Package atomicfile writes files atomically, and locks folders for one process at a time.
package atomicfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Suffix of temporary files that a killed writer may leave. They begin with a dot and can be
// deleted.
const Suffix = ".part"

// Write writes a file atomically: it is written beside its path, forced to disk, and then
// moved; the folder is forced to disk too, so that a power failure leaves the old file or the
// new one.
func Write(path string, write func(io.Writer) error) error {
	if err := writeAndMove(path, write); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func writeAndMove(path string, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*"+Suffix)
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // fails after the move, as intended
	err = write(temp)
	if err == nil {
		err = temp.Chmod(0o644)
	}
	if err == nil {
		err = temp.Sync()
	}
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return err
	}
	if folder, err := os.Open(dir); err == nil {
		_ = folder.Sync() // some file systems do not support it, and the file is in place
		folder.Close()
	}
	return nil
}
