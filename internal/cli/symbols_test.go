package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// letters are signs that are read as words: units, currencies and punctuation.
const letters = "€£µ°−–·’²→δγ"

// TestEverySignIsInTheLegend: no text of the program has a sign that loadline help symbols does not
// explain, and docs/glossary.md has the same legend.
func TestEverySignIsInTheLegend(t *testing.T) {
	page, err := os.ReadFile("../../docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	legend := letters
	for _, s := range symbols {
		legend += s.sign
		if row := "| `" + s.sign + "` | " + s.meaning + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/glossary.md does not have %s", row)
		}
	}
	files := 0
	for _, dir := range []string{"../../internal", "../../lab"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			return signsIn(t, path, legend)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 400 {
		t.Errorf("only %d files were read", files)
	}
}

func signsIn(t *testing.T, path, legend string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, is := n.(*ast.BasicLit)
		if !is || lit.Kind != token.STRING && lit.Kind != token.CHAR {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Errorf("%s: %s: %v", path, lit.Value, err)
		}
		for _, r := range text {
			if r > 0x7e && r != '\u00a0' && !strings.ContainsRune(legend, r) && r != '\ufeff' && r != '\ufffd' {
				t.Errorf("%s: the legend does not explain %q in %s", path, r, lit.Value)
			}
		}
		return true
	})
	return nil
}
