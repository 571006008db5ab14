// Package atomicfile writes files atomically, and locks folders for one process at a time.
package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Suffix of temporary files that a killed writer may leave. They begin with a dot and can be
// deleted.
const Suffix = ".part"

// Write writes a file atomically: it is written beside its path, forced to disk, and then
// moved; the folder is forced to disk too, so that a power failure leaves the old file or the
// new one.
//
// A device or a pipe, such as /dev/stdout, is written in place: it must not be replaced by a
// file. In a folder that is read-only, a file that already has the content counts as written.
func Write(path string, write func(io.Writer) error) error {
	to := writeAndMove
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		to = writeInPlace
	}
	if err := to(path, write); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func writeInPlace(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// readOnly reports whether nothing can be written, whatever it is.
func readOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// unchanged returns nil if the file has the content already, else the error that prevents
// writing it.
func unchanged(path string, write func(io.Writer) error, denied error) error {
	there, err := os.ReadFile(path)
	if err != nil {
		return denied
	}
	var content bytes.Buffer
	if err := write(&content); err != nil {
		return err
	}
	if !bytes.Equal(there, content.Bytes()) {
		return denied
	}
	return nil
}

func writeAndMove(path string, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*"+Suffix)
	if readOnly(err) {
		return unchanged(path, write, err)
	}
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
