package loadline_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is what is checked of a workflow file.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Timeout     int `yaml:"timeout-minutes"`
		Steps       []struct{ Uses, Run string }
	}
}

// makeTargets are the targets of the Makefile.
func makeTargets(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	return all
}

// target is a call of make in a script: options, the target, and variables.
var target = regexp.MustCompile(`(?m)\bmake (?:-C \S+ )?([a-z-]+)`)

// TestWorkflowsRunWhatIsThere: every target of make exists, every action has a version, and only the
// release may write.
func TestWorkflowsRunWhatIsThere(t *testing.T) {
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) != 2 {
		t.Fatalf("workflows %v, %v", files, err)
	}
	targets := makeTargets(t)
	version := regexp.MustCompile(`^[\w.-]+/[\w./-]+@(v\d+(\.\d+)*|[0-9a-f]{40})$`)
	called := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w workflow
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" || len(w.Jobs) == 0 {
			t.Errorf("%s: %d jobs with permissions %v, must be contents: read", file, len(w.Jobs), w.Permissions)
		}
		for name, job := range w.Jobs {
			if job.Timeout == 0 || len(job.Permissions) > 0 && filepath.Base(file) != "release.yml" {
				t.Errorf("%s: job %s has timeout %d and permissions %v", file, name, job.Timeout, job.Permissions)
			}
			for _, s := range job.Steps {
				if s.Uses != "" && !version.MatchString(s.Uses) {
					t.Errorf("%s: job %s uses %s, which has no version", file, name, s.Uses)
				}
				if strings.Contains(s.Run, "${{") {
					t.Errorf("%s: job %s puts an expression into a script, must be an environment variable: %s", file, name, s.Run)
				}
				for _, m := range target.FindAllStringSubmatch(s.Run, -1) {
					called[filepath.Base(file)] = append(called[filepath.Base(file)], m[1])
					if !slices.Contains(targets, m[1]) {
						t.Errorf("%s: there is no target for make %s", file, m[1])
					}
				}
			}
		}
	}
	for file, wants := range map[string][]string{
		"ci.yml": {"test", "check", "image", "fuzz"}, "release.yml": {"test", "check", "image", "sbom"},
	} {
		for _, want := range wants {
			if !slices.Contains(called[file], want) {
				t.Errorf("%s does not run make %s", file, want)
			}
		}
	}
}

// TestDocumentsNameTargets: the targets of make that documents name in code exist.
func TestDocumentsNameTargets(t *testing.T) {
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	targets := makeTargets(t)
	found := 0
	for _, document := range append(documents, "README.md", "SECURITY.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`make ([a-z-]+)").FindAllStringSubmatch(string(text), -1) {
			found++
			if !slices.Contains(targets, m[1]) {
				t.Errorf("%s names make %s, which is no target", document, m[1])
			}
		}
	}
	if found < 5 {
		t.Errorf("%d targets were found in the documents: they are written in another way now", found)
	}
}

// TestFuzzingIsCounted: the table at the end of make fuzz marks targets with few inputs and fails for
// those that were hardly fuzzed.
func TestFuzzingIsCounted(t *testing.T) {
	const many = "target: internal/a FuzzA\nfuzz: elapsed: 3s, execs: 900 (300/sec), new interesting: 1 (total: 2)\n" +
		"fuzz: elapsed: 10s, execs: 5000 (1/sec), new interesting: 1 (total: 2)\nPASS\n"
	for _, row := range []struct {
		name, text string
		fails      bool
		wants      []string
	}{
		{"enough", many, false, []string{"internal/a FuzzA", "5000"}},
		{"few", many + "target: internal/b FuzzB\nfuzz: elapsed: 10s, execs: 500 (50/sec)\n", false, []string{"500  few"}},
		{"hardly any", many + "target: internal/c FuzzC\nfuzz: elapsed: 10s, execs: 8 (0/sec)\n", true,
			[]string{"8  TOO FEW", "1 of 2 targets were hardly fuzzed"}},
		{"none that says a number", "target: internal/d FuzzD\nok\n", true, []string{"0  TOO FEW"}},
		{"no target", "", true, []string{"no target was fuzzed"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := exec.Command("awk", "-f", "tools/fuzzlimits.awk")
			c.Stdin = strings.NewReader(row.text)
			out, err := c.CombinedOutput()
			if (err != nil) != row.fails {
				t.Errorf("awk says %v", err)
			}
			for _, want := range row.wants {
				if !strings.Contains(string(out), want) {
					t.Errorf("%q is not in\n%s", want, out)
				}
			}
		})
	}
}
