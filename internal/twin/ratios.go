package twin

import (
	"math"
	"slices"

	"github.com/loadline/loadline/internal/history"
)

// graph is the call graph with call frequencies.
type graph struct {
	kinds []kind
	order []int // services, callers before callees
}

// kind is one kind of request.
type kind struct {
	entry
	requests float64   // per second, mean of the fitted part
	visits   []float64 // by service, per request
	budget   []float64 // by service, approximate seconds of a request spent there and below
	calls    [][]callsTo
}

// callsTo is calls per visit of the caller to one service.
type callsTo struct {
	service int
	ratio   float64
}

// ratioSpan is the interval over which requests and calls are counted before they are compared:
// a call may fall into the step after its request.
const ratioSpan = 60.0

// callGraph estimates the calls per visit, by kind. Calls are counted by pairs of services, not
// by kinds, so that kinds are separated by how the calls follow the changing mix of requests;
// what the mix leaves undetermined is the average over kinds.
func (p *past) callGraph() *graph {
	g := &graph{order: p.topological()}
	bins := p.ratioBins()
	for _, t := range p.tracks {
		t.usual = usual(t.series[history.LatencyMean], p.cut)
	}
	rates := make([][]float64, len(p.entries))
	for k, e := range p.entries {
		rates[k] = binned(e.rate, bins)
		p.kindTimes = append(p.kindTimes, usual(e.mean, p.cut))
		visits := make([]float64, len(p.tracks))
		visits[e.to] = 1
		budget := make([]float64, len(p.tracks))
		budget[e.to] = p.kindTimes[k]
		g.kinds = append(g.kinds, kind{entry: e, requests: mean(rates[k]), visits: visits, budget: budget,
			calls: make([][]callsTo, len(p.tracks))})
	}
	if len(rates) > 1 && len(p.tracks) > 1 && stillMix(rates) {
		p.notes.warn("the shares of the kinds of requests never changed: the calls of each kind are estimated from response times, " +
			"so percentiles of single kinds are unreliable")
	}
	if len(p.edges) == 0 && len(p.tracks) > 1 && len(p.h.Calls) > 0 {
		p.starGraph(g, rates, bins)
	} else {
		for _, from := range g.order {
			lean := g.leaning(p, from)
			for _, e := range p.edges {
				if e.from == from {
					g.addEdge(e, lean, rates, binned(e.rate, bins))
				}
			}
			g.handDown(p, from)
		}
	}
	for _, t := range g.unreached(len(p.tracks)) {
		p.notes.warn("service %s: no user request reaches it: it has no load in the twin", p.tracks[t].name)
	}
	return g
}

// stillMix reports whether no kind's share of the requests ever moved by more than a per cent.
func stillMix(rates [][]float64) bool {
	for k := range rates {
		var shares []float64
		for i := range rates[k] {
			all := 0.0
			for _, r := range rates {
				all += r[i]
			}
			if v := rates[k][i] / all; !math.IsNaN(v) {
				shares = append(shares, v)
			}
		}
		if spread(shares) > 0.01*median(shares) {
			return false
		}
	}
	return true
}

// topological order of the services: callers before callees.
func (p *past) topological() []int {
	state := make([]bool, len(p.tracks))
	var order []int
	var visit func(i int)
	visit = func(i int) {
		if state[i] {
			return
		}
		state[i] = true
		for _, e := range p.edges {
			if e.from == i {
				visit(e.to)
			}
		}
		order = append(order, i)
	}
	for i := range p.tracks {
		visit(i)
	}
	slices.Reverse(order)
	return order
}

// ratioBins are the stretches in which calls are counted, in steps.
func (p *past) ratioBins() [][2]int {
	per := max(1, int(math.Ceil(ratioSpan/p.step)))
	for p.cut/per > 4*maxRows { // long histories are counted more coarsely
		per++
	}
	var bins [][2]int
	for from := 0; from+per <= p.cut; from += per {
		bins = append(bins, [2]int{from, from + per})
	}
	return bins
}

// binned is the mean of a series in each bin; NaN if it is incomplete, because a step lost in
// one series and not in the other gives a wrong ratio.
func binned(s history.Series, bins [][2]int) []float64 {
	out := make([]float64, len(bins))
	for b, span := range bins {
		sum := 0.0
		for i := span[0]; i < span[1]; i++ {
			sum += value(s, i)
		}
		out[b] = sum / float64(span[1]-span[0])
	}
	return out
}

func mean(values []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / float64(max(n, 1))
}

