package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// anyFlag reports whether a command or one under it has a flag.
func anyFlag(c *cobra.Command, name string) bool {
	if c.Flags().Lookup(name) != nil {
		return true
	}
	for _, sub := range c.Commands() {
		if anyFlag(sub, name) {
			return true
		}
	}
	return false
}

// TestManualPages: each command has a page with each of its flags, which groff sets without a warning.
func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), []string{"man", "-o", dir}, strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	_, missing := exec.LookPath("groff")
	pages := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		path := filepath.Join(dir, manualName(c)+".1")
		source, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			return
		}
		pages++
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !bytes.Contains(source, []byte(roff("--"+f.Name))) {
				t.Errorf("%s does not have --%s", path, f.Name)
			}
		})
		for i, b := range source {
			if b > 0x7e {
				t.Errorf("%s is not ASCII at byte %d", path, i)
				break
			}
		}
		if missing == nil {
			groffReads(t, path, c.CommandPath())
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	for _, root := range []*cobra.Command{NewRoot(), NewPlugin()} {
		visit(root)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != pages || pages < 50 {
		t.Errorf("%d files for %d commands, %v", len(files), pages, err)
	}
	if missing != nil {
		t.Log("groff is not here: the pages were not set")
	}
}

func groffReads(t *testing.T, path, command string) {
	t.Helper()
	var set, warnings bytes.Buffer
	run := exec.CommandContext(t.Context(), "groff", "-man", "-Tutf8", "-ww", path)
	run.Stdout, run.Stderr = &set, &warnings
	if err := run.Run(); err != nil || warnings.Len() > 0 {
		t.Errorf("%s: %v\n%s", path, err, &warnings)
	}
	// Bold is either an escape sequence, or a letter written over itself.
	text := regexp.MustCompile("\x1b\\[[0-9;]*m|.\b").ReplaceAllString(set.String(), "")
	if !strings.Contains(strings.Join(strings.Fields(text), " "), command) {
		t.Errorf("%s does not say %q", path, command)
	}
}

func TestManNeedsAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"man needs --out, the folder of the pages": {"man"},
		"not a directory":                          {"man", "-o", file},
	} {
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code == 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: exit code %d, %s", args, code, &stderr)
		}
	}
}
