package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The image of a small program, from its sources to its output; make image does the same with
// Loadline.
func TestImageOfAProgram(t *testing.T) {
	t.Chdir("../..") // where LICENSE is
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	dir := t.TempDir()
	var files [][]byte
	for _, name := range []string{"one.tar", "two/again.tar"} {
		var out bytes.Buffer
		path := filepath.Join(dir, name)
		args := []string{"-package", "./tools/image/testdata/program", "-name", "loadline.dev/loadline-toy", "-version", "7.8.9", "-ca",
			"none", "-npm", "none", "-o", path}
		if err := run(context.Background(), args, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		wanted := []string{"loadline.dev/loadline-toy:7.8.9", "linux/amd64: ", "linux/arm64: "}
		if runtime.GOOS == "linux" {
			wanted = append(wanted, runtime.GOARCH+": program 7.8.9")
		}
		for _, want := range wanted {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in\n%s", want, out.String())
			}
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("built twice, the bytes differ")
	}
	img, err := readImage(bytes.NewReader(files[0]))
	if err != nil {
		t.Fatal(err)
	}
	if img.User != "65532:65532" || img.Program != "/loadline-toy" || !img.Created.Equal(time.Unix(1700000000, 0)) {
		t.Errorf("got %+v", img)
	}
	var paths []string
	for _, f := range img.Platforms[0].Files {
		paths = append(paths, f.Path)
	}
	if got := strings.Join(paths, " "); got != "/LICENSE /loadline-toy /models /var /var/lib /var/lib/loadline" {
		t.Errorf("it holds %s", got)
	}
}

func TestWhatIsRefused(t *testing.T) {
	t.Chdir("../..")
	torn := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(torn, []byte("no certificate"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, message string
		args          []string
	}{
		{"no version", "give -o FILE and -version VERSION", []string{"-o", "x.tar"}},
		{"no certificates", "holds no certificates", []string{"-o", "x.tar", "-version", "1", "-ca", torn}},
		{"certificates that are not there", "no such file", []string{"-o", "x.tar", "-version", "1", "-ca", torn + ".no"}},
		{"an unknown platform", "build ./tools/image/testdata/program for linux/z80",
			[]string{"-o", "x.tar", "-version", "1", "-ca", "none", "-platforms", "linux/z80", "-package",
				"./tools/image/testdata/program"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := run(context.Background(), row.args, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), row.message) {
				t.Errorf("got %v", err)
			}
		})
	}
}
