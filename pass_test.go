package loadline_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// withoutDecisions are the folders that drive an engine beneath the cluster that the loop
// sees: the engines themselves, and what simulates given allocations.
var withoutDecisions = []string{"internal/sim", "internal/twin", "internal/outlook", "lab/engines", "lab/nodestudy"}

// TestOnlyTheLoopReachesAClusterDirectly: code that observes a cluster or applies a plan
// to it by itself makes a pass of its own, with another delay and without the guards.
func TestOnlyTheLoopReachesAClusterDirectly(t *testing.T) {
	inLoop := 0
	for room, files := range rooms(t) {
		for _, file := range files {
			calls, err := clusterCalls(file, nil)
			switch {
			case err != nil:
				t.Fatal(err)
			case room == "internal/loop":
				inLoop += len(calls)
				continue
			}
			for _, call := range calls {
				if !strings.HasSuffix(call, "ngine.Apply") || !slices.ContainsFunc(withoutDecisions,
					func(folder string) bool { return strings.HasPrefix(room+"/", folder+"/") }) {
					t.Errorf("%s: only internal/loop may call it; use loop.Step, or Begin and Finish", call)
				}
			}
		}
	}
	if inLoop != 2 {
		t.Errorf("%d calls were found in internal/loop, want one of Observe and one of Apply", inLoop)
	}
}

// TestClusterCallsAreRecognised holds the check above to what it must find.
func TestClusterCallsAreRecognised(t *testing.T) {
	const source = `package train
func (a *Arena) around(ctx context.Context) {
	_ = a.cluster.Observe(context.Background(), &o)
	_ = a.cluster.Apply(ctx, a.plan)
	a.engine.Apply(a.plan)
	engine.Apply(loadline.Plan{})

	formulation.Apply(scales, values)
	source.Observe(ctx, now, names, o)
	gru.Observe(number, values)
	client.Apply(ctx, object, owner, force)
}`
	calls, err := clusterCalls("around.go", source)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"around.go:3: a.cluster.Observe", "around.go:4: a.cluster.Apply", "around.go:5: a.engine.Apply", "around.go:6: engine.Apply",
	}
	if !slices.Equal(calls, want) {
		t.Errorf("found %q, want %q", calls, want)
	}
}

// clusterCalls finds the calls of a cluster's Observe(ctx, into) and Apply(ctx, plan), and
// of an engine's Apply(plan), by their form. The source is read from the file if it is nil.
func clusterCalls(file string, source any) ([]string, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var calls []string
	ast.Inspect(f, func(n ast.Node) bool {
		call, isCall := n.(*ast.CallExpr)
		if !isCall {
			return true
		}
		method, isMethod := call.Fun.(*ast.SelectorExpr)
		if !isMethod {
			return true
		}
		name, receiver := method.Sel.Name, text(method.X)
		ofCluster := (name == "Observe" || name == "Apply") && len(call.Args) == 2 && isContext(call.Args[0])
		ofEngine := name == "Apply" && len(call.Args) == 1 && strings.HasSuffix(strings.ToLower(receiver), "engine")
		if ofCluster || ofEngine {
			calls = append(calls, fmt.Sprintf("%s:%d: %s.%s", file, set.Position(call.Pos()).Line, receiver, name))
		}
		return true
	})
	return calls, nil
}

// isContext says whether an expression is a context, by its name or as a call of package context.
func isContext(e ast.Expr) bool {
	if call, isCall := e.(*ast.CallExpr); isCall {
		e = call.Fun
	}
	name := strings.ToLower(text(e))
	return name == "ctx" || strings.HasSuffix(name, ".ctx") || strings.HasPrefix(name, "context.") || strings.HasSuffix(name, ".context")
}

// text of an expression of names and selectors.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return text(e.X) + "." + e.Sel.Name
	}
	return "(...)"
}
