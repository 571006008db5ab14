package twin

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kinds of requests may cost a service different CPU time per visit. The CPU of a service over
// time is regressed on the visits of each kind: CPU per replica = idle + sum(c_k * visits_k).
// That separates kinds only as far as their shares vary independently. Kinds that it cannot
// separate are pooled and have one figure.

const (
	// workError is the standard error of a kind's CPU time, relative to it, up to which the
	// history determines it.
	workError = 0.1
	// workFloor is the share of a service's mean CPU time below which a kind's is not needed
	// more precisely: it hardly matters beside the others.
	workFloor = 0.3
	// workSigmas is how far, in standard errors, a kind's CPU time must be from the mean of all
	// kinds to count as different.
	workSigmas = 3
)

// kindPool is kinds of requests with one figure.
type kindPool struct {
	kinds []int   // indices into graph.kinds
	cpu   float64 // CPU seconds per visit
	error float64 // its standard error
}

// works is CPU time per visit by kind.
type works struct {
	idle  float64
	scale float64
	pools []kindPool
}

// fitWorks separates the kinds that visit a service, as far as the rows allow. Nil = one kind,
// or all cost the same, or none can be separated; pools says which.
func fitWorks(rows []cpuRow, kinds []int, common line) (w *works, pools []kindPool) {
	all := kindPool{kinds: kinds, cpu: common.slope}
	if len(kinds) < 2 || len(rows) < 12 || !(common.slope > 0) {
		return nil, []kindPool{all}
	}
	rows = thinned(rows, maxRows)
	for _, k := range kinds {
		pools = append(pools, kindPool{kinds: []int{k}})
	}
	for len(pools) > 1 {
		w = regress(rows, pools, common)
		worst, partner := w.undetermined(rows, common.slope)
		if worst < 0 {
			if !w.differ(common.slope) {
				return nil, w.pools
			}
			return w, w.pools
		}
		pools[partner].kinds = append(pools[partner].kinds, pools[worst].kinds...)
		slices.Sort(pools[partner].kinds)
		pools = slices.Delete(pools, worst, worst+1)
	}
	return nil, []kindPool{all}
}

// columnsOf are the idle load and the visits of each pool, per row.
func columnsOf(rows []cpuRow, pools []kindPool) (columns [][]float64, y []float64) {
	columns = make([][]float64, len(pools)+1)
	for c := range columns {
		columns[c] = make([]float64, len(rows))
	}
	y = make([]float64, len(rows))
	for r := range rows {
		columns[0][r], y[r] = 1, rows[r].cpu
		for g := range pools {
			for _, k := range pools[g].kinds {
				columns[g+1][r] += rows[r].kinds[k]
			}
		}
	}
	return columns, y
}

// regress fits the CPU time of each pool, and the idle load, which is at least 0.
func regress(rows []cpuRow, pools []kindPool, common line) *works {
	columns, y := columnsOf(rows, pools)
	start := slices.Repeat([]float64{common.slope}, len(columns))
	start[0] = max(common.base, 0)
	f, scale := refine(columns, y, start)
	if f[0] < 0 {
		f, scale = refine(columns[1:], y, start[1:])
		f = append([]float64{0}, f...)
	}
	w := &works{idle: f[0], scale: scale, pools: slices.Clone(pools)}
	cov := covariance(columns, y, f, scale*correlated(columns, y, f))
	for g := range w.pools {
		w.pools[g].cpu, w.pools[g].error = f[g+1], math.Sqrt(cov[g+1][g+1])
	}
	return w
}

// correlated is the factor by which the standard errors grow because the residuals of
// neighbouring rows are correlated: that of a first-order autoregressive process.
func correlated(columns [][]float64, y, f []float64) float64 {
	left := make([]float64, len(y))
	residuals(left, columns, y, f)
	wide := 4 * spread(left) // outliers count as such
	square, product := 0.0, 0.0
	for i := range left {
		left[i] = min(max(left[i], -wide), wide)
		square += left[i] * left[i]
		if i > 0 {
			product += left[i] * left[i-1]
		}
	}
	rho := min(max(ratio(product, square), 0), 0.9)
	return math.Sqrt((1 + rho) / (1 - rho))
}

// undetermined is the pool whose CPU time the history determines least, and the pool that it is
// most easily confused with; -1 if all are determined.
func (w *works) undetermined(rows []cpuRow, common float64) (worst, partner int) {
	worst, most := -1, 1.0
	for g := range w.pools {
		p := &w.pools[g]
		off := p.error / (workError * max(p.cpu, workFloor*common))
		if p.cpu < 0 {
			off = max(off, -p.cpu/(workError*common))
		}
		if !(off <= most) { // NaN and infinity too
			worst, most = g, off
		}
	}
	if worst < 0 {
		return -1, -1
	}
	// Two kinds are confused if their visits vary together.
	columns, _ := columnsOf(rows, w.pools)
	closest := math.Inf(-1)
	for g := range w.pools {
		if g == worst {
			continue
		}
		if c := correlation(columns[worst+1], columns[g+1]); c > closest {
			closest, partner = c, g
		}
	}
	return worst, partner
}

