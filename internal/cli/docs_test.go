package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// codeBlock of a page, without a language: commands and what they print.
var codeBlock = regexp.MustCompile("(?ms)^```\n(.*?)^```")

// TestCommandsInDocs: every command line of loadline in the documents has a command and flags that
// exist. Those with two spaces after them show an explanation.
func TestCommandsInDocs(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range codeBlock.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
				command, is := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "bin/"), "loadline ")
				if !is {
					continue
				}
				found++
				if err := parses(NewRoot(), words(command)); err != nil {
					t.Errorf("%s: loadline %s: %v", filepath.Base(page), command, err)
				}
			}
		}
	}
	if found < 40 {
		t.Errorf("%d commands were found: they are written in another way now", found)
	}
}

// words of a command line up to a comment, a pipe or another command.
func words(command string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`).FindAllStringIndex(command, -1) {
		word := command[m[0]:m[1]]
		explained := len(all) > 0 && m[0] > 1 && command[m[0]-2:m[0]] == "  " && !strings.HasPrefix(word, "-")
		if explained || strings.ContainsAny(word[:1], "#|&>;") {
			break
		}
		all = append(all, strings.Trim(word, `"'`))
	}
	return all
}

// inline is a command line of the plugin in a sentence or a table.
var inline = regexp.MustCompile("`kubectl loadline ([^`]+)`")

// TestPluginCommandsInDocs is the same of kubectl loadline, in tables too.
func TestPluginCommandsInDocs(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var commands []string
		for _, m := range inline.FindAllStringSubmatch(string(text), -1) {
			commands = append(commands, m[1])
		}
		for _, block := range codeBlock.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(block[1]) {
				if command, is := strings.CutPrefix(strings.TrimSpace(line), "kubectl loadline "); is {
					commands = append(commands, command)
				}
			}
		}
		for _, command := range commands {
			found++
			if err := parses(NewPlugin(), words(command)); err != nil {
				t.Errorf("%s: kubectl loadline %s: %v", filepath.Base(page), command, err)
			}
		}
	}
	if found < 8 {
		t.Errorf("%d commands were found: they are written in another way now", found)
	}
}

// parses reports whether a command line has a command and flags that exist.
func parses(root *cobra.Command, args []string) error {
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if c == root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return Subcommands(root, rest)
	}
	c.InitDefaultHelpFlag()
	if err := c.ParseFlags(rest); err != nil {
		return flagHint(c, err)
	}
	return nil
}
