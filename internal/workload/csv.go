package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Plain CSV: a header, t_s in seconds, and a value: rps (a rate), requests or invocations (a
// count per bin, the bin being the step of t_s), or cpu_util_percent (utilisation, which needs
// a profile). "rps:query,rps:buy" gives each kind of request its own column, and so a mix.
// Other columns are ignored. Times must be evenly spaced and rising; anything else is a fault,
// since a wrong guess of the bin would change every rate of the file.

var plainCSV = &format{
	name:    "csv",
	help:    "plain CSV: t_s and rps (a rate), requests (a count per bin) or cpu_util_percent; rps:KIND columns give a mix",
	combine: CombineSum,
	headed:  true,
	open:    openCSV,
}

// csvTable is a plain CSV while it is read.
type csvTable struct {
	in      *input
	measure string // what the values are
	columns []int  // their positions: one, or one per kind
	kinds   []string
	time    int

	values  []float64 // row after row, one per column
	deltas  []deltaRun
	lastAt  int64
	firstAt int64
	lost    bool // the time of the previous row could not be read
}

// deltaRun is a run of rows at the same distance from their predecessors: a regular file is one
// run, whatever its length.
type deltaRun struct {
	delta int64
	rows  int
	line  int   // of the first
	at    int64 // its time
}

var csvMeasures = []string{"rps", "requests", "invocations", "cpu_util_percent"}

func openCSV(in *input) func() {
	t := &csvTable{in: in, time: -1}
	t.header()
	in.finish = t.series
	return t.row
}

func (t *csvTable) header() {
	in := t.in
	seen := map[string]bool{}
	for i, name := range in.names {
		if seen[name] {
			in.faults.add(1, "columns", name, "must appear once")
		}
		seen[name] = true
		measure, kind, ofKind := strings.Cut(name, ":")
		switch {
		case strings.EqualFold(name, "t_s"):
			t.time = i
		case !isMeasure(measure):
		case t.measure != "" && (measure != t.measure || !ofKind || t.kinds == nil):
			in.faults.add(1, "columns", strings.Join(in.names, ","), "must have one of "+strings.Join(csvMeasures,
				", ")+", or one column per kind such as rps:query")
			return
		case ofKind && (kind == "" || measure == "cpu_util_percent"):
			in.faults.add(1, "columns", name, "must be a rate or count and the name of a kind of request, such as rps:query")
		default:
			t.measure = measure
			t.columns = append(t.columns, i)
			if ofKind {
				t.kinds = append(t.kinds, kind)
			}
		}
	}
	if t.time < 0 {
		in.faults.add(1, "columns", strings.Join(in.names, ","), "must have a column t_s, the time in seconds")
	}
	if t.measure == "" {
		in.faults.add(1, "columns", strings.Join(in.names, ","),
			"must have a column rps (a rate), requests (a count per bin) or cpu_util_percent")
	}
	if t.measure == "cpu_util_percent" {
		in.unit = Utilisation
	}
}

func isMeasure(name string) bool {
	for _, m := range csvMeasures {
		if m == name {
			return true
		}
	}
	return false
}

func (t *csvTable) row() {
	in := t.in
	in.report.Selected++
	at, ok := in.instant("t_s", in.fields[t.time], time.Second)
	if !ok {
		t.lost = true
		return
	}
	if most := in.opts.binLimit(); int64(len(t.values)/len(t.columns)) >= most {
		in.faults.add(in.lines.number, "t_s", "", fmt.Sprintf("must be at most %d rows", most))
		in.lines.ended = true
		return
	}
	high := math.Inf(1)
	if t.measure == "cpu_util_percent" {
		high = 100
	}
	before := len(t.values)
	for _, c := range t.columns {
		if len(in.fields[c]) == 0 {
			// Unlike in a public trace, every reading must be present in a plain file.
			in.fault(in.names[c], "", "must be a number: the field is empty")
			ok = false
			t.values = append(t.values, 0)
			continue
		}
		v, fine := in.reading(in.names[c], in.fields[c], 0, high)
		ok = ok && fine
		t.values = append(t.values, v)
	}
	if !ok && in.opts.SkipBad {
		t.values = t.values[:before]
		return
	}
	// A bad value keeps its place: the file is rejected, but the times around it are still
	// checked.
	t.place(at, before == 0)
}

// place records the time of a row. After a row whose time could not be read, the distance to
// the next is unknown.
func (t *csvTable) place(at int64, first bool) {
	if first {
		t.firstAt = at
	} else if !t.lost || t.in.opts.SkipBad {
		delta := at - t.lastAt
		if n := len(t.deltas); n > 0 && t.deltas[n-1].delta == delta {
			t.deltas[n-1].rows++
		} else {
			t.deltas = append(t.deltas, deltaRun{delta, 1, t.in.lines.number, at})
		}
	}
	t.lost = false
	t.lastAt = at
}

func (t *csvTable) series() *Series {
	in := t.in
	rows := len(t.values) / max(1, len(t.columns))
	faulty := len(in.faults.List) > 0
	if rows == 0 {
		if !faulty {
			in.faultNothing()
		}
		return nil
	}
	step := t.step()
	t.checkTimes(step)
	if len(in.faults.List) > 0 {
		return nil
	}
	s := &Series{Step: time.Duration(step), Start: time.Duration(t.firstAt)}
	t.fill(s)
	if in.opts.Step == 0 || in.opts.Step == s.Step {
		return s
	}
	w, err := (&Workload{Name: in.faults.File, Step: s.Step, Rates: s.Values}).Resample(in.opts.Step)
	if err != nil {
		in.faults.add(0, "step", in.opts.Step.String(), err.Error())
		return nil
	}
	s.Values, s.Step = w.Rates, w.Step
	return s
}

// step is the most common time between rows: a single gap must not make the rest of the file
// look uneven.
func (t *csvTable) step() int64 {
	count := map[int64]int{}
	best := int64(0)
	for _, d := range t.deltas {
		if d.delta <= 0 {
			continue
		}
		count[d.delta] += d.rows
		if best == 0 || count[d.delta] > count[best] || (count[d.delta] == count[best] && d.delta < best) {
			best = d.delta
		}
	}
	if best == 0 && len(t.in.faults.List) == 0 {
		t.in.faults.add(0, "t_s", "", "must rise over at least two rows: the time between them is the bin")
	}
	return best
}

func (t *csvTable) checkTimes(step int64) {
	for _, d := range t.deltas {
		now, every := seconds(d.at), seconds(step)
		switch {
		case d.delta == 0:
			t.in.faults.add(d.line, "t_s", now, "must come once: it repeats the row before")
		case d.delta == step:
		case d.delta < 0:
			t.in.faults.add(d.line, "t_s", now, "must be later than the row before ("+seconds(d.at-d.delta)+"): the rows are unsorted")
		case step == 0: // the times do not rise, which is a fault by itself
		case d.delta%step != 0:
			t.in.faults.add(d.line, "t_s", now, "must be "+seconds(d.at-d.delta+step)+": rows are "+every+" s apart")
		case t.in.opts.Gaps == GapsRefuse:
			t.in.faults.add(d.line, "t_s", now, "must be "+seconds(d.at-d.delta+step)+
				": there is a gap; say what a gap is (hold or zero) to fill it")
		}
	}
	if most := t.in.opts.binLimit(); step > 0 && (t.lastAt-t.firstAt)/step >= most {
		t.in.faults.add(0, "t_s", seconds(t.lastAt), fmt.Sprintf("must lie within %d bins of %s s of the first row", most, seconds(step)))
	}
}

func seconds(nanoseconds int64) string {
	return strconv.FormatFloat(float64(nanoseconds)/1e9, 'f', -1, 64)
}

// fill arranges the rows in bins, fills gaps as configured, and computes rates.
func (t *csvTable) fill(s *Series) {
	width := len(t.columns)
	bins := int((t.lastAt-t.firstAt)/int64(s.Step)) + 1
	s.Values = make([]float64, 0, bins)
	perBin := 1.0
	switch t.measure {
	case "requests", "invocations":
		perBin = 1 / s.Step.Seconds()
	case "cpu_util_percent":
		perBin = 0.01
	}
	var shares []float64
	next := 0
	take := func(height float64) {
		total := 0.0
		for _, v := range t.values[next*width : (next+1)*width] {
			total += v
		}
		s.Values = append(s.Values, total*perBin*height)
		if t.kinds != nil {
			shares = appendShares(shares, t.values[next*width:(next+1)*width], total)
		}
	}
	take(1)
	for _, d := range t.deltas {
		for range d.rows {
			for range d.delta/int64(s.Step) - 1 {
				switch t.in.opts.Gaps {
				case GapsAbsent:
					take(math.NaN())
				case GapsHold:
					t.in.report.Filled++
					take(1)
				default:
					t.in.report.Filled++
					take(0)
				}
			}
			next++
			take(1)
		}
	}
	if t.kinds != nil {
		s.Mix = &Mix{Kinds: t.kinds, Step: s.Step, Shares: shares}
	}
}

// appendShares adds one bin to a mix. A bin without requests keeps the shares of the one before
// it, or equal ones: they are never used.
func appendShares(shares, counts []float64, total float64) []float64 {
	width := len(counts)
	switch {
	case total > 0 && !math.IsInf(total, 0):
		for _, c := range counts {
			shares = append(shares, c/total)
		}
	case len(shares) >= width:
		shares = append(shares, shares[len(shares)-width:]...)
	default:
		for range width {
			shares = append(shares, 1/float64(width))
		}
	}
	return shares
}
