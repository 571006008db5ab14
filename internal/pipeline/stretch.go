package pipeline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/workload"
)

// Stretch is a part of a workload on which deployments are run in the event engine.
type Stretch struct {
	Name     string // what it is: peak, steepest, typical, quiet, differ, or several of them
	From, To time.Duration
	Load     *workload.Workload
	// Weight is the share of the whole workload's time that the stretch stands for.
	Weight float64
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
	quietStretch    = "quiet"
	differStretch   = "differ"
	wholeStretch    = "whole"
)

// stretches stand for a whole workload: its busiest stretch, the one with the steepest rise, a
// typical one, a quiet one, and if differ is given the one with its largest mean, each with its
// lead. Overlapping ones are merged. Each stands for the time whose load is nearest to its own. A
// workload that is hardly longer than a stretch is used as a whole.
func stretches(w *workload.Workload, length time.Duration, differ func(from, to time.Duration) float64) ([]Stretch, error) {
	lead := leadOf(length)
	if w.Duration() < 2*length+lead {
		return []Stretch{{wholeStretch, 0, w.Duration(), w, 1}}, nil
	}
	v := newViewOver(w, length, lead)
	found := []Stretch{v.at(peakStretch, v.most(v.meanOf, nil)), v.at(steepestStretch, v.most(v.rise, nil))}
	for _, of := range []struct {
		name  string
		share float64
	}{{typicalStretch, 0.5}, {quietStretch, 0.1}} {
		level := v.quantile(of.share)
		found = append(found, v.at(of.name, v.most(func(n int) float64 { return -math.Abs(v.meanOf(n) - level) }, found)))
	}
	if differ != nil {
		found = append(found, v.at(differStretch, v.most(func(n int) float64 { return differ(v.start(n), v.start(n)+length) }, found)))
	}
	found = merged(found)
	for i := range found {
		load, err := w.Slice(found[i].From, found[i].To)
		if err != nil {
			return nil, fmt.Errorf("the %s stretch: %w", found[i].Name, err)
		}
		found[i].Load = load
	}
	v.weigh(found)
	return found, nil
}

// weigh gives each stretch the share of the time whose load is nearest to its mean; it stands for
// itself at least.
func (v *viewOver) weigh(found []Stretch) {
	total := 0.0
	for at := time.Duration(0); at < v.w.Duration(); at += v.step {
		to := min(at+v.step, v.w.Duration())
		load, nearest := v.mean(at, to), 0
		for i := range found {
			if v.distance(found[i], load) < v.distance(found[nearest], load) {
				nearest = i
			}
		}
		found[nearest].Weight += (to - at).Seconds()
	}
	for i := range found {
		found[i].Weight = max(found[i].Weight, (found[i].To - found[i].From - v.lead).Seconds())
		total += found[i].Weight
	}
	for i := range found {
		found[i].Weight /= total
	}
}

// distance between a load and a stretch's mean, without its lead.
func (v *viewOver) distance(s Stretch, load float64) float64 {
	return math.Abs(v.mean(s.From+v.lead, s.To) - load)
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

// most is the window with the largest figure, apart from those already taken; the first of equals.
func (v *viewOver) most(figure func(n int) float64, taken []Stretch) int {
	best, largest := 0, math.Inf(-1)
	for n := range v.places {
		s := v.at("", n)
		apart := !slices.ContainsFunc(taken, func(t Stretch) bool { return s.From < t.To && t.From < s.To })
		if f := figure(n); apart && f > largest {
			best, largest = n, f
		}
	}
	return best
}

// rise is the increase of requests between two sixths of the window around its middle.
func (v *viewOver) rise(n int) float64 {
	middle, sixth := v.start(n)+v.length/2, v.length/6
	return v.mean(middle, middle+sixth) - v.mean(middle-sixth, middle)
}

// quantile of the windows' means.
func (v *viewOver) quantile(share float64) float64 {
	means := make([]float64, v.places)
	for n := range means {
		means[n] = v.meanOf(n)
	}
	slices.Sort(means)
	return means[int(share*float64(len(means)-1))]
}

// calibrationLoads are the stretches that rules are calibrated on: the busiest and the steepest.
func calibrationLoads(found []Stretch) []Stretch {
	loads := crucial(found)
	if len(loads) == 1 {
		loads = append(loads, loads[0]) // confirmed with another seed
	}
	return loads
}