// leaning is the prior of the calls of each kind, relative to the average: a kind that takes
// long makes many. It is derived from the response times of the kinds, distributed from callers
// to callees.
func (g *graph) leaning(p *past, service int) []float64 {
	lean := slices.Repeat([]float64{1}, len(g.kinds))
	shares, sum := 0.0, 0.0
	own := p.ownTime(service)
	for k := range g.kinds {
		kd := &g.kinds[k]
		if kd.visits[service] <= 0 {
			continue
		}
		lean[k] = max(kd.budget[service]/kd.visits[service]-own, 0)
		shares += kd.requests * kd.visits[service]
		sum += kd.requests * kd.visits[service] * lean[k]
	}
	if !(sum > 0) { // nothing is measured, or nothing is left
		return slices.Repeat([]float64{1}, len(g.kinds))
	}
	for k := range lean {
		lean[k] *= shares / sum
	}
	return lean
}

// handDown distributes the remaining time of each kind to the called services, by their usual
// response times.
func (g *graph) handDown(p *past, service int) {
	own := p.ownTime(service)
	for k := range g.kinds {
		kd := &g.kinds[k]
		all := 0.0
		for _, c := range kd.calls[service] {
			all += c.ratio * p.meanTime(c.service)
		}
		left := max(kd.budget[service]-kd.visits[service]*own, 0)
		for _, c := range kd.calls[service] {
			kd.budget[c.service] += left * ratio(c.ratio*p.meanTime(c.service), all)
		}
	}
}

// meanTime is the usual mean response time of a service, 0 if unknown.
func (p *past) meanTime(service int) float64 {
	if v := p.tracks[service].usual; v > 0 {
		return v
	}
	return 0
}

// ownTime is the approximate time that a visit spends in the service itself: the mean minus its
// sequential calls, and at least that of the fastest kind.
func (p *past) ownTime(service int) float64 {
	t := p.tracks[service]
	whole := t.usual
	all := p.total(t.series[history.Rate])
	for _, e := range p.edges {
		if e.from == service {
			whole -= p.meanTime(e.to) * ratio(p.total(e.rate), all)
		}
	}
	quickest := math.Inf(1)
	for k, e := range p.entries {
		if e.to == service && p.kindTimes[k] > 0 {
			quickest = min(quickest, p.kindTimes[k])
		}
	}
	return min(max(whole, 0), quickest)
}

// usual is the median of the present values in the first steps.
func usual(s history.Series, steps int) float64 {
	var seen []float64
	for i := range steps {
		if v := value(s, i); v > 0 {
			seen = append(seen, v)
		}
	}
	return median(seen)
}

// addEdge estimates, by kind, the calls over one edge per visit of the caller.
func (g *graph) addEdge(e edge, lean []float64, rates [][]float64, y []float64) {
	var which []int
	var leaning []float64
	var columns [][]float64
	for k := range g.kinds {
		v := g.kinds[k].visits[e.from]
		if v <= 0 {
			continue
		}
		c := make([]float64, len(y))
		for i := range c {
			c[i] = v * rates[k][i]
		}
		which, columns, leaning = append(which, k), append(columns, c), append(leaning, lean[k])
	}
	ratios := callRatios(columns, y, leaning)
	keepTotal(columns, y, ratios)
	for i, k := range which {
		r := ratios[i]
		if r == 0 {
			continue
		}
		kd := &g.kinds[k]
		kd.calls[e.from] = append(kd.calls[e.from], callsTo{e.to, r})
		kd.visits[e.to] += kd.visits[e.from] * r
	}
}

// keepTotal rounds ratios to plausible values: whole numbers, and zero where there is hardly
// any. The total number of calls is preserved.
func keepTotal(columns [][]float64, y, ratios []float64) {
	before, after, common := 0.0, 0.0, 0.0
	x, counted := complete(columns, y)
	for i := range ratios {
		before += mean(x[i]) * ratios[i]
		common += mean(x[i])
	}
	common = ratio(mean(counted), common)
	rounded := slices.Clone(ratios)
	for i, r := range rounded {
		rounded[i] = snapped(r)
		if r < 0.02 && r < 0.2*common || r < 1e-6 {
			rounded[i] = 0 // within the noise of separating kinds
		}
		after += mean(x[i]) * rounded[i]
	}
	if math.Abs(after-before) < 0.03*before {
		copy(ratios, rounded)
	}
}

