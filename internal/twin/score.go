package twin

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Number is a float64 for JSON: NaN is null there.
type Number float64

// MarshalJSON writes the number or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return strconv.AppendFloat(nil, v, 'g', 6, 64), nil
	}
	return []byte("null"), nil
}

// Report is the quality of a twin: its errors, warnings and assumptions.
type Report struct {
	From  time.Time `json:"from"`
	Cut   time.Time `json:"unseen_from"` // the rest was held out
	Until time.Time `json:"until"`

	Stretches int `json:"stretches"` // of the held-out part that were replayed in the event engine

	Services []ServiceReport `json:"services"`
	Kinds    []KindReport    `json:"kinds"`
	Cluster  ClusterReport   `json:"cluster"`
	Assumed  []Assumption    `json:"assumed"`
	Warnings []string        `json:"warnings"`
	Gaps     []Gap           `json:"gaps,omitempty"`
}

// ServiceReport is one service: what was measured, and the error of the models on the
// held-out part.
type ServiceReport struct {
	Service string   `json:"service"`
	Changes []Change `json:"changes,omitempty"`      // of the CPU time of a request
	Later   *Change  `json:"later_change,omitempty"` // in the held-out part: the twin is of the release before it
	Rows    int      `json:"rows"`                   // minutes that CPU was fitted to
	Misfit  Number   `json:"misfit"`                 // of response times in the fit; null = nothing to fit to

	Work []WorkReport `json:"work,omitempty"` // CPU per visit by kind of request

	LowestRate  Number `json:"lowest_rate"`  // per replica, of all steps
	HighestRate Number `json:"highest_rate"` // per replica, of all steps
	Busiest     Number `json:"busiest"`      // share of the CPU limit, of all steps
	Replicas    []int  `json:"replicas"`     // counts that occurred
	Beyond      Number `json:"beyond"`       // share of the held-out minutes outside of the fitted range

	Twin   Scores `json:"twin"`
	Events Scores `json:"twin_events"` // the twin in the event engine, on stretches of the held-out part
	Linear Scores `json:"linear"`      // as in the paper: the intercept dropped
	Kept   Scores `json:"linear_kept"` // with its intercept

	Curve []CurvePoint `json:"curve,omitempty"` // the fitted load-latency profile
}

// CurvePoint is one point of a load-latency profile: measured, and predicted by the models.
type CurvePoint struct {
	Load      Number `json:"load"` // share of the CPU limit
	Rate      Number `json:"rate"` // per replica
	Mean      Number `json:"mean"` // seconds
	P99       Number `json:"p99"`
	TwinMean  Number `json:"twin_mean"`
	TwinP99   Number `json:"twin_p99"`
	Linear    Number `json:"linear_mean"` // with the intercept if that predicts better
	LinearP99 Number `json:"linear_p99"`
}

// KindReport is one kind of request, from end to end.
type KindReport struct {
	Kind string `json:"kind"`
	Mean Score  `json:"mean"`
	P99  Score  `json:"p99"`

	EventMean Number `json:"event_mean"` // in the event engine, on stretches of the held-out part
	EventP99  Number `json:"event_p99"`
}

// Scores of one model.
type Scores struct {
	CPU  Score `json:"cpu"`
	Mean Score `json:"mean"`
	P99  Score `json:"p99"`
}

// Score is the median absolute relative error over the minutes of the held-out
// part, far from saturation and near it (from [nearLoad] of the CPU limit on).
// Null = there was no such minute.
type Score struct {
	All    Number `json:"all"`
	Far    Number `json:"far"`
	Near   Number `json:"near"`
	FarOf  int    `json:"far_minutes"`
	NearOf int    `json:"near_minutes"`
}

// misses collects relative errors, far from saturation and near it.
type misses struct{ far, near []float64 }

func (e *misses) add(got, seen float64, near bool) {
	if !(seen > 0) || math.IsNaN(got) {
		return
	}
	off := math.Abs(got-seen) / seen
	if near {
		e.near = append(e.near, off)
	} else {
		e.far = append(e.far, off)
	}
}

func (e *misses) score() Score {
	return Score{
		All: Number(median(slices.Concat(e.far, e.near))), Far: Number(median(e.far)), Near: Number(median(e.near)),
		FarOf: len(e.far), NearOf: len(e.near),
	}
}

