package importer

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/history"
)

// Limits against stray timestamps: mostSteps is 8 years of 15 s, and a history with values
// mostSparse steps apart on average is useless.
const (
	mostSteps  = 1 << 24
	mostSparse = 1000
)

// join arranges all files on one grid of steps.
func join(sheets []*sheet, step time.Duration) (*history.History, error) {
	every := step.Milliseconds()
	if every == 0 {
		var err error
		if every, err = commonStep(sheets); err != nil {
			return nil, err
		}
	}
	first, last, points := bounds(sheets)
	steps := (last.at-first.at+every/2)/every + 1
	if most := min(mostSteps, mostSparse*int64(points)); steps > most {
		return nil, fmt.Errorf("%s: line %d: time: %s must lie within %d steps of %v of the first (%s in line %d of %s): a stray "+
			"time stamp, or a step that is too short",
			last.file, last.line, show(last.at), most, time.Duration(every)*time.Millisecond, show(first.at), first.line, first.file)
	}
	g := &grid{
		start: first.at, every: every, steps: int(steps),
		faults: map[string]*faults{},
		h: &history.History{
			Start: time.UnixMilli(first.at).UTC(), Step: time.Duration(every) * time.Millisecond, Steps: int(steps),
		},
		services: map[string]int{}, calls: map[[3]string]int{},
	}
	for _, s := range sheets {
		for _, r := range s.runs {
			g.place(r)
		}
		g.h.Manifest.Notes = append(g.h.Manifest.Notes, s.notes...)
	}
	return g.finish(sheets)
}

// end is the first or last point.
type end struct {
	at   int64
	line int
	file string
}

func bounds(sheets []*sheet) (first, last end, points int) {
	for _, s := range sheets {
		for _, r := range s.runs {
			for _, p := range r.points {
				if points == 0 || p.at < first.at {
					first = end{p.at, int(p.line), r.file}
				}
				if points == 0 || p.at > last.at {
					last = end{p.at, int(p.line), r.file}
				}
				points++
			}
		}
	}
	return first, last, points
}

// commonStep is the most common time between two rows of one run: gaps and clock jumps must not
// change it. Files must agree on it.
func commonStep(sheets []*sheet) (int64, error) {
	var step int64
	var of string
	for _, s := range sheets {
		own := s.step()
		switch {
		case own == 0:
		case step == 0:
			step, of = own, s.file
		case own != step:
			return 0, fmt.Errorf("%s has a row every %v and %s every %v: import them into one folder each, or bring them to one step",
				of, time.Duration(step)*time.Millisecond, s.file, time.Duration(own)*time.Millisecond)
		}
	}
	if step == 0 {
		return 0, errors.New("there is one instant only: a history needs at least two rows of one service, or the step by --step")
	}
	return step, nil
}

func (s *sheet) step() int64 {
	count := map[int64]int{}
	var times []int64
	for _, r := range s.runs {
		times = times[:0]
		for _, p := range r.points {
			times = append(times, p.at)
		}
		slices.Sort(times)
		times = slices.Compact(times)
		for i := 1; i < len(times); i++ {
			count[times[i]-times[i-1]]++
		}
	}
	best := int64(0)
	for delta, n := range count {
		if best == 0 || n > count[best] || n == count[best] && delta < best {
			best = delta
		}
	}
	return best
}

// grid is the history during import.
type grid struct {
	start, every int64
	steps        int
	h            *history.History
	services     map[string]int
	calls        map[[3]string]int
	faults       map[string]*faults
	jitter       int64
}

// place puts the points of a run on the nearest steps. A point halfway between two steps means
// that the clock jumped or the step is wrong.
func (g *grid) place(r *run) {
	series := g.series(r)
	f := g.faults[r.file]
	if f == nil {
		f = &faults{}
		f.File = r.file
		g.faults[r.file] = f
	}
	for _, p := range r.points {
		i := (p.at - g.start + g.every/2) / g.every
		off := p.at - g.start - i*g.every
		if off < 0 {
			off = -off
		}
		if off > g.every/4 {
			near := g.start + i*g.every
			f.add(int(p.line), "time", show(p.at),
				fmt.Sprintf("must be a multiple of %v from the first row, such as %s: the clock jumped, or the step is another (--step)",
					g.h.Step, show(near)))
			continue
		}
		g.jitter = max(g.jitter, off)
		s := &series[p.metric]
		if *s == nil {
			*s = history.NewSeries(g.steps)
		}
		v := &(*s)[i]
		if *v == *v {
			f.add(int(p.line), rowOf(int(p.metric), r.ofCalls).Name, fmt.Sprint(p.value),
				"must come once per step: there is a value for "+r.label()+" at "+show(g.start+i*g.every)+" already")
			continue
		}
		*v = p.value
	}
}

func (r *run) label() string {
	if r.ofCalls {
		c := history.Calls{From: r.names[0], To: r.names[1], Operation: r.names[2]}
		return c.String()
	}
	return r.names[0]
}

// series of a run: those of its service or calls, possibly begun by another file.
func (g *grid) series(r *run) []history.Series {
	if r.ofCalls {
		i, found := g.calls[r.names]
		if !found {
			i = len(g.h.Calls)
			g.calls[r.names] = i
			g.h.Calls = append(g.h.Calls, history.Calls{From: r.names[0], To: r.names[1], Operation: r.names[2]})
		}
		return g.h.Calls[i].Series[:]
	}
	i, found := g.services[r.names[0]]
	if !found {
		i = len(g.h.Services)
		g.services[r.names[0]] = i
		g.h.Services = append(g.h.Services, history.Service{Name: r.names[0]})
	}
	return g.h.Services[i].Series[:]
}

func (g *grid) finish(sheets []*sheet) (*history.History, error) {
	var all []error
	for _, s := range sheets {
		if f := g.faults[s.file]; f != nil {
			all = append(all, f.err())
			delete(g.faults, s.file) // a file may be given twice
		}
	}
	if err := errors.Join(all...); err != nil {
		return nil, err
	}
	if g.jitter > 0 {
		g.h.Manifest.Notes = append(g.h.Manifest.Notes,
			fmt.Sprintf("times were up to %v off the steps of %v and were moved to the nearest",
				time.Duration(g.jitter)*time.Millisecond, g.h.Step))
	}
	return g.h, nil
}

func show(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.999Z") }
