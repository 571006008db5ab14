package workload

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// span is one row of a call graph: one call as seen by one of its ends.
type span struct {
	id         string // dotted: 0.1.2 was made by 0.1
	um, dm     string // caller and callee
	iface      string
	service    string // kind of request, 2022 only
	at         int64  // nanoseconds
	rt         time.Duration
	fromServer bool // rt was measured by the callee
	timed      bool
}

// visit is one call of a trace with the calls it made.
type visit struct {
	service string
	kind    string // of the request; set at the root
	at      int64
	rt      time.Duration
	timed   bool // false: only the visit's calls were recorded
	calls   []*visit
	path    []int
}

// trace is the rows of one request.
type trace struct {
	id    string
	spans []span
}

const (
	maxOpenRows  = 1 << 18 // rows held while their traces may still be incomplete
	maxTraceRows = 10_000
)

// traceGroups collects the rows of each trace in bounded memory: rows of a trace are close
// together, so when too many are held the oldest trace is considered complete. A later row of
// it makes an invalid trace, which is counted.
type traceGroups struct {
	open  map[string]*trace
	order []*trace
	rows  int
	done  func(*trace)
}

func newTraceGroups(done func(*trace)) *traceGroups {
	return &traceGroups{open: map[string]*trace{}, done: done}
}

func (g *traceGroups) add(id string, s span) {
	t := g.open[id]
	if t == nil {
		t = &trace{id: id}
		g.open[id] = t
		g.order = append(g.order, t)
	}
	t.spans = append(t.spans, s)
	g.rows++
	for g.rows > maxOpenRows {
		g.closeOldest()
	}
}

func (g *traceGroups) closeOldest() {
	t := g.order[0]
	g.order = g.order[1:]
	delete(g.open, t.id)
	g.rows -= len(t.spans)
	g.done(t)
}

func (g *traceGroups) closeAll() {
	for len(g.order) > 0 {
		g.closeOldest()
	}
}

// unknown reports whether a name is a placeholder.
func unknown(name string) bool {
	switch strings.ToUpper(name) {
	case "", "(?)", "NAN", "UNKNOWN", "NONE", "NULL":
		return true
	}
	return false
}

// fromUser reports whether a caller is outside the application.
func fromUser(name string) bool { return unknown(name) || strings.EqualFold(name, "USER") }

// tree arranges the calls of a trace by rpc id.
func (t *trace) tree() (*visit, error) {
	if len(t.spans) > maxTraceRows {
		return nil, errTooLarge
	}
	calls, err := t.distinct()
	if err != nil {
		return nil, err
	}
	visits := make(map[string]*visit, len(calls))
	callers := make(map[string]string, len(calls))
	var tops []string
	for _, c := range calls { // parents come before children
		v := &visit{service: c.dm, at: c.at, rt: c.rt, timed: true, path: c.path}
		visits[c.id], callers[c.id] = v, c.um
		parent, ok := visits[parentID(c.id)]
		if !ok {
			tops = append(tops, c.id)
			continue
		}
		if c.um != parent.service {
			if unknown(c.um) {
				return nil, errUnknownName
			}
			return nil, errWrongParent
		}
		parent.calls = append(parent.calls, v)
	}
	root, err := rootOf(tops, visits, callers)
	if err != nil {
		return nil, err
	}
	root.kind = kindOf(root, calls)
	return root, nil
}

// call is a span that both ends' rows have been merged into.
type call struct {
	span
	path []int
}

// distinct merges the two rows of a call, the caller's and the callee's, and sorts the calls by
// id. The callee's time is preferred: it is the visit's.
func (t *trace) distinct() ([]call, error) {
	at := make(map[string]int, len(t.spans))
	var calls []call
	for _, s := range t.spans {
		if unknown(s.dm) {
			return nil, errUnknownName
		}
		if !s.timed {
			return nil, errNoTime
		}
		i, ok := at[s.id]
		if !ok {
			path, ok := parsePath(s.id)
			if !ok {
				return nil, errBadID
			}
			at[s.id] = len(calls)
			calls = append(calls, call{s, path})
			continue
		}
		seen := &calls[i]
		if seen.dm != s.dm || (!unknown(seen.um) && !unknown(s.um) && seen.um != s.um) {
			return nil, errTwice
		}
		if unknown(seen.um) {
			seen.um = s.um
		}
		if s.fromServer && !seen.fromServer {
			seen.rt, seen.fromServer = s.rt, true
		}
		seen.at = min(seen.at, s.at)
	}
	slices.SortFunc(calls, func(a, b call) int { return slices.Compare(a.path, b.path) })
	return calls, nil
}

func parsePath(id string) ([]int, bool) {
	var path []int
	for step := range strings.SplitSeq(id, ".") {
		n, err := strconv.Atoi(step)
		if err != nil || n < 0 || len(path) == 64 {
			return nil, false
		}
		path = append(path, n)
	}
	return path, true
}

func parentID(id string) string {
	i := strings.LastIndexByte(id, '.')
	if i < 0 {
		return ""
	}
	return id[:i]
}

// rootOf finds where the request entered. Files often lack the row of the user's own call: then
// the top-level calls, all by one known service, are that service's, and nothing else is known
// of it.
func rootOf(tops []string, visits map[string]*visit, callers map[string]string) (*visit, error) {
	first := tops[0]
	if len(visits[first].path) > 2 {
		return nil, errMissingParent
	}
	if len(tops) == 1 && fromUser(callers[first]) {
		return visits[first], nil
	}
	entry := callers[first]
	if fromUser(entry) {
		return nil, errMissingParent
	}
	root := &visit{service: entry, at: visits[first].at}
	for _, id := range tops {
		if callers[id] != entry || parentID(id) != parentID(first) {
			return nil, errMissingParent
		}
		root.calls = append(root.calls, visits[id])
	}
	return root, nil
}

// kindOf names the kind of request.
func kindOf(root *visit, calls []call) string {
	first := calls[0]
	if !unknown(first.service) {
		return first.service
	}
	if unknown(first.iface) {
		return root.service
	}
	return root.service + "/" + first.iface
}

// own is the time of a visit not covered by its calls.
func (v *visit) own() time.Duration {
	type stretch struct{ from, to int64 }
	end := v.at + int64(v.rt)
	var covered []stretch
	for _, c := range v.calls {
		s := stretch{max(c.at, v.at), min(c.at+int64(c.rt), end)}
		if s.to > s.from {
			covered = append(covered, s)
		}
	}
	slices.SortFunc(covered, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	left, reached := int64(v.rt), v.at
	for _, s := range covered {
		if s.to > reached {
			left -= s.to - max(s.from, reached)
			reached = s.to
		}
	}
	return time.Duration(left)
}
