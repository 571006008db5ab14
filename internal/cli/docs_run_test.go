package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// markedBlock is a code block that is marked as runnable, or as what the command before it prints.
	markedBlock = regexp.MustCompile("(?ms)^<!-- (run|printed) -->\n```\n(.*?)^```")
	figure      = regexp.MustCompile(`\d+(\.\d+)?`)
)

// verdictCodes are no failures: what was judged is not to be promoted.
var verdictCodes = []int{0, exitKeep, exitChange, exitUndecided, exitRefused}

// TestMarkedCommandsRun runs the commands that documents mark with <!-- run -->, page by page, in their
// order and in one folder. What is marked as printed is a line of the last command, but for its figures,
// which change with the simulator.
func TestMarkedCommandsRun(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := markedBlock.FindAllStringSubmatch(string(text), -1)
		if len(blocks) == 0 {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Chdir(t.TempDir())
			last := ""
			for _, block := range blocks {
				if block[1] == "printed" {
					if want := strings.TrimSpace(block[2]); !strings.Contains(figure.ReplaceAllString(last, "N"), figure.ReplaceAllString(want, "N")) {
						t.Errorf("%s says that this is printed:\n%s\nand it is:\n%s", filepath.Base(page), want, last)
					}
					continue
				}
				for line := range strings.Lines(strings.ReplaceAll(block[2], "\\\n", " ")) {
					command, is := strings.CutPrefix(strings.TrimSpace(line), "loadline ")
					if !is {
						t.Fatalf("%s marks %q to be run: only commands of loadline can be", filepath.Base(page), line)
					}
					ran++
					var stdout, stderr bytes.Buffer
					code := Run(t.Context(), words(command), strings.NewReader(""), &stdout, &stderr)
					if !slices.Contains(verdictCodes, code) || stdout.Len() == 0 {
						t.Fatalf("loadline %s: exit code %d\n%s%s", command, code, &stdout, &stderr)
					}
					last = stdout.String()
				}
			}
		})
	}
	if ran < 5 {
		t.Errorf("%d commands were run: they are marked in another way now", ran)
	}
}
