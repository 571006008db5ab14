package apps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline"
)

const (
	// maxCalls is the maximum number of calls of all trees together, with shared sub-trees
	// expanded: a few nested ones could exceed any memory.
	maxCalls = 20_000
	// maxVisits is the maximum mean number of visits of one request.
	maxVisits = 100_000
)

// callTrees turns written calls into calls of the application.
type callTrees struct {
	r        *reader
	app      *loadline.App
	services map[string]int
	shared   map[string]*callNode
	names    []string // of the shared sub-trees, in the file's order
	calls    int      // so far, over all trees
	reported map[string]bool
}

// callTrees reads the shared sub-trees and checks that they do not contain each other.
func (r *reader) callTrees(top object, app *loadline.App) *callTrees {
	t := &callTrees{r: r, app: app, services: map[string]int{}, shared: map[string]*callNode{}, reported: map[string]bool{}}
	for i, s := range app.Services {
		t.services[s.Name] = i
	}
	a, ok := top.fields["calls"]
	if !ok {
		return t
	}
	for _, e := range r.entries(a, "a mapping from names to call trees") {
		t.shared[e.key] = r.call(e.at)
		t.names = append(t.names, e.key)
	}
	for _, name := range t.names {
		t.checkNames(t.shared[name])
	}
	t.cutCycles()
	return t
}

// root reads the call tree of one kind of request.
func (t *callTrees) root(a at) loadline.Call {
	n := t.r.call(a)
	t.checkNames(n)
	if n.versions != nil {
		t.faultOnce(n.versions[0].line, n.path+".versions", n.versions[0].name, "left out: users have no versions")
		n.versions = nil
	}
	c, ok := t.expand(n, -1, nil)
	if c.Timeout != 0 || c.Retries != (loadline.Retries{}) {
		t.faultOnce(n.line, n.path, "a call with timeout or retries", "without them: those of users' requests belong to the kind")
	}
	if ok && visitsOf(t.app, c) > maxVisits {
		t.r.fault(n.line, n.path, fmt.Sprintf("%.3g visits", visitsOf(t.app, c)),
			fmt.Sprintf("a tree of at most %d visits for one request: lower \"times\"", maxVisits))
	}
	return c
}

// faultOnce reports a fault of a shared sub-tree once, not for every use.
func (t *callTrees) faultOnce(line int, field, value, want string) {
	key := fmt.Sprint(line, field, value)
	if !t.reported[key] {
		t.reported[key] = true
		t.r.fault(line, field, value, want)
	}
}

// checkNames reports services and sub-trees that do not exist.
func (t *callTrees) checkNames(n *callNode) {
	if n.service != "" {
		if _, ok := t.services[n.service]; !ok {
			known := make([]string, len(t.app.Services))
			for i, s := range t.app.Services {
				known[i] = s.Name
			}
			t.faultOnce(n.line, n.path, n.service, "the name of a service under \"services\""+didYouMean(n.service, known))
		}
	}
	if n.use != "" && t.shared[n.use] == nil {
		t.faultOnce(n.line, n.path+".use", n.use, "the name of a sub-tree under \"calls\""+didYouMean(n.use, t.names))
	}
	for _, stage := range n.stages {
		for _, c := range stage {
			t.checkNames(c)
		}
	}
}

// cutCycles reports sub-trees that contain themselves and empties them, so that everything else
// can still be checked.
func (t *callTrees) cutCycles() {
	done := map[string]bool{}
	var path []string
	var visit func(n *callNode)
	enter := func(name string) {
		n := t.shared[name]
		if n == nil || done[name] {
			return
		}
		if i := slices.Index(path, name); i >= 0 {
			round := strings.Join(append(slices.Clone(path[i:]), name), " -> ")
			first := t.shared[path[i]]
			t.faultOnce(first.line, "calls."+path[i], round, "a tree: a sub-tree may not contain itself")
			for _, p := range path[i:] {
				done[p] = true
			}
			return
		}
		path = append(path, name)
		visit(n)
		path = path[:len(path)-1]
		if done[name] { // it is part of a cycle
			*n = callNode{line: n.line, path: n.path}
		}
		done[name] = true
	}
	visit = func(n *callNode) {
		if n.use != "" {
			enter(n.use)
		}
		for _, stage := range n.stages {
			for _, c := range stage {
				visit(c)
			}
		}
	}
	for _, name := range t.names {
		enter(name)
	}
}

// expand makes a call with everything under it. It returns false if a fault leaves nothing to
// make.
func (t *callTrees) expand(n *callNode, caller int, ancestors []int) (loadline.Call, bool) {
	body := n
	stated := []*callNode{n}
	for body.use != "" {
		if body = t.shared[body.use]; body == nil {
			return loadline.Call{}, false
		}
		stated = append(stated, body)
	}
	service, ok := t.services[body.service]
	if !ok {
		return loadline.Call{}, false
	}
	if t.calls++; t.calls > maxCalls {
		t.faultOnce(n.line, "kinds", fmt.Sprintf("more than %d calls", maxCalls),
			fmt.Sprintf("call trees of at most %d calls together, shared sub-trees put in", maxCalls))
		return loadline.Call{}, false
	}
	if i := slices.Index(ancestors, service); i >= 0 {
		t.faultOnce(body.line, n.path, t.pathNames(append(slices.Clone(ancestors[i:]), service)),
			"a tree in which no service is its own ancestor: a worker is held while it waits, so this could deadlock")
		return loadline.Call{}, false
	}
	c := plainCall(service)
	var versions []versionName
	for _, s := range slices.Backward(stated) { // from the innermost to the outermost use
		override(&c.Probability, s.probability)
		override(&c.Times, s.times)
		override(&c.Work, s.work)
		override(&c.Optional, s.optional)
		override(&c.Timeout, s.timeout)
		override(&c.Retries, s.retries)
		if s.versions != nil {
			versions = s.versions
		}
	}
	c.Versions = t.versionIndices(versions, caller)
	path := append(slices.Clip(ancestors), service)
	for _, stage := range body.stages {
		var parallel []loadline.Call
		for _, child := range stage {
			if call, ok := t.expand(child, service, path); ok {
				parallel = append(parallel, call)
			}
		}
		if len(parallel) > 0 {
			c.Stages = append(c.Stages, parallel)
		}
	}
	return c, true
}

func override[T any](value *T, stated *T) {
	if stated != nil {
		*value = *stated
	}
}

func (t *callTrees) versionIndices(names []versionName, caller int) []int {
	if names == nil || caller < 0 {
		return nil
	}
	s := &t.app.Services[caller]
	known := make([]string, len(s.Versions))
	for i, v := range s.Versions {
		known[i] = v.Name
	}
	var indices []int
	for _, v := range names {
		i := slices.Index(known, v.name)
		switch {
		case i < 0:
			t.faultOnce(v.line, v.path, v.name, fmt.Sprintf("a version of the calling service %s%s", s.Name, didYouMean(v.name, known)))
		case slices.Contains(indices, i):
			t.faultOnce(v.line, v.path, v.name, "named once")
		default:
			indices = append(indices, i)
		}
	}
	return indices
}

func (t *callTrees) pathNames(services []int) string {
	names := make([]string, len(services))
	for i, s := range services {
		names[i] = t.app.Services[s].Name
	}
	return strings.Join(names, " -> ")
}