// callRatios are the non-negative factors with which the columns make y. What the columns do
// not determine gets the common ratio times its leaning.
func callRatios(columns [][]float64, y, leaning []float64) []float64 {
	columns, y = complete(columns, y)
	all := make([]float64, len(y))
	for i := range all {
		for _, c := range columns {
			all[i] += c[i]
		}
	}
	columns, y = complete(columns, withoutWild(all, y))
	if len(y) == 0 {
		return make([]float64, len(columns))
	}
	sum := 0.0
	for _, c := range columns {
		sum += mean(c)
	}
	common := ratio(mean(y), sum)
	prior := leanedTo(columns, common, leaning)
	if len(columns) == 1 {
		return []float64{common}
	}
	left := func(x []float64) []float64 {
		out := slices.Clone(y)
		for i := range out {
			for c := range columns {
				out[i] -= x[c] * columns[c][i]
			}
		}
		return out
	}
	x := nonNegative(columns, y, prior, penalties(columns, 1e-6))
	for range 2 {
		rest := left(x)
		noise := spread(rest)
		for i, v := range rest {
			if math.Abs(v) > 6*noise+1e-9 {
				y[i] = math.NaN() // an outlier
			}
		}
		columns, y = complete(columns, y)
		// The prior: a ratio may deviate from the common one by as much as the common one
		// itself.
		pull := slices.Repeat([]float64{noise * noise / max(common*common, 1e-12)}, len(columns))
		for i, least := range penalties(columns, 1e-9) {
			pull[i] = max(pull[i], least)
		}
		x = nonNegative(columns, y, prior, pull)
	}
	return x
}

// leanedTo distributes the common ratio by the leaning. A call that is made less than once on
// average is assumed to be made at most once by every kind: the excess goes to the others.
func leanedTo(columns [][]float64, common float64, leaning []float64) []float64 {
	out := make([]float64, len(columns))
	total, room := 0.0, 0.0 // calls still to be distributed, and the kinds that take them
	for i, c := range columns {
		total += common * mean(c)
		room += mean(c) * leaning[i]
	}
	full := make([]bool, len(columns))
	for range columns {
		again := false
		for i := range columns {
			if full[i] {
				continue
			}
			out[i] = ratio(total, room) * leaning[i]
			if common <= 1 && out[i] > 1 {
				out[i], full[i], again = 1, true, true
				total -= mean(columns[i])
				room -= mean(columns[i]) * leaning[i]
			}
		}
		if !again {
			break
		}
	}
	return out
}

// withoutWild removes rows whose ratio is far from the others'.
func withoutWild(x, y []float64) []float64 {
	var ratios []float64
	for i := range x {
		if x[i] > 0 {
			ratios = append(ratios, y[i]/x[i])
		}
	}
	mid, wide := median(ratios), spread(ratios)
	out := slices.Clone(y)
	for i := range out {
		if !(x[i] > 0) || math.Abs(y[i]/x[i]-mid) > 8*wide+1e-6 {
			out[i] = math.NaN()
		}
	}
	return out
}

// penalties are a share of each column's own weight.
func penalties(columns [][]float64, share float64) []float64 {
	out := make([]float64, len(columns))
	for i, c := range columns {
		for _, v := range c {
			out[i] += share * v * v
		}
	}
	return out
}

// complete keeps the rows without absent values.
func complete(columns [][]float64, y []float64) ([][]float64, []float64) {
	kept := make([][]float64, len(columns))
	var ys []float64
	for i, v := range y {
		sum := v
		for _, c := range columns {
			sum += c[i]
		}
		if math.IsNaN(sum) {
			continue
		}
		for c := range columns {
			kept[c] = append(kept[c], columns[c][i])
		}
		ys = append(ys, v)
	}
	return kept, ys
}

// snapped rounds a ratio that is almost a whole number.
func snapped(r float64) float64 {
	if whole := math.Round(r); whole >= 1 && math.Abs(r-whole) < 0.04*whole {
		return whole
	}
	return r
}

// starGraph is for histories that have the users' requests and no calls: each other service's
// rate is regressed on the kinds, and its calls are attributed to the service where the kind
// enters.
func (p *past) starGraph(g *graph, rates [][]float64, bins [][2]int) {
	entered := make([]bool, len(p.tracks))
	for _, k := range g.kinds {
		entered[k.to] = true
	}
	for i, t := range p.tracks {
		if entered[i] {
			continue
		}
		ratios := callRatios(rates, binned(t.series[history.Rate], bins), slices.Repeat([]float64{1}, len(rates)))
		for k := range g.kinds {
			if r := snapped(ratios[k]); r >= 0.002 {
				kd := &g.kinds[k]
				kd.calls[kd.to] = append(kd.calls[kd.to], callsTo{i, r})
				kd.visits[i] += r
			}
		}
	}
	p.notes.warn("calls between services were not measured: visits are regressed from the rates, and all calls are assumed to come " +
		"from the entry service")
}

func (g *graph) unreached(services int) []int {
	var list []int
	for s := range services {
		if !slices.ContainsFunc(g.kinds, func(k kind) bool { return k.visits[s] > 0 }) {
			list = append(list, s)
		}
	}
	return list
}
