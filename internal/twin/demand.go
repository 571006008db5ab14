package twin

import (
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/history"
)

// demand is the CPU demand of a service's visits.
type demand struct {
	perVisit float64 // CPU seconds
	// work is the factor on it by kind of request; nil = one figure for all.
	work     []float64
	pools    []kindPool // of the kinds that visit the service
	idle     float64    // cores of a ready replica without requests
	scale    float64    // residual spread of the CPU per replica, cores
	from     int        // first step at which it applies
	changes  []Change
	later    *Change // in the held-out part; nil = none
	rows     int
	measured bool
}

// Change is a change of the CPU time per request, such as a release.
type Change struct {
	At            time.Time
	Before, After time.Duration // CPU per request
}

// maxRows bounds the points of a fit; they are spread over the range of loads, because most of
// a history is at its usual load.
const maxRows = 2000

// demand fits CPU per replica = idle + perVisit * requests per replica, on the data after the
// last change, and the factors of the kinds of requests if they differ.
func (p *past) demand(g *graph, i int, n *notes) demand {
	t := p.tracks[i]
	rows := p.cpuRows(g, i, t.windows)
	if len(rows) < 12 {
		return t.assumedDemand(n)
	}
	kinds := g.visitors(i)
	// A mix that changes is not a release: the visits are weighed by kind before changes of the
	// CPU time are looked for.
	plain := rows
	if w, _ := fitWorks(rows, kinds, fitCPU(rows)); w != nil {
		factor, _ := w.factors(rows, len(g.kinds))
		rows = weigh(rows, factor)
	}
	d := t.perVisit(p, rows, n)
	plain = plain[len(plain)-d.rows:]
	w, pools := fitWorks(plain, kinds, fitCPU(plain))
	d.pools = pools
	if w != nil {
		d.work, d.perVisit = w.factors(plain, len(g.kinds))
		d.idle, d.scale = w.idle, w.scale
	}
	if d.later = p.laterChange(g, i, &d); d.later != nil {
		n.warn("service %s: CPU per request changed from %v to %v at %s, as by a release, in the held-out part: the twin is of the "+
			"release before it", t.name, d.later.Before, d.later.After, d.later.At.UTC().Format(time.RFC3339))
	}
	return d
}

// laterChange is the last change of the CPU time per request in the held-out part, compared with
// what was fitted; nil = none.
func (p *past) laterChange(g *graph, i int, d *demand) *Change {
	t := p.tracks[i]
	rows := p.cpuRows(g, i, slices.Concat(t.windows, p.makeWindows(t, p.cut, p.h.Steps)))
	rows = rows[slices.IndexFunc(rows, func(r cpuRow) bool { return r.from >= d.from }):]
	if d.work != nil {
		rows = weigh(rows, d.work)
	}
	starts := changePoints(rows)
	last := starts[len(starts)-1]
	if last == 0 {
		return nil
	}
	after := fitCPU(rows[last:]).slope
	if math.Abs(after-d.perVisit) < changeLeast*d.perVisit {
		return nil
	}
	return &Change{At: p.h.At(rows[last].from), Before: seconds(d.perVisit).Round(time.Microsecond),
		After: seconds(after).Round(time.Microsecond)}
}

// visitors are the kinds that visit a service.
func (g *graph) visitors(service int) []int {
	var list []int
	for k := range g.kinds {
		if g.kinds[k].visits[service] > 0 {
			list = append(list, k)
		}
	}
	return list
}

// perVisit fits one figure for all visits, after the last change.
func (t *track) perVisit(p *past, rows []cpuRow, n *notes) demand {
	d := demand{measured: true}
	starts := changePoints(rows)
	lines := make([]line, len(starts))
	for i, from := range starts {
		to := len(rows)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		lines[i] = fitCPU(rows[from:to])
	}
	for i := 1; i < len(starts); i++ {
		d.changes = append(d.changes, Change{
			At:     p.h.At(rows[starts[i]].from),
			Before: seconds(lines[i-1].slope).Round(time.Microsecond), After: seconds(lines[i].slope).Round(time.Microsecond),
		})
	}
	last := starts[len(starts)-1]
	if last > 0 {
		d.from = rows[last].from
		c := d.changes[len(d.changes)-1]
		n.warn("service %s: CPU per request changed from %v to %v at %s, as by a release; only the data after it is fitted",
			t.name, c.Before, c.After, c.At.UTC().Format(time.RFC3339))
	}
	l := lines[len(lines)-1]
	d.perVisit, d.idle, d.scale, d.rows = l.slope, l.base, l.scale, len(rows)-last
	if d.perVisit <= 0 {
		n.warn("service %s: its CPU does not grow with its requests: CPU per request is assumed", t.name)
		d.perVisit, d.idle = max(medianOf(rows[last:], func(r cpuRow) float64 { return r.cpu / r.rate }), 1e-6), 0
	}
	return d
}

