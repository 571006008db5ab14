package v1alpha1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Every condition and every reason is explained on the page about the resource.
func TestConditionsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/resource.md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "condition.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			name, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			found++
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/resource.md does not explain %s", name)
			}
		}
		return true
	})
	if found < 30 {
		t.Errorf("only %d names were found", found)
	}
}
