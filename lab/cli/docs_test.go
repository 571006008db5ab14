package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCommandsInDocs: every command line of loadline-lab in the documents has a command and flags that
// exist.
func TestCommandsInDocs(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	codeBlock := regexp.MustCompile("(?ms)^```\n(.*?)^```")
	word := regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range codeBlock.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
				command, is := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "bin/"), "loadline-lab ")
				if !is {
					continue
				}
				found++
				command, _, _ = strings.Cut(command, " #")
				command, _, _ = strings.Cut(command, "  ") // an explanation follows
				var args []string
				for _, w := range word.FindAllString(command, -1) {
					if strings.ContainsAny(w[:1], "#|&>;") {
						break
					}
					args = append(args, strings.Trim(w, `"'`))
				}
				c, rest, err := NewRoot().Find(args)
				if err == nil && !c.HasParent() {
					t.Errorf("%s: loadline-lab %s: no command", filepath.Base(page), command)
					continue
				}
				if err == nil {
					c.InitDefaultHelpFlag()
					err = c.ParseFlags(rest)
				}
				if err != nil {
					t.Errorf("%s: loadline-lab %s: %v", filepath.Base(page), command, err)
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("%d commands were found: they are written in another way now", found)
	}
}
