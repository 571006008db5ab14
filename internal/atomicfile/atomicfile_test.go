package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func TestAFileAppearsWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.json")
	if err := Write(path, text("first")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken off")
	err := Write(path, func(w io.Writer) error {
		io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("err %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "first" {
		t.Errorf("a failed write left %q", got)
	}
	if err := Write(path, text("second")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "second" {
		t.Errorf("read back %q", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d files left, want the one", len(entries))
	}
}

func TestAMissingFolderIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "out")
	if err := Write(path, text("x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("err %v", err)
	}
}