// score evaluates both models on the held-out part. Both get the same inputs: the requests of
// users, and the recorded replicas.
func (t *Twin) score(p *past, g *graph, models []model) {
	seen := replay(t.App, p, p.cut, p.h.Steps)
	n := p.windowSteps()
	for i, tr := range p.tracks {
		m := &models[i]
		r := ServiceReport{
			Service: tr.name, Changes: m.demand.changes, Later: m.demand.later, Rows: m.demand.rows, Misfit: Number(m.station.misfit),
			LowestRate: Number(m.seen.lowest), HighestRate: Number(m.seen.highest), Busiest: Number(m.seen.busiest),
			Replicas: m.seen.replicas, Work: m.demand.report(g),
		}
		if m.size.CPULimit == 0 {
			r.Busiest = Number(math.NaN())
		}
		var twin, linear, kept [3]misses
		l, l99 := t.Linear[i], t.LinearP99[i]
		beyond, all := 0, 0
		for from := p.cut; from+n <= p.h.Steps; from += n {
			w := p.average(tr, from, from+n)
			if math.IsNaN(w.rate) || !(w.ready >= 1) {
				continue
			}
			all++
			if rate := w.rate / w.ready; rate < m.seen.lowest*(1-slack) || rate > m.seen.highest*(1+slack) {
				beyond++
			}
			near := p.near(&w, m)
			at := func(values []float64) float64 { return weighed(values[from-p.cut:from-p.cut+n], tr, from) }
			twin[0].add(mean(seen.cpu[i][from-p.cut:from-p.cut+n]), w.cpu, near)
			twin[1].add(at(seen.mean[i]), w.mean, near)
			twin[2].add(at(seen.p99[i]), w.quantiles[3], near)
			cpu := l.CPUAt(w.rate, w.ready)
			request := m.size.CPURequest
			if w.request > 0 {
				request = w.request
			}
			for k, e := range []*[3]misses{&linear, &kept} {
				l.KeepIntercept, l99.KeepIntercept = k == 1, k == 1
				if l.Rows > 0 {
					e[0].add(cpu*w.ready*request, w.cpu, near)
					e[1].add(l.Delay(cpu, w.rate), w.mean, near)
				}
				if l99.Rows > 0 {
					e[2].add(l99.Delay(cpu, w.rate), w.quantiles[3], near)
				}
			}
		}
		r.Beyond = Number(float64(beyond) / float64(max(all, 1)))
		r.Twin, r.Linear, r.Kept = scores(twin), scores(linear), scores(kept)
		// The better one of the two variants is marked, and used in the figure; the regressor
		// itself stays as in the paper unless a caller changes it.
		r.Curve = curve(m, &t.Linear[i], &t.LinearP99[i], r.Kept.Mean.All < r.Linear.Mean.All)
		t.Report.Services = append(t.Report.Services, r)
	}
	t.scoreKinds(p, models, seen)
	t.scoreEvents(p)
}

func scores(e [3]misses) Scores { return Scores{e[0].score(), e[1].score(), e[2].score()} }

// near reports whether a service was near saturation: by its CPU usage if it has a limit, by
// the twin's load if it has none.
func (p *past) near(w *window, m *model) bool {
	if m.size.CPULimit > 0 && !math.IsNaN(w.cpu) {
		return w.cpu >= nearLoad*w.ready*m.size.CPULimit
	}
	return m.busy(w.rate/w.ready) >= nearLoad
}

// weighed averages predictions as measurements are: steps are weighted by their requests.
func weighed(values []float64, t *track, from int) float64 {
	sum, weight := 0.0, 0.0
	for i, v := range values {
		if r := value(t.series[0], from+i); r > 0 && !math.IsNaN(v) {
			sum += r * v
			weight += r
		}
	}
	if weight == 0 {
		return math.NaN()
	}
	return sum / weight
}

func curve(m *model, l, l99 *Linear, keep bool) []CurvePoint {
	var out []CurvePoint
	a, b := *l, *l99
	a.KeepIntercept, b.KeepIntercept = keep, keep
	for i, pt := range m.station.points {
		requests := pt.rate * pt.replicas
		cpu := l.CPUAt(requests, pt.replicas)
		c := CurvePoint{
			Load: Number(pt.load), Rate: Number(pt.rate), Mean: Number(pt.mean), P99: Number(pt.quantiles[3]),
			Linear: Number(a.Delay(cpu, requests)), LinearP99: Number(b.Delay(cpu, requests)),
		}
		c.TwinMean, c.TwinP99 = Number(math.NaN()), Number(math.NaN())
		if i < len(m.station.fitted) {
			c.TwinMean, c.TwinP99 = Number(m.station.fitted[i].mean), Number(m.station.fitted[i].quantiles[3])
		}
		out = append(out, c)
	}
	return out
}

// scoreKinds compares the twin with end-to-end response times. A minute is near saturation if
// any service was.
func (t *Twin) scoreKinds(p *past, models []model, seen *replayed) {
	n := p.windowSteps()
	near := map[int]bool{}
	for i, tr := range p.tracks {
		for from := p.cut; from+n <= p.h.Steps; from += n {
			if w := p.average(tr, from, from+n); w.ready >= 1 && p.near(&w, &models[i]) {
				near[from] = true
			}
		}
	}
	for k, e := range p.entries {
		var means, tails misses
		for from := p.cut; from+n <= p.h.Steps; from += n {
			var sums [4]float64
			weight := 0.0
			for i := from; i < from+n; i++ {
				r := value(e.rate, i)
				v := [4]float64{seen.kindMean[k][i-p.cut], value(e.mean, i), seen.kindP99[k][i-p.cut], value(e.p99, i)}
				if !(r > 0) || math.IsNaN(v[0]+v[1]+v[2]+v[3]) {
					continue
				}
				weight += r
				for x := range v {
					sums[x] += r * v[x]
				}
			}
			if weight > 0 {
				means.add(sums[0]/weight, sums[1]/weight, near[from])
				tails.add(sums[2]/weight, sums[3]/weight, near[from])
			}
		}
		t.Report.Kinds = append(t.Report.Kinds, KindReport{Kind: e.name, Mean: means.score(), P99: tails.score()})
	}
}
