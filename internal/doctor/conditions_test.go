package doctor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loadline/loadline/api/v1alpha1"
)

// Every reason that a condition can have for being bad has a remedy.
func TestEveryReasonHasARemedy(t *testing.T) {
	good := []string{v1alpha1.ReasonDeciding, v1alpha1.ReasonActing, v1alpha1.ReasonFollowing, v1alpha1.ReasonNotPaused,
		v1alpha1.ReasonNoConflict, v1alpha1.ReasonFresh, v1alpha1.ReasonInReach, v1alpha1.ReasonEventRunning,
		v1alpha1.ReasonEventAhead, v1alpha1.ReasonHeld, v1alpha1.ReasonAsJudged, v1alpha1.ReasonNotBetter, v1alpha1.ReasonRecording,
		v1alpha1.ReasonFound}
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1alpha1/condition.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if _, has := remedies[reason]; !has && !slices.Contains(good, reason) {
			t.Errorf("no remedy for %s", reason)
		}
		return true
	})
	if n < 30 {
		t.Errorf("only %d reasons were found", n)
	}
}
