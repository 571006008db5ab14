package crd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What is committed is what make generate-crd makes.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	tool, err := exec.Command("go", "tool", "-n", "controller-gen").Output()
	if err != nil {
		t.Fatalf("go tool -n controller-gen: %v", err)
	}
	dir := t.TempDir()
	gen := exec.Command(strings.TrimSpace(string(tool)), "object", "crd", "paths=./api/...", "output:crd:dir="+dir,
		"output:object:dir="+dir)
	gen.Dir = "../.."
	if out, err := gen.CombinedOutput(); err != nil {
		t.Fatalf("controller-gen: %v\n%s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(made) != 3 {
		t.Fatalf("made %v, %v", made, err)
	}
	for _, file := range made {
		name := filepath.Join("../../deploy/crd", filepath.Base(file))
		if strings.HasSuffix(file, ".go") {
			name = filepath.Join("../../api/v1alpha1", filepath.Base(file))
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if have, err := os.ReadFile(name); err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not up to date (%v): run make generate-crd", name, err)
		}
	}
}
