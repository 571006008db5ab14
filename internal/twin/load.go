package twin

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/workload"
)

// mixSpan is how often the mix of a workload changes: shares move slowly, and those of one step
// are mostly random.
const mixSpan = 5 * time.Minute

// GapError: a history has a gap too long to be filled.
type GapError struct{ Gap Gap }

func (e *GapError) Error() string {
	return fmt.Sprintf("no requests were measured for %v, longer than the %v that may be filled with the previous value: cut the "+
		"history there, or use the segments between the gaps (Loads)", e.Gap, MaxHold)
}

// Load is the users' requests of a history as a workload for its twin: the rate
// of each step, and the mix of kinds every five minutes. Gaps of at most
// [MaxHold] are filled with the rate before them; a longer one is a [GapError].
func Load(h *history.History, app *loadline.App) (*workload.Workload, error) {
	rates, err := kindRates(h, app)
	if err != nil {
		return nil, err
	}
	gaps, _ := gapsIn(h, rates.known)
	for _, g := range gaps {
		if g.Long > MaxHold {
			return nil, &GapError{g}
		}
	}
	return rates.workload(h, app, 0, h.Steps)
}

// Stretch is a part of a history without long gaps.
type Stretch struct {
	From, To int // steps
	Load     *workload.Workload
	Filled   int // steps whose rate was filled
}

// Loads are the stretches between the gaps that are too long to fill; the longest is often
// enough to train on.
func Loads(h *history.History, app *loadline.App) ([]Stretch, error) {
	rates, err := kindRates(h, app)
	if err != nil {
		return nil, err
	}
	var list []Stretch
	add := func(from, to int) error {
		if to <= from {
			return nil
		}
		w, err := rates.workload(h, app, from, to)
		if err != nil {
			return err
		}
		filled := 0
		for i := from; i < to; i++ {
			if !rates.known(i) {
				filled++
			}
		}
		list = append(list, Stretch{from, to, w, filled})
		return nil
	}
	start := 0
	gaps, at := gapsIn(h, rates.known)
	for i, g := range gaps {
		if g.Long <= MaxHold {
			continue
		}
		if err := add(start, at[i]); err != nil {
			return nil, err
		}
		start = at[i] + g.Steps
	}
	return list, add(start, h.Steps)
}

// perKind is the rate of each kind of an application, step by step.
type perKind []history.Series

func (r perKind) known(step int) bool {
	for _, s := range r {
		if s != nil && !math.IsNaN(value(s, step)) {
			return true
		}
	}
	return false
}

// kindRates finds the kinds of an application in a history, under the names that a fit gives
// them.
func kindRates(h *history.History, app *loadline.App) (perKind, error) {
	rates := make(perKind, len(app.Kinds))
	entries := entriesOf(h, app.ServiceIndex)
	for _, e := range entries {
		name := e.name
		if app.KindIndex(name) < 0 {
			name = history.OtherKind(app.Services[e.to].Name)
		}
		if k := app.KindIndex(name); k >= 0 {
			rates[k] = addSeries(rates[k], e.rate)
		}
	}
	for i := range app.Services {
		name := app.Services[i].Name
		k := app.KindIndex(history.DirectKind(name))
		if k < 0 && len(entries) == 0 {
			k = app.KindIndex(name)
		}
		s := h.Service(name)
		if k < 0 || s == nil {
			continue
		}
		rates[k] = s.Series[history.Rate]
		if known := callsInto(h, app, name); known != nil && rates[k] != nil {
			rates[k] = subtract(rates[k], known)
		}
	}
	for k := range rates {
		if rates[k] != nil {
			return rates, nil
		}
	}
	return nil, fmt.Errorf("the history has no requests of any kind in %s: use the history that the twin was fitted to, or one of "+
		"the same application", app.Name)
}

// callsInto sums all known calls to a service.
func callsInto(h *history.History, app *loadline.App, name string) history.Series {
	var known history.Series
	for i := range h.Calls {
		c := &h.Calls[i]
		inside := c.From == "" || app.ServiceIndex(c.From) >= 0
		if c.To == name && c.From != name && inside && c.Series[history.CallRate].Present() > 0 {
			known = addSeries(known, c.Series[history.CallRate])
		}
	}
	return known
}

// workload of some steps. A kind that is absent in a step while others are present keeps its
// last rate, or has none before its first.
func (r perKind) workload(h *history.History, app *loadline.App, from, to int) (*workload.Workload, error) {
	w := &workload.Workload{Name: app.Name, Step: h.Step, Rates: make([]float64, to-from)}
	per := max(1, int(mixSpan/h.Step))
	mix := &workload.Mix{Step: time.Duration(per) * h.Step}
	for _, k := range app.Kinds {
		mix.Kinds = append(mix.Kinds, k.Name)
	}
	held := make([]float64, len(r))
	for k := range r {
		// A missing start is filled backwards from the first value.
		for i := from; i < to; i++ {
			if v := value(r[k], i); !math.IsNaN(v) {
				held[k] = v
				break
			}
		}
	}
	share := make([]float64, len(r))
	flush := func() {
		sum := 0.0
		for _, v := range share {
			sum += v
		}
		if sum == 0 { // no requests: any shares are valid
			for k := range share {
				share[k] = app.Kinds[k].Share
			}
		}
		mix.Shares = append(mix.Shares, share...)
		clear(share)
	}
	for i := from; i < to; i++ {
		for k := range r {
			if v := value(r[k], i); !math.IsNaN(v) {
				held[k] = v
			}
			w.Rates[i-from] += held[k]
			share[k] += held[k]
		}
		if (i-from+1)%per == 0 || i+1 == to {
			flush()
		}
	}
	if len(mix.Kinds) > 1 {
		w.Mix = mix
	}
	if err := w.Validate(); err != nil {
		return nil, err
	}
	return w, nil
}