// correlation of two columns; 0 if one of them is constant.
func correlation(a, b []float64) float64 {
	ma, mb := mean(a), mean(b)
	var aa, bb, ab float64
	for i := range a {
		aa += (a[i] - ma) * (a[i] - ma)
		bb += (b[i] - mb) * (b[i] - mb)
		ab += (a[i] - ma) * (b[i] - mb)
	}
	return ratio(ab, math.Sqrt(aa*bb))
}

// differ reports whether some pool's CPU time is not that of all visits.
func (w *works) differ(common float64) bool {
	return slices.ContainsFunc(w.pools, func(p kindPool) bool {
		return math.Abs(p.cpu-common) > workSigmas*p.error && math.Abs(p.cpu-common) > changeLeast*common
	})
}

// factors on the mean CPU time, by kind, and that mean: weighted by the visits in the rows. A
// CPU time within the noise of 0 becomes a hundredth of the mean, because a visit that costs
// nothing is not one.
func (w *works) factors(rows []cpuRow, kinds int) (factor []float64, perVisit float64) {
	factor = slices.Repeat([]float64{1}, kinds)
	columns, _ := columnsOf(rows, w.pools)
	sum, visits := 0.0, 0.0
	for g := range w.pools {
		v := mean(columns[g+1])
		sum += v * max(w.pools[g].cpu, 0)
		visits += v
	}
	perVisit = ratio(sum, visits)
	for g := range w.pools {
		for _, k := range w.pools[g].kinds {
			factor[k] = round(max(w.pools[g].cpu/perVisit, 0.01), 4)
		}
	}
	return factor, perVisit
}

// weigh replaces the rates of rows by the visits of mean CPU time that cost as much.
func weigh(rows []cpuRow, factor []float64) []cpuRow {
	out := slices.Clone(rows)
	for r := range out {
		out[r].rate *= heaviness(factor, out[r].kinds)
	}
	return out
}

// heaviness is the mean factor of a mix of visits.
func heaviness(factor, kinds []float64) float64 {
	if factor == nil {
		return 1
	}
	sum, all := 0.0, 0.0
	for k, v := range kinds {
		if v > 0 {
			sum += factor[k] * v
			all += v
		}
	}
	if all == 0 {
		return 1
	}
	return sum / all
}

// thinned averages neighbouring rows until at most the given number is left: every minute keeps
// its information, at the cost of mixes that last less than the new rows.
func thinned(rows []cpuRow, most int) []cpuRow {
	per := (len(rows) + most - 1) / most
	if per <= 1 {
		return rows
	}
	var out []cpuRow
	for i := 0; i+per <= len(rows); i += per {
		sum := cpuRow{from: rows[i].from, kinds: make([]float64, len(rows[i].kinds))}
		for _, r := range rows[i : i+per] {
			sum.rate += r.rate / float64(per)
			sum.cpu += r.cpu / float64(per)
			for k, v := range r.kinds {
				sum.kinds[k] += v / float64(per)
			}
		}
		out = append(out, sum)
	}
	return out
}

// WorkReport is the CPU time per visit of some kinds of requests at a service. Several kinds in
// one report share a figure: the history does not separate them.
type WorkReport struct {
	Kinds []string `json:"kinds"`
	CPU   Number   `json:"cpu_s"`
	Error Number   `json:"standard_error"` // relative; null = not estimated by kind
}

// report of the kinds that visit a service.
func (d *demand) report(g *graph) []WorkReport {
	var list []WorkReport
	for _, p := range d.pools {
		w := WorkReport{CPU: Number(p.cpu), Error: Number(math.NaN())}
		if p.error > 0 && p.cpu > 0 {
			w.Error = Number(p.error / p.cpu)
		}
		if d.work == nil {
			w.CPU = Number(d.perVisit)
		}
		for _, k := range p.kinds {
			w.Kinds = append(w.Kinds, g.kinds[k].name)
		}
		list = append(list, w)
	}
	return list
}

// remarkWorks warns about kinds of requests that the history does not separate, once for all
// services with the same kinds.
func (p *past) remarkWorks(g *graph, models []model) {
	var sets []string
	where := map[string][]string{}
	for i := range models {
		for _, w := range models[i].demand.report(g) {
			if len(w.Kinds) < 2 {
				continue
			}
			set := strings.Join(w.Kinds, ", ")
			if where[set] == nil {
				sets = append(sets, set)
			}
			where[set] = append(where[set], p.tracks[i].name)
		}
	}
	for i, set := range sets {
		sets[i] = fmt.Sprintf("%s at %s", set, listed(where[set]))
	}
	if len(sets) > 0 {
		p.notes.warn("CPU per request is one figure for the kinds %s: their shares of the requests vary too little, or together. "+
			"Under another mix the twin's CPU and response times may be wrong. A history in which the mix varies, such as a load "+
			"test of one kind at a time, or traces with CPU by kind would separate them", strings.Join(sets, "; "))
	}
}

// listed names at most five.
func listed(names []string) string {
	if len(names) > 5 {
		return fmt.Sprintf("%s and %d more services", strings.Join(names[:5], ", "), len(names)-5)
	}
	return strings.Join(names, ", ")
}
