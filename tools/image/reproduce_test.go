package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/loadline/loadline/tools/spdx"
)

// The files of the tree that an image of the small program is made from.
var tree = []string{"LICENSE", "go.mod", "tools/image/testdata/program/main.go"}

// TestTheSameCommitGivesTheSameImage: built from two clones in different folders, with other
// settings of Go and of the user, the image, its bill of materials and its provenance have the same
// bytes.
func TestTheSameCommitGivesTheSameImage(t *testing.T) {
	first := repositoryOf(t)
	second := filepath.Join(t.TempDir(), "a longer path", "clone")
	git(t, ".", "clone", "--quiet", first, second)
	for _, name := range tree { // a copy has other times and rights than the original
		if err := os.Chmod(filepath.Join(second, name), 0o664); err != nil {
			t.Fatal(err)
		}
	}
	one := buildIn(t, first)
	for key, value := range map[string]string{"TZ": "Asia/Tokyo", "GOAMD64": "v3", "GOARM64": "v9.0", "GOFLAGS": "-v", "LANG": "C"} {
		t.Setenv(key, value)
	}
	two := buildIn(t, second)
	for _, ending := range []string{".tar", ".spdx.json", ".provenance.json"} {
		if one[ending] != two[ending] {
			t.Errorf("%s of the same commit differs", ending)
		}
	}
	digest, err := indexDigest([]byte(one[".tar"]))
	if err != nil || len(digest) != len("sha256:")+64 {
		t.Errorf("digest %q, %v", digest, err)
	}
	if again, _ := indexDigest([]byte(two[".tar"])); again != digest {
		t.Errorf("digests %s and %s", digest, again)
	}
}

// TestAModifiedTreeIsNamed: the label and the provenance do not claim a commit that the image is
// not made from.
func TestAModifiedTreeIsNamed(t *testing.T) {
	dir := repositoryOf(t)
	path := filepath.Join(dir, tree[2])
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "\n// changed\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	files := buildIn(t, dir)
	img, err := readImage(strings.NewReader(files[".tar"]))
	if err != nil {
		t.Fatal(err)
	}
	if label := img.Labels["org.opencontainers.image.revision"]; !strings.HasSuffix(label, "-modified") {
		t.Errorf("revision %q", label)
	}
	if !strings.Contains(files[".provenance.json"], `"vcs.modified": "true"`) {
		t.Errorf("the provenance does not say that the tree was modified:\n%s", files[".provenance.json"])
	}
}

// TestProvenanceHasTheForm of an in-toto statement with SLSA provenance, and its digests are those
// of the files.
func TestProvenanceHasTheForm(t *testing.T) {
	dir := repositoryOf(t)
	files := buildIn(t, dir)
	var st statement
	if err := json.Unmarshal([]byte(files[".provenance.json"]), &st); err != nil {
		t.Fatal(err)
	}
	if st.Type != "https://in-toto.io/Statement/v1" || st.PredicateType != "https://slsa.dev/provenance/v1" {
		t.Errorf("types %q and %q", st.Type, st.PredicateType)
	}
	index, err := indexDigest([]byte(files[".tar"]))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"loadline.dev/loadline-toy:7.8.9": strings.TrimPrefix(index, "sha256:"),
		"toy.tar":                         sha256Of([]byte(files[".tar"]))["sha256"],
		"toy.spdx.json":                   sha256Of([]byte(files[".spdx.json"]))["sha256"],
	}
	for _, s := range st.Subject {
		if s.Digest["sha256"] != want[s.Name] {
			t.Errorf("subject %s has %v, want %s", s.Name, s.Digest, want[s.Name])
		}
		delete(want, s.Name)
	}
	if len(want) > 0 {
		t.Errorf("no subject for %v", want)
	}
	d := st.Predicate.Definition
	for key, value := range map[string]string{"version": "7.8.9", "package": "./tools/image/testdata/program",
		"platforms": "linux/amd64,linux/arm64"} {
		if d.External[key] != value {
			t.Errorf("parameter %s is %q, want %q", key, d.External[key], value)
		}
	}
	uri := regexp.MustCompile(`^https://`)
	if !uri.MatchString(d.Type) || !uri.MatchString(st.Predicate.Run.Builder.ID) {
		t.Errorf("build type %q, builder %q: must be URIs", d.Type, st.Predicate.Run.Builder.ID)
	}
	revision := strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))
	if len(d.Dependencies) != 1 || d.Dependencies[0].Digest["gitCommit"] != revision ||
		!strings.HasSuffix(d.Dependencies[0].URI, "@"+revision) {
		t.Errorf("dependencies %+v, want commit %s alone", d.Dependencies, revision)
	}
}

// TestDependenciesAreThoseOfGoSum: modules have the digests of go.sum, each once.
func TestDependenciesAreThoseOfGoSum(t *testing.T) {
	p, sums := programOfGoSum(t)
	s := settings{ca: "none"}
	all, err := s.dependencies([]spdx.Program{p, p})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(sums) {
		t.Errorf("%d dependencies of two platforms with the same %d modules", len(all), len(sums))
	}
	for _, r := range all {
		raw, err := hex.DecodeString(r.Digest["dirHash"])
		if err != nil || sums[r.URI] != "h1:"+base64.StdEncoding.EncodeToString(raw) {
			t.Errorf("%s has %v, go.sum says %s", r.URI, r.Digest, sums[r.URI])
		}
	}
	p.Info.Deps[0].Sum = "h1:short"
	if _, err := s.dependencies([]spdx.Program{p}); err == nil || !strings.Contains(err.Error(), "as in go.sum") {
		t.Errorf("a wrong sum gives %v", err)
	}
}

// programOfGoSum is a program with all modules of go.sum, and their sums by package URL.
func programOfGoSum(t *testing.T) (spdx.Program, map[string]string) {
	t.Helper()
	text, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	p, sums := spdx.Program{Info: &debug.BuildInfo{}}, map[string]string{}
	for line := range strings.Lines(string(text)) {
		part := strings.Fields(line)
		if strings.HasSuffix(part[1], "/go.mod") {
			continue
		}
		m := debug.Module{Path: part[0], Version: part[1], Sum: part[2]}
		p.Info.Deps = append(p.Info.Deps, &m)
		sums[spdx.ModuleURL(m)] = m.Sum
	}
	return p, sums
}

// buildIn builds the image of the small program in a folder, and returns the files by their endings.
func buildIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	t.Chdir(dir)
	output := filepath.Join(t.TempDir(), "toy.tar")
	args := []string{"-package", "./tools/image/testdata/program", "-name", "loadline.dev/loadline-toy", "-version", "7.8.9", "-ca", "none",
		"-npm", "none", "-o", output}
	var log strings.Builder
	if err := run(context.Background(), args, io.Discard, &log); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	files := map[string]string{}
	for _, ending := range []string{".tar", ".spdx.json", ".provenance.json"} {
		text, err := os.ReadFile(strings.TrimSuffix(output, ".tar") + ending)
		if err != nil {
			t.Fatal(err)
		}
		files[ending] = string(text)
	}
	return files
}

// repositoryOf the small program, with one commit.
func repositoryOf(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	for _, name := range tree {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "go.mod" { // without requirements, which the program does not need
			text = regexp.MustCompile(`(?s)^(module [^\n]*\n\ngo [^\n]*\n).*`).ReplaceAll(text, []byte("$1"))
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", ".")
	git(t, dir, "-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", "first")
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
		"GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}
