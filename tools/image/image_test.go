package main

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func sample() *Image {
	files := func(text string) []File {
		return []File{
			{Path: "/var/lib/app", Mode: fs.ModeDir | 0o755, User: 65532},
			{Path: "/app", Mode: 0o755, Contents: []byte(text)},
			{Path: "/etc/ssl/certs/ca-certificates.crt", Mode: 0o644, Contents: []byte("certificates")},
		}
	}
	return &Image{
		Name: "example.com/team/app:1.2", Created: time.Unix(1700000000, 0).UTC(), User: "65532:65532", Program: "/app",
		Env: []string{"A=b"}, Labels: map[string]string{"org.opencontainers.image.version": "1.2"},
		Platforms: []Platform{{"linux", "amd64", files("amd")}, {"linux", "arm64", files("arm")}},
	}
}

func written(t *testing.T, i *Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := i.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	want := sample()
	got, err := readImage(bytes.NewReader(written(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	for n := range want.Platforms {
		want.Platforms[n].Files = withFolders(want.Platforms[n].Files)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	first := written(t, sample())
	again := sample()
	for n := range again.Platforms {
		slices.Reverse(again.Platforms[n].Files) // their order does not matter
	}
	if !bytes.Equal(first, written(t, again)) {
		t.Error("the bytes differ")
	}
	other := sample()
	other.Platforms[1].Files[1].Contents = []byte("ARM")
	if bytes.Equal(first, written(t, other)) {
		t.Error("another program gives the same bytes")
	}
}

// Folders come before their contents, as some readers need it.
func TestLayersHaveFoldersFirst(t *testing.T) {
	var paths []string
	for _, f := range withFolders(sample().Platforms[0].Files) {
		paths = append(paths, f.Path)
	}
	if got := strings.Join(paths, " "); got != "/app /etc /etc/ssl /etc/ssl/certs /etc/ssl/certs/ca-certificates.crt /var /var/lib "+
		"/var/lib/app" {
		t.Error(got)
	}
}

func TestImagesThatAreRefused(t *testing.T) {
	for _, row := range []struct {
		name, message string
		change        func(*Image)
	}{
		{"no tag", "must be a host, a path and a tag", func(i *Image) { i.Name = "example.com/app" }},
		{"a name of a user", "must be numbers", func(i *Image) { i.User = "nobody" }},
		{"no platform", "at least one", func(i *Image) { i.Platforms = nil }},
		{"a platform twice", `platform "linux/amd64"`, func(i *Image) { i.Platforms[1].Architecture = "amd64" }},
		{"no program", "that can be run", func(i *Image) { i.Program = "/other" }},
		{"a program that cannot be run", "that can be run", func(i *Image) { i.Platforms[0].Files[1].Mode = 0o644 }},
		{"a path with detours", "without detours", func(i *Image) { i.Platforms[0].Files[2].Path = "/etc/../etc/x" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			i := sample()
			row.change(i)
			if err := i.Write(io.Discard); err == nil || !strings.Contains(err.Error(), row.message) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Read detects every changed, missing or added file of the tar.
func TestDamageIsFound(t *testing.T) {
	files, err := readTar(bytes.NewReader(written(t, sample())))
	if err != nil {
		t.Fatal(err)
	}
	rewritten := func(change func(map[string][]byte)) io.Reader {
		other := map[string][]byte{}
		for name, data := range files {
			other[name] = bytes.Clone(data)
		}
		change(other)
		var b bytes.Buffer
		if err := writeTar(&b, other, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		return &b
	}
	if _, err := readImage(rewritten(func(map[string][]byte) {})); err != nil {
		t.Fatalf("nothing was changed: %v", err)
	}
	for name := range files {
		if _, err := readImage(rewritten(func(f map[string][]byte) { f[name][len(f[name])/2] ^= 1 })); err == nil {
			t.Errorf("a bit of %s was changed", name)
		}
		if _, err := readImage(rewritten(func(f map[string][]byte) { delete(f, name) })); err == nil {
			t.Errorf("%s was left out", name)
		}
	}
	if _, err := readImage(rewritten(func(f map[string][]byte) { f["blobs/sha256/00"] = []byte("x") })); err == nil {
		t.Error("a file was added")
	}
}

// Other readers must find the standard files at their standard paths.
func TestPlacesInTheTar(t *testing.T) {
	var names []string
	r := tar.NewReader(bytes.NewReader(written(t, sample())))
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(sample().Created) {
			t.Errorf("%s is of %v", h.Name, h.ModTime)
		}
		if !strings.HasPrefix(h.Name, "blobs/sha256/") || len(h.Name) != len("blobs/sha256/")+64 {
			names = append(names, h.Name)
		}
	}
	if got := strings.Join(names, " "); got != "blobs/ blobs/sha256/ index.json manifest.json oci-layout" {
		t.Error(got)
	}
}
