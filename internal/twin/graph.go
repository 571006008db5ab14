package twin

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadline/loadline/internal/history"
)

// edge is the calls from one service to another.
type edge struct {
	from, to int // indices into past.tracks
	rate     history.Series
}

// entry is one kind of request of users: where it enters and how often.
type entry struct {
	name string
	to   int
	rate history.Series
	mean history.Series // seconds; nil = not measured
	p99  history.Series
}

// maxKinds is how many kinds of requests are distinguished; the rarest beyond it are pooled, by
// service.
const maxKinds = 20

// unexplained is the share of a service's requests without a measured caller above which they
// are attributed to users.
const unexplained = 0.25

func (p *past) trackIndex(name string) int {
	return slices.IndexFunc(p.tracks, func(t *track) bool { return t.name == name })
}

// findEdges collects calls between services and requests of users, and infers the users'
// requests if the history does not have them.
func (p *past) findEdges() {
	type pair struct{ from, to int }
	index := map[pair]int{}
	for i := range p.h.Calls {
		c := &p.h.Calls[i]
		from, to := p.trackIndex(c.From), p.trackIndex(c.To)
		rate := c.Series[history.CallRate]
		if c.From == "" || from < 0 || to < 0 || from == to || rate.Present() == 0 {
			continue
		}
		key := pair{from, to}
		if k, known := index[key]; known {
			p.edges[k].rate = addSeries(p.edges[k].rate, rate)
			continue
		}
		index[key] = len(p.edges)
		p.edges = append(p.edges, edge{from, to, slices.Clone(rate)})
	}
	p.cutCycles()
	p.entries = entriesOf(p.h, p.trackIndex)
	p.poolRare()
	p.addUnexplained()
}

// entriesOf are the users' requests as the history distinguishes them. The names depend on
// which calls it lists, not on their values, so that parts of one history agree.
func entriesOf(h *history.History, index func(string) int) []entry {
	operations := map[string]int{}
	for i := range h.Calls {
		if c := &h.Calls[i]; c.From == "" && index(c.To) >= 0 {
			operations[c.Operation]++
		}
	}
	var list []entry
	for i := range h.Calls {
		c := &h.Calls[i]
		to := index(c.To)
		if c.From != "" || to < 0 || c.Series[history.CallRate].Present() == 0 {
			continue
		}
		name := c.Operation
		switch {
		case name == "":
			name = c.To
		case operations[name] > 1:
			name = c.To + " " + name
		}
		list = append(list, entry{name, to, c.Series[history.CallRate], c.Series[history.CallMean], c.Series[history.CallP99]})
	}
	return list
}

// cutCycles removes calls that would close a cycle: the most used edges are kept first. A
// worker is occupied while it waits for its calls, so the simulator accepts trees only.
func (p *past) cutCycles() {
	weight := make([]float64, len(p.edges))
	order := make([]int, len(p.edges))
	for i := range p.edges {
		weight[i] = p.total(p.edges[i].rate)
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(p.edges[a].from, p.edges[b].from),
			cmp.Compare(p.edges[a].to, p.edges[b].to))
	})
	next := make([][]int, len(p.tracks))
	var reaches func(from, to int) bool
	reaches = func(from, to int) bool {
		return from == to || slices.ContainsFunc(next[from], func(n int) bool { return reaches(n, to) })
	}
	var kept []edge
	for _, i := range order {
		e := p.edges[i]
		if reaches(e.to, e.from) {
			p.notes.warn("calls from %s to %s would close a cycle of calls: they are left out of the twin, and so is their load",
				p.tracks[e.from].name, p.tracks[e.to].name)
			continue
		}
		next[e.from] = append(next[e.from], e.to)
		kept = append(kept, e)
	}
	slices.SortStableFunc(kept, func(a, b edge) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	p.edges = kept
}

// total of a series over the fitted part.
func (p *past) total(s history.Series) float64 {
	sum := 0.0
	for i := range p.cut {
		if v := value(s, i); !math.IsNaN(v) {
			sum += v
		}
	}
	return sum
}

// poolRare keeps the most frequent kinds and pools the others.
func (p *past) poolRare() {
	if len(p.entries) <= maxKinds {
		return
	}
	sorted := slices.Clone(p.entries)
	slices.SortStableFunc(sorted, func(a, b entry) int {
		return cmp.Or(cmp.Compare(p.total(b.rate), p.total(a.rate)), cmp.Compare(a.name, b.name))
	})
	kept := sorted[:maxKinds]
	pools := map[int]int{}
	for _, e := range sorted[maxKinds:] {
		if at, known := pools[e.to]; known {
			kept[at].rate = addSeries(kept[at].rate, e.rate)
			continue
		}
		pools[e.to] = len(kept)
		kept = append(kept, entry{name: history.OtherKind(p.tracks[e.to].name), to: e.to, rate: slices.Clone(e.rate)})
	}
	p.notes.warn("users send %d kinds of requests; the %d most frequent are kept separate, the others are pooled", len(p.entries),
		maxKinds)
	p.entries = kept
}

// addUnexplained adds kinds for the requests without a measured caller.
func (p *past) addUnexplained() {
	measured := len(p.entries) > 0
	if measured && len(p.edges) == 0 {
		return // the call graph is regressed from the rates
	}
	for i, t := range p.tracks {
		rest := p.rest(i)
		if rest == nil {
			continue
		}
		name := t.name
		if measured {
			name = history.DirectKind(t.name)
			p.notes.warn("service %s: %.0f %% of its requests have no measured caller; they are assumed to come from users, as kind %q",
				t.name, 100*p.total(rest)/p.total(t.series[history.Rate]), name)
		}
		p.entries = append(p.entries, entry{name, i, rest, t.series[history.LatencyMean], t.series[history.LatencyP99]})
	}
	if !measured && len(p.tracks) > 1 {
		if len(p.edges) == 0 {
			p.notes.warn("the history has neither user requests nor calls between services: all services are assumed to be called by " +
				"users directly, and end-to-end response times are unknown")
		} else {
			p.notes.warn("the history has no user requests: requests without a measured caller are assumed to come from users")
		}
	}
}

// rest is the part of a service's rate that neither users nor callers explain; nil =
// negligible.
func (p *past) rest(i int) history.Series {
	var known history.Series
	for _, e := range p.edges {
		if e.to == i {
			known = addSeries(known, e.rate)
		}
	}
	for _, e := range p.entries {
		if e.to == i {
			known = addSeries(known, e.rate)
		}
	}
	return restOf(p.tracks[i].series[history.Rate], known, p.cut)
}

// restOf is the rate minus the known part, nil if that is negligible over the first steps.
func restOf(rate, known history.Series, steps int) history.Series {
	if known == nil {
		return rate
	}
	rest := subtract(rate, known)
	sum, all := 0.0, 0.0
	for i := range steps {
		if v := value(rest, i); !math.IsNaN(v) {
			sum += v
			all += value(rate, i)
		}
	}
	if sum <= unexplained*all {
		return nil
	}
	return rest
}

func subtract(rate, known history.Series) history.Series {
	rest := make(history.Series, len(rate))
	for i := range rate {
		rest[i] = max(rate[i]-known[i], 0) // NaN stays NaN
	}
	return rest
}
