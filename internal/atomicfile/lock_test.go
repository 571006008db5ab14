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

func TestAFolderIsSharedByThoseThatShareIt(t *testing.T) {
	dir := t.TempDir()
	first, err := Share(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Share(dir)
	if err != nil {
		t.Fatalf("a second one that shares it: %v", err)
	}
	var busy *BusyError
	if _, err := Lock(dir); !errors.As(err, &busy) {
		t.Errorf("one that wants it alone gets %v", err)
	}
	first.Close()
	second.Close()
	alone, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	if _, err := Share(dir); !errors.As(err, &busy) {
		t.Errorf("one that would share what another has alone gets %v", err)
	}
}

func TestAClaimIsOfOneFile(t *testing.T) {
	dir := t.TempDir()
	first, err := Claim(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	var busy *BusyError
	if _, err := Claim(dir, "a"); !errors.As(err, &busy) {
		t.Errorf("the same file again: %v", err)
	}
	other, err := Claim(dir, "b")
	if err != nil {
		t.Fatalf("another file: %v", err)
	}
	other.Close()
}
