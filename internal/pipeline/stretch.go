package pipeline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/workload"
)

// Stretch is a part of a workload on which policies are run in the event engine.
type Stretch struct {
	Name string        `json:"name"` // what it is: peak, steepest, typical, or several of them
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
	Load *workload.Workload
}

// DefaultStretch is the length of a stretch.
const DefaultStretch = time.Hour

// leadOf is how long before a stretch a run begins: every policy begins with the same replicas,
// and the time to correct them once is not evaluated.
func leadOf(length time.Duration) time.Duration { return min(10*time.Minute, length/6) }

// Names of stretches.
const (
	peakStretch     = "peak"
	steepestStretch = "steepest"
	typicalStretch  = "typical"
	wholeStretch    = "whole"
)

// stretches are the busiest stretch of a workload, the one with the steepest rise and, if
// typical is set, a typical one, each with its lead. Overlapping ones are merged. A workload
// that is hardly longer than a stretch is used as a whole.
func stretches(w *workload.Workload, length time.Duration, typical bool) ([]Stretch, error) {
	lead := leadOf(length)
	if w.Duration() < 2*length+lead {
		return []Stretch{{wholeStretch, 0, w.Duration(), w}}, nil
	}
	v := newViewOver(w, length, lead)
	found := []Stretch{v.at(peakStretch, v.busiest()), v.at(steepestStretch, v.steepest())}
	if typical {
		found = append(found, v.at(typicalStretch, v.typical(found)))
	}
	found = merged(found)
	for i := range found {
		load, err := w.Slice(found[i].From, found[i].To)
		if err != nil {
			return nil, fmt.Errorf("the %s stretch: %w", found[i].Name, err)
		}
		found[i].Load = load
	}
	return found, nil
}

// merged joins overlapping ones, in the order of time.
func merged(all []Stretch) []Stretch {
	slices.SortStableFunc(all, func(a, b Stretch) int { return int(min(max(a.From-b.From, -1), 1)) })
	out := all[:1:1]
	for _, s := range all[1:] {
		last := &out[len(out)-1]
		if s.From >= last.To {
			out = append(out, s)
			continue
		}
		last.To = max(last.To, s.To)
		if !slices.Contains(strings.Split(last.Name, "+"), s.Name) {
			last.Name += "+" + s.Name
		}
	}
	return out
}

// viewOver evaluates a workload over a sliding window, in steps of a twelfth of its length.
type viewOver struct {
	w            *workload.Workload
	length, lead time.Duration
	step         time.Duration
	places       int
	sums         []float64 // requests up to each bin
}

func newViewOver(w *workload.Workload, length, lead time.Duration) *viewOver {
	v := &viewOver{w: w, length: length, lead: lead, step: max(length/12, w.Step), sums: make([]float64, len(w.Rates)+1)}
	for i, r := range w.Rates {
		v.sums[i+1] = v.sums[i] + r
	}
	v.places = 1 + int((w.Duration()-length-lead)/v.step)
	return v
}

// start of the n-th window, without its lead.
func (v *viewOver) start(n int) time.Duration { return v.lead + time.Duration(n)*v.step }

func (v *viewOver) at(name string, n int) Stretch {
	start := v.start(n)
	return Stretch{Name: name, From: start - v.lead, To: start + v.length}
}

// mean rate over a time, in whole bins.
func (v *viewOver) mean(from, to time.Duration) float64 {
	a := min(int(from/v.w.Step), len(v.w.Rates)-1)
	b := min(max(int(to/v.w.Step), a+1), len(v.w.Rates))
	return (v.sums[b] - v.sums[a]) / float64(b-a)
}

func (v *viewOver) meanOf(n int) float64 { return v.mean(v.start(n), v.start(n)+v.length) }

func (v *viewOver) busiest() int {
	best := 0
	for n := range v.places {
		if v.meanOf(n) > v.meanOf(best) {
			best = n
		}
	}
	return best
}

// steepest is where a sixth of the window has the largest increase of requests over the sixth
// before it; the rise is in the middle of the window.
func (v *viewOver) steepest() int {
	rise := func(n int) float64 {
		middle, sixth := v.start(n)+v.length/2, v.length/6
		return v.mean(middle, middle+sixth) - v.mean(middle-sixth, middle)
	}
	best := 0
	for n := range v.places {
		if rise(n) > rise(best) {
			best = n
		}
	}
	return best
}

// typical is the window whose mean is closest to the median of all, apart from those already
// taken.
func (v *viewOver) typical(taken []Stretch) int {
	means := make([]float64, v.places)
	for n := range means {
		means[n] = v.meanOf(n)
	}
	sorted := slices.Sorted(slices.Values(means))
	median := sorted[len(sorted)/2]
	best, nearest := 0, math.Inf(1)
	for n, m := range means {
		s := v.at("", n)
		apart := !slices.ContainsFunc(taken, func(t Stretch) bool { return s.From < t.To && t.From < s.To })
		if off := math.Abs(m - median); apart && off < nearest {
			best, nearest = n, off
		}
	}
	return best
}

// validationStretches are for calibrating rules: the busiest and the steepest stretch at the
// end of the training part, at least its last day if it is that long.
func validationStretches(training *workload.Workload, heldOut, length time.Duration) ([]*workload.Workload, error) {
	from := max(0, training.Duration()-max(24*time.Hour, heldOut))
	last, err := training.Slice(from, training.Duration())
	if err != nil {
		return nil, err
	}
	found, err := stretches(last, length, false)
	if err != nil {
		return nil, err
	}
	var loads []*workload.Workload
	for _, s := range found {
		loads = append(loads, s.Load)
	}
	if len(loads) == 1 {
		loads = append(loads, loads[0]) // confirmed with another seed
	}
	return loads, nil
}
