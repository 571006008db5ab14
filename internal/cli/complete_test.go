package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/pipeline"
)

// proposals are what the scripts of all shells are told for a command line; its last word is being typed.
func proposals(t *testing.T, words ...string) (found []string, directive string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), append([]string{"__complete"}, words...), strings.NewReader(""), &stdout, &stderr)
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if code != 0 || !strings.HasPrefix(lines[len(lines)-1], ":") {
		t.Fatalf("%q: exit code %d, %s%s", words, code, &stdout, &stderr)
	}
	for _, line := range lines[:len(lines)-1] {
		name, _, _ := strings.Cut(line, "\t")
		found = append(found, name)
	}
	return found, lines[len(lines)-1]
}

func TestCompletionOfValues(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{"shop/" + pipeline.RunFile, "web/" + pipeline.RunFile, "past/" + history.ManifestFile,
		"log/shop/web/x", "other/x"} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "config"))
	if err := os.WriteFile(os.Getenv("KUBECONFIG"), []byte("contexts: [{name: staging, context: {}}, {name: production, context: {}}]\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	const noFiles, filesToo, foldersOnly = ":4", ":0", ":16"
	for _, row := range []struct {
		name, line string
		want       []string
		directive  string
	}{
		{"an application", "apps show bo", []string{"bookinfo", "boutique"}, filesToo},
		{"no second argument", "apps show bookinfo b", nil, noFiles},
		{"an application of a flag", "simulate --app s", []string{"single", "sockshop"}, filesToo},
		{"a policy", "simulate --policy kp", []string{"kpa"}, noFiles},
		{"a policy with an equals sign", "simulate --policy=kp", []string{"kpa"}, noFiles},
		{"a workload", "simulate --workload wee", []string{"week", "weekly"}, filesToo},
		{"a format of the result", "bench --output m", []string{"markdown"}, noFiles},
		{"runs only", "evaluate @", []string{"shop", "web"}, noFiles},
		{"runs by their first letters", "promote s", []string{"shop"}, filesToo},
		{"histories only", "history show @", []string{"past"}, noFiles},
		{"a folder on the way to a history", "fit l", nil, foldersOnly},
		{"a history of a flag", "train --history @", []string{"past"}, noFiles},
		{"the second axis of a list", "evaluate shop --axes Horizontal,Vertical",
			[]string{"Horizontal,VerticalRequests", "Horizontal,VerticalLimits"}, ":6"},
		{"a context of the kubeconfig", "doctor --context @", []string{"production", "staging"}, noFiles},
		{"a log by the name of its LoadLine", "explain --log log sh", []string{"shop/web"}, foldersOnly},
		{"no namespace without a cluster", "init --namespace @", nil, noFiles},
		{"a shell", "completion z", []string{"zsh"}, noFiles},
		{"a suite", "bench --suite sea", []string{"seasons"}, noFiles},
	} {
		t.Run(row.name, func(t *testing.T) {
			words := strings.Fields(row.line)
			if words[len(words)-1] == "@" { // nothing typed yet
				words[len(words)-1] = ""
			}
			got, directive := proposals(t, words...)
			for _, want := range row.want {
				if !slices.Contains(got, want) {
					t.Errorf("%q is not in %q", want, got)
				}
			}
			if len(got) != len(row.want) || directive != row.directive {
				t.Errorf("%q and %s, want %q and %s", got, directive, row.want, row.directive)
			}
		})
	}
}

// TestCompletionTablesNameCommands: a command or flag that is renamed keeps its completion.
func TestCompletionTablesNameCommands(t *testing.T) {
	root := NewRoot()
	for path := range argumentValues {
		c, _, err := root.Find(strings.Fields(path))
		if err != nil || c.CommandPath() != "loadline "+path || c.ValidArgsFunction == nil {
			t.Errorf("%q: %v, %v", path, c.CommandPath(), err)
		}
	}
	for name := range pluginValues {
		if c, _, err := NewPlugin().Find([]string{name}); err != nil || c.Name() != name || c.ValidArgsFunction == nil {
			t.Errorf("kubectl loadline %s: %v", name, err)
		}
	}
	for name := range flagValues {
		if !anyFlag(root, name) && !anyFlag(NewPlugin(), name) {
			t.Errorf("no command has a flag --%s", name)
		}
	}
}

// TestCompletionInShells runs the scripts in the shells that this machine has: bash everywhere.
func TestCompletionInShells(t *testing.T) {
	bin := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(bin, "loadline")); err != nil { // TestMain is loadline under this name
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	run := func(t *testing.T, shell string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), shell, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	for shell, args := range map[string][]string{
		// bash-completion, which a user's bash has, splits the command line into these variables.
		"bash": {"-c", `
			_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
			compopt() { :; }
			source <(loadline completion bash)
			COMP_WORDS=(loadline apps show boo) COMP_CWORD=3 COMP_LINE="loadline apps show boo" COMP_POINT=22 COMP_TYPE=9
			__start_loadline
			echo "${COMPREPLY[@]}"`},
		"zsh":  {"-f", "-c", `loadline completion zsh > script && zsh -n script && loadline __complete apps show boo 2>/dev/null | head -1`},
		"fish": {"--no-config", "-c", `loadline completion fish | source; complete -C "loadline apps show boo"`},
	} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil && shell != "bash" {
				t.Skipf("this machine has no %s", shell)
			}
			t.Chdir(t.TempDir())
			if got := run(t, shell, args...); strings.TrimSpace(got) != "bookinfo" && !strings.HasPrefix(got, "bookinfo\n") {
				t.Errorf("proposed %q, want bookinfo", got)
			}
		})
	}
}
