package twin

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/suggest"
)

// MinSteps and MinDuration are the minimum of the fitted part: below them a daily pattern, a
// release and chance cannot be distinguished.
const (
	MinSteps    = 120
	MinDuration = time.Hour
)

// still is the relative spread of the request rate below which a load is constant: no
// dependence on it can be measured.
const still = 0.03

// past is a history prepared for fitting.
type past struct {
	h       *history.History
	options Options
	cut     int // the first held-out step
	step    float64
	tracks  []*track // the services that are fitted
	edges   []edge   // calls between them
	entries []entry  // requests of users

	kindTimes []float64 // by entry: the usual mean response time, seconds; NaN = not measured
	gaps      []Gap
	notes     notes
}

// track is one service's past.
type track struct {
	name    string
	series  [history.ServiceMetrics]history.Series
	ready   history.Series // ready replicas, or an estimate
	windows []window       // of the fitted part
	usual   float64        // median of the mean response time, seconds; NaN = not measured
}

// value of a step; NaN if it is absent or impossible: a negative rate comes from a counter
// reset or a clock jump.
func value(s history.Series, i int) float64 {
	if s == nil {
		return math.NaN()
	}
	v := float64(s[i])
	if v < 0 || math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

func (t *track) at(m history.ServiceMetric, i int) float64 { return value(t.series[m], i) }

// prepare checks a history and arranges it. Everything that cannot be fitted is reported here,
// all faults at once.
func prepare(h *history.History, o Options) (*past, error) {
	p := &past{h: h, options: o, step: h.Step.Seconds()}
	if h.Step <= 0 || h.Steps == 0 || len(h.Services) == 0 {
		return nil, errors.New("the history is empty: pull or record one that has services and steps")
	}
	p.cut = h.Steps - int(math.Round(o.HeldOut*float64(h.Steps)))
	if fitted := time.Duration(p.cut) * h.Step; p.cut < MinSteps || fitted < MinDuration {
		return nil, fmt.Errorf("the history is too short: %v in %d steps, of which %v are fitted; at least %v and %d steps are "+
			"needed: use a longer one (a week shows what a day hides)",
			h.Duration(), h.Steps, fitted, MinDuration, MinSteps)
	}
	if err := p.checkWithout(); err != nil {
		return nil, err
	}
	if err := p.findTracks(); err != nil {
		return nil, err
	}
	p.findEdges()
	if err := p.checkObjectives(); err != nil {
		return nil, err
	}
	for _, t := range p.tracks {
		t.windows = p.makeWindows(t, 0, p.cut)
	}
	if err := p.checkLoad(); err != nil {
		return nil, err
	}
	p.findGaps()
	for _, note := range h.Manifest.Notes {
		p.notes.warn("the history says: %s", note)
	}
	return p, nil
}

func (p *past) checkWithout() error {
	var names []string
	for i := range p.h.Services {
		names = append(names, p.h.Services[i].Name)
	}
	var faults []error
	for _, w := range p.options.Without {
		if !slices.Contains(names, w) {
			faults = append(faults, fmt.Errorf("service %q to exclude is not in the history%s", w, suggest.Hint(w, names)))
		}
	}
	return errors.Join(faults...)
}

// findTracks selects the services that can be fitted. One without a request rate gets it from
// the calls to it, if those were measured.
func (p *past) findTracks() error {
	var without []string
	for i := range p.h.Services {
		s := &p.h.Services[i]
		if slices.Contains(p.options.Without, s.Name) {
			continue
		}
		t := &track{name: s.Name, series: s.Series}
		if t.series[history.Rate].Present() == 0 {
			if sum := p.callsTo(s.Name); sum != nil {
				t.series[history.Rate] = sum
				p.notes.warn("service %s: its request rate was not measured; the calls to it are used instead", s.Name)
			} else {
				without = append(without, s.Name)
				continue
			}
		}
		if gone := p.vanished(t); gone >= 0 {
			p.notes.warn("service %s disappeared: it has no data after %s and is left out of the twin. If it still runs, fix its "+
				"metrics and pull again",
				t.name, p.h.At(gone).UTC().Format(time.RFC3339))
			continue
		}
		t.ready = p.replicasOf(t)
		p.tracks = append(p.tracks, t)
	}
	if len(without) > 0 {
		return fmt.Errorf("the history has no request rate (metric %q) of %s: %s. Pull it with a query that measures it, or exclude "+
			"the service (--without %s)",
			history.Rate, strings.Join(without, ", "), history.Rate.About().Cost, without[0])
	}
	if len(p.tracks) == 0 {
		return errors.New("the history has no service to fit: all have disappeared or are excluded")
	}
	return nil
}

// callsTo sums the calls to a service; nil = none were measured.
func (p *past) callsTo(name string) history.Series {
	var sum history.Series
	for i := range p.h.Calls {
		c := &p.h.Calls[i]
		if c.To == name && c.Series[history.CallRate].Present() > 0 {
			sum = addSeries(sum, c.Series[history.CallRate])
		}
	}
	return sum
}

// addSeries adds two series step by step; where one is absent the other is used. The first may
// be nil.
func addSeries(a, b history.Series) history.Series {
	if a == nil {
		return slices.Clone(b)
	}
	for i := range a {
		switch {
		case math.IsNaN(float64(a[i])):
			a[i] = b[i]
		case !math.IsNaN(float64(b[i])):
			a[i] += b[i]
		}
	}
	return a
}

// vanished returns the last step in which a service existed, or -1 if it existed to the end: it
// had no requests and no ready replica in the last tenth.
func (p *past) vanished(t *track) int {
	last := -1
	for i := p.h.Steps - 1; i >= 0; i-- {
		if t.at(history.Rate, i) > 0 {
			last = i
			break
		}
	}
	if last < 0 || last >= p.h.Steps-p.h.Steps/10 {
		return -1
	}
	for i := last + 1; i < p.h.Steps; i++ {
		if t.at(history.Ready, i) > 0 {
			return -1 // it exists, without requests
		}
	}
	return last
}

func (p *past) replicasOf(t *track) history.Series {
	switch {
	case t.series[history.Ready].Present() > 0:
		return t.series[history.Ready]
	case t.series[history.Desired].Present() > 0:
		p.notes.warn("service %s: ready replicas (metric %q) are absent: %s", t.name, history.Ready, history.Ready.About().Cost)
		return t.series[history.Desired]
	}
	p.notes.warn("service %s: neither ready nor desired replicas were measured: one replica is assumed throughout, so the capacity "+
		"of a replica is unknown", t.name)
	one := make(history.Series, p.h.Steps)
	for i := range one {
		one[i] = 1
	}
	return one
}

// checkLoad rejects a constant load.
func (p *past) checkLoad() error {
	least := MinSteps / 4 * int(max(1, 1/float64(p.windowSteps())))
	moving, loaded := false, false
	for _, t := range p.tracks {
		var rates []float64
		for i := range t.windows {
			if r := t.windows[i].rate; r > 0 {
				rates = append(rates, r)
			}
		}
		if len(rates) < min(least, 30) {
			p.notes.warn("service %s: only %d minutes with requests in the part that is fitted: its parameters are unreliable", t.name,
				len(rates)*p.windowSteps()*int(p.step)/60)
		}
		if len(rates) == 0 {
			continue
		}
		loaded = true
		slices.Sort(rates)
		if quantile(rates, 0.98)-quantile(rates, 0.02) > still*4*quantile(rates, 0.5) {
			moving = true
		} else {
			p.notes.warn("service %s: its load is constant, about %.3g requests/s: the effect of load on CPU and latency cannot be "+
				"estimated", t.name, quantile(rates, 0.5))
		}
	}
	switch {
	case !loaded:
		return errors.New("the history has no requests in the part to fit: use one from a time with load")
	case !moving:
		return errors.New("the load of the history is constant: neither CPU per request nor the load-latency profile can be " +
			"estimated. Use a history that covers a day and a night, or a load test that ramps up")
	}
	return nil
}