// cpuRow is one point of the fit, per replica.
type cpuRow struct {
	from      int // step
	rate, cpu float64
	kinds     []float64 // of the rate, by kind of request
}

// cpuRows are the windows that show the CPU demand of requests. A replica at its limit uses
// what it gets, not what it needs.
func (p *past) cpuRows(g *graph, service int, windows []window) []cpuRow {
	var rows []cpuRow
	for i := range windows {
		w := &windows[i]
		if !w.sound() || !w.even || math.IsNaN(w.cpu) || w.cpu > 0.9*w.ready*w.limit {
			continue
		}
		rows = append(rows, cpuRow{w.from, w.rate / w.ready, w.cpu / w.ready, p.mix(g, service, w)})
	}
	return rows
}

// mix is the visits per second to one replica by kind of request, in a window. The kinds need
// not sum to the service's rate, which is more precise: they share it.
func (p *past) mix(g *graph, service int, w *window) []float64 {
	kinds := make([]float64, len(g.kinds))
	sum := 0.0
	for k := range kinds {
		if v := g.kinds[k].visits[service]; v > 0 {
			if r := p.entryRate(k, w); !math.IsNaN(r) {
				kinds[k] = v * r
			}
			sum += kinds[k]
		}
	}
	for k := range kinds {
		kinds[k] *= ratio(w.rate/w.ready, sum)
	}
	return kinds
}

func medianOf[T any](rows []T, f func(T) float64) float64 {
	v := make([]float64, len(rows))
	for i := range rows {
		v[i] = f(rows[i])
	}
	return median(v)
}

// fitCPU fits one stretch without changes. The base is at least 0.
func fitCPU(rows []cpuRow) line {
	rows = stratified(rows, maxRows, func(r cpuRow) float64 { return r.rate })
	x, y := make([]float64, len(rows)), make([]float64, len(rows))
	for i, r := range rows {
		x[i], y[i] = r.rate, r.cpu
	}
	l := robustLine(x, y)
	if l.base < 0 {
		f, scale := refine([][]float64{x}, y, []float64{medianOf(rows, func(r cpuRow) float64 { return r.cpu / r.rate })})
		l = line{0, f[0], scale}
	}
	return l
}

// stratified takes at most the given number of rows, as evenly over the range of a measure as
// possible: from each of 20 slices of the range its share, spread over time.
func stratified[T any](rows []T, most int, by func(T) float64) []T {
	if len(rows) <= most {
		return rows
	}
	const slices20 = 20
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range rows {
		low, high = min(low, by(r)), max(high, by(r))
	}
	parts := make([][]T, slices20)
	for _, r := range rows {
		k := min(int(float64(slices20)*(by(r)-low)/max(high-low, 1e-300)), slices20-1)
		parts[k] = append(parts[k], r)
	}
	// Sparse slices contribute all their rows; the rest is divided among the others.
	order := make([]int, slices20)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(parts[a]) - len(parts[b]) })
	var out []T
	left := most
	for i, k := range order {
		share := min(left/(slices20-i), len(parts[k]))
		for j := range share {
			out = append(out, parts[k][j*len(parts[k])/share])
		}
		left -= share
	}
	return out
}

// assumedDemand is used if CPU was not measured: half of the response time at low load.
func (t *track) assumedDemand(n *notes) demand {
	var quick []float64
	for i := range t.windows {
		if w := &t.windows[i]; w.sound() && !math.IsNaN(w.mean) {
			quick = append(quick, w.mean)
		}
	}
	slices.Sort(quick)
	guess := 0.5 * quantile(quick, 0.1)
	if math.IsNaN(guess) {
		guess = 0.01
	}
	n.warn("service %s: too little CPU (metric %q) was measured: %s", t.name, history.CPU, history.CPU.About().Cost)
	n.assume("services."+t.name+".cpu", seconds(guess).Round(time.Microsecond),
		"CPU was not measured: half of the mean response time at little load")
	n.assume("services."+t.name+".idle", 0, "CPU was not measured")
	return demand{perVisit: max(guess, 1e-6)}
}
