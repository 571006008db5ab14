package workload

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// CallGraphOptions configure how call traces become an application. The zero value means the
// default given with each field.
type CallGraphOptions struct {
	Name        string  // of the application; "callgraph"
	CPUShare    float64 // share of a visit's own time that is CPU; the rest is waiting; 0.5
	MaxKinds    int     // the most frequent kinds of requests are kept; 20
	MinCalls    float64 // calls made less often than this per request of their kind are dropped; 0.001
	SLOFactor   float64 // SLO latency over the mean response time of a kind; 3
	MaxTraces   int     // stop after this many usable traces; 0 = read all
	SkipBadRows bool    // skip and count malformed rows
}

func (o CallGraphOptions) withDefaults() CallGraphOptions {
	o.Name = cmp.Or(o.Name, "callgraph")
	o.CPUShare = cmp.Or(o.CPUShare, 0.5)
	o.MaxKinds = cmp.Or(o.MaxKinds, 20)
	o.MinCalls = cmp.Or(o.MinCalls, 0.001)
	o.SLOFactor = cmp.Or(o.SLOFactor, 3)
	return o
}

func (o CallGraphOptions) validate() error {
	faults := newFaults("call graph options")
	if !(o.CPUShare > 0 && o.CPUShare <= 1) {
		faults.add(0, "CPU share", fmt.Sprint(o.CPUShare), "must be above 0 and at most 1")
	}
	if o.MaxKinds < 0 || o.MaxTraces < 0 {
		faults.add(0, "maximum of kinds and of traces", fmt.Sprintf("%d and %d", o.MaxKinds, o.MaxTraces), "must be at least 0")
	}
	if !(o.MinCalls >= 0 && o.MinCalls < 1) {
		faults.add(0, "least calls per request", fmt.Sprint(o.MinCalls), "must be from 0 to below 1")
	}
	if !(o.SLOFactor > 0) || math.IsInf(o.SLOFactor, 0) {
		faults.add(0, "SLO factor", fmt.Sprint(o.SLOFactor), "must be a finite number above 0")
	}
	return faults.err()
}

// CallGraphReport is what was kept and what was dropped on the way from traces to an
// application.
type CallGraphReport struct {
	Format  string
	Rows    int64
	BadRows int64
	Traces  int            // seen
	Used    int            // became part of the application
	Dropped map[string]int // traces, by fault

	KindsLeftOut    int // beyond MaxKinds
	RequestsLeftOut int // traces of those kinds
	CallsFolded     int // into their callers, because they would close a cycle
	CallsLeftOut    int // distinct calls below MinCalls

	Assumed []string // every figure that is not in the traces
}

// AppFromCallGraph makes an application of an Alibaba MSCallGraph table, 2021
// or 2022.
//
// Services are the names in um and dm. A kind of request is a service id
// (2022), or the entry's name and interface (2021). The traces of a kind are
// laid over each other: a call's probability and times are such that its mean
// number is the traces'; sibling calls that mostly overlap in time share a
// stage; a visit's own time is its rt without the time covered by its calls,
// of which CPUShare is CPU. A trace with unknown names, missing parents or
// unreadable times is left out and counted. Calls that would close a cycle
// among services are folded: their own time and their calls go to the caller.
func AppFromCallGraph(r io.Reader, name string, o CallGraphOptions) (*loadline.App, CallGraphReport, error) {
	o = o.withDefaults()
	report := CallGraphReport{Dropped: map[string]int{}}
	if err := o.validate(); err != nil {
		return nil, report, err
	}
	faults := newFaults(name)
	in := &input{opts: Options{SkipBad: o.SkipBadRows}, faults: faults, lines: newLines(r, faults)}
	in.begin()
	if err := faults.err(); err != nil {
		return nil, report, err
	}
	if in.format != alibaba2021CallGraph && in.format != alibaba2022CallGraph {
		faults.add(1, "columns", in.format.name, "must be an MSCallGraph table: "+
			alibaba2021CallGraph.name+" or "+alibaba2022CallGraph.name)
		return nil, report, faults
	}

	merged := newCallTrees()
	groups := newTraceGroups(func(t *trace) {
		report.Traces++
		if o.MaxTraces > 0 && report.Used >= o.MaxTraces {
			report.Traces--
			return
		}
		root, err := t.tree()
		if err == nil {
			err = merged.add(root)
		}
		if err != nil {
			report.Dropped[err.Error()]++
			return
		}
		report.Used++
	})
	names := interner{}
	for in.next() && (o.MaxTraces == 0 || report.Used < o.MaxTraces) {
		if id, s, ok := in.span(names); ok {
			groups.add(id, s)
		}
	}
	if err := faults.err(); err != nil {
		return nil, report, err
	}
	groups.closeAll()
	report.Format, report.Rows, report.BadRows = in.format.name, in.report.Rows, in.report.Bad
	if report.Used == 0 {
		return nil, report, fmt.Errorf("%s: must hold at least one whole trace: %d rows in %d traces, left out for %s",
			name, report.Rows, report.Traces, reasons(report.Dropped))
	}
	app := merged.app(o, &report)
	return app, report, nil
}

func reasons(dropped map[string]int) string {
	var names []string
	for r := range dropped {
		names = append(names, r)
	}
	slices.Sort(names)
	text := ""
	for i, r := range names {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s (%d)", r, dropped[r])
	}
	return cmp.Or(text, "nothing")
}

// interner keeps one copy of each name: the ids of 2021 are 64 letters long and occur in every
// row. It is reset before it outgrows what it saves.
type interner map[string]string

func (n interner) name(text []byte) string {
	if known, ok := n[string(text)]; ok {
		return known
	}
	if len(n) >= 1<<17 {
		clear(n)
	}
	name := string(text)
	n[name] = name
	return name
}

// span reads the current row as one call.
func (in *input) span(names interner) (traceID string, s span, ok bool) {
	column := func(name string) string { return names.name(in.fields[in.position(name)]) }
	at, ok := in.instant("timestamp", in.fields[in.position("timestamp")], time.Millisecond)
	if !ok {
		return "", s, false
	}
	rpc := "rpcid"
	if in.format == alibaba2022CallGraph {
		rpc = "rpc_id"
		s.service = column("service")
	}
	s.id, s.um, s.dm, s.iface, s.at = column(rpc), column("um"), column("dm"), column("interface"), at
	rt, err := parseNumber(in.fields[in.position("rt")])
	if err != nil || math.Abs(rt) > 1e9 {
		rt = math.NaN() // the trace is then dropped and counted
	}
	s.rt = time.Duration(math.Abs(rt) * float64(time.Millisecond))
	s.fromServer = rt < 0
	s.timed = !math.IsNaN(rt)
	return string(in.fields[in.position("traceid")]), s, true
}

// Faults of a trace.
var (
	errUnknownName   = errors.New("unknown name")
	errMissingParent = errors.New("missing parent")
	errWrongParent   = errors.New("caller is not the parent")
	errTwice         = errors.New("one rpc id, two calls")
	errBadID         = errors.New("unreadable rpc id")
	errNoTime        = errors.New("no response time")
	errTooLarge      = errors.New("too large")
)
