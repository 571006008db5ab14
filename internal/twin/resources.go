package twin

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// sizes are the last requests and limits before the cut.
func (t *track) sizes(p *past, n *notes) loadline.Size {
	last := func(m history.ServiceMetric) float64 {
		for i := p.cut - 1; i >= 0; i-- {
			if v := t.at(m, i); v > 0 {
				return v
			}
		}
		return 0
	}
	field := "services." + t.name + ".size."
	s := loadline.Size{
		CPURequest: tidyCores(last(history.CPURequest)), CPULimit: tidyCores(last(history.CPULimit)),
		MemoryRequest: int64(last(history.MemoryRequest)), MemoryLimit: int64(last(history.MemoryLimit)),
	}
	if s.CPURequest == 0 {
		s.CPURequest = 1
		if s.CPULimit > 0 {
			s.CPURequest = s.CPULimit
		}
		n.assume(field+"cpu.request", s.CPURequest, "no CPU request was measured: the limit stands in, or one core")
	}
	if s.CPULimit > 0 && s.CPULimit < s.CPURequest {
		s.CPURequest = s.CPULimit
	}
	if s.MemoryRequest == 0 {
		used := medianOf(t.windows, func(w window) float64 {
			if w.ready >= 1 && w.memory > 0 {
				return w.memory / w.ready
			}
			return 0
		})
		s.MemoryRequest = tidyBytes(max(1.5*used, 64<<20))
		if s.MemoryLimit > 0 {
			s.MemoryRequest = min(s.MemoryRequest, s.MemoryLimit)
		}
		n.assume(field+"memory.request", s.MemoryRequest, "no memory request was measured: half more than is in use")
	}
	if s.MemoryLimit > 0 && s.MemoryLimit < s.MemoryRequest {
		s.MemoryRequest = s.MemoryLimit
	}
	return s
}

// tidyCores removes the rounding error of a history's numbers: sizes are millicores.
func tidyCores(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// tidyBytes rounds up to whole mebibytes.
func tidyBytes(v float64) int64 { return int64(math.Ceil(v/(1<<20))) << 20 }

// memory fits memory per replica = base + perRequest * requests in the replica.
func (t *track) memory(p *past, m *model) loadline.Memory {
	type row struct{ inside, bytes float64 }
	var rows []row
	for i := range t.windows {
		w := &t.windows[i]
		inside := w.inside
		if math.IsNaN(inside) {
			inside = w.rate * w.mean // Little
		}
		if w.steady && w.memory > 0 && !math.IsNaN(inside) {
			rows = append(rows, row{inside / w.ready, w.memory / w.ready})
		}
	}
	field := "services." + t.name + ".memory"
	if len(rows) < 12 {
		base := min(m.size.MemoryRequest/2, 1<<40)
		m.notes.assume(field, base, "memory was not measured: half of the request, and nothing per request")
		return loadline.Memory{Base: base}
	}
	rows = stratified(rows, maxRows, func(r row) float64 { return r.inside })
	x, y := make([]float64, len(rows)), make([]float64, len(rows))
	for i, r := range rows {
		x[i], y[i] = r.inside, r.bytes
	}
	low, high := slices.Min(x), slices.Max(x)
	l := robustLine(x, y)
	// A slope within the noise counts as none.
	if l.slope <= 0 || l.slope*(high-low) < 2*l.scale/math.Sqrt(float64(len(rows))) {
		l.slope, l.base = 0, median(y)
	}
	base := (int64(max(l.base, 1<<20)) + 512) &^ 1023
	if limit := m.size.MemoryLimit; limit > 0 {
		base = min(base, limit)
	}
	return loadline.Memory{Base: base, PerRequest: int64(l.slope+32) &^ 63}
}

// startup is the time from creation to ready, of the fitted part.
func (t *track) startup(p *past, n *notes) loadline.Dist {
	field := "services." + t.name + ".startup"
	var seen []float64
	for i := range p.cut {
		if v := t.at(history.Startup, i); v > 0 {
			seen = append(seen, v)
		}
	}
	if len(seen) == 0 {
		if seen = t.lags(p); len(seen) > 0 {
			n.warn("service %s: start-up times were not measured; estimated from the time between desired and ready replicas, with a "+
				"resolution of %v", t.name, p.h.Step)
		}
	}
	if len(seen) == 0 {
		n.assume(field, "5s", "no start was measured")
		return loadline.Dist{Mean: 5 * time.Second, CV: 0.2}
	}
	// A start that hung for minutes (an image pull, a full node) is not the service's start-up
	// time.
	mid, wide := median(seen), spread(seen)
	kept := slices.DeleteFunc(slices.Clone(seen), func(v float64) bool { return math.Abs(v-mid) > max(6*wide, 0.5*mid) })
	mean, squares := 0.0, 0.0
	for _, v := range kept {
		mean += v / float64(len(kept))
	}
	for _, v := range kept {
		squares += (v - mean) * (v - mean)
	}
	d := loadline.Dist{Mean: seconds(mean).Round(time.Millisecond), CV: 0.2}
	if len(kept) < 5 {
		n.assume(field+".cv", d.CV, "fewer than five starts were measured")
		return d
	}
	d.CV = round(math.Sqrt(squares/float64(len(kept)-1))/mean, 3)
	return d
}

// lags are the times until ready replicas reached the desired number.
func (t *track) lags(p *past) []float64 {
	var lags []float64
	since := -1
	for i := 1; i < p.cut; i++ {
		want, before, have := t.at(history.Desired, i), t.at(history.Desired, i-1), t.at(history.Ready, i)
		if math.IsNaN(want) || math.IsNaN(before) || math.IsNaN(have) {
			since = -1
			continue
		}
		if want > before {
			since = i
		}
		if since >= 0 && have >= want {
			lags = append(lags, (float64(i-since)+0.5)*p.step)
			since = -1
		}
	}
	return lags
}

// round to the given significant digits, exactly as they are written.
func round(v float64, digits int) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		return v
	}
	return short
}
