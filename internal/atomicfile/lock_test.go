package atomicfile

import (
	"errors"
	"os"
	"strconv"
	"testing"
)

func TestAFolderIsHeldByOne(t *testing.T) {
	dir := t.TempDir()
	first, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	var busy *BusyError
	if _, err := Lock(dir); !errors.As(err, &busy) || busy.Dir != dir || busy.Process != strconv.Itoa(os.Getpid()) {
		t.Errorf("a second one gets %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}
