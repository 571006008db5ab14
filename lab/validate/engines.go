package validate

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loadline/loadline/internal/sim"
)

// EnginesOptions of a comparison.
type EnginesOptions struct {
	Quick    bool    // a part of the grid
	Requests float64 // per cell in the event engine, more near saturation; 0 = 50,000
	Seeds    int     // per transient in the event engine; 0 = 10
	Parts    EngineParts
	Drawn    int    // scenes drawn at random
	Runs     int    // seeds per policy of a scene; 0 = 3
	Only     string // scenes whose name contains it
	Seed     uint64
	Progress func(done, of int) // may be nil; called from one goroutine at a time
}

// EngineParts are the parts of a comparison.
type EngineParts int

const (
	AllParts   EngineParts = iota
	GridOnly               // steady states and transients
	ScenesOnly             // policies in scenes
)

// EnginesReport is the comparison.
type EnginesReport struct {
	Steady     []SteadyResult
	Transients []TransientResult
	Scenes     []SceneResult
}

// Engines runs the grid, the transients and the scenes over all cores. Every cell has its
// own seed, so the report does not depend on their number.
func Engines(ctx context.Context, o EnginesOptions) (EnginesReport, error) {
	if o.Requests == 0 {
		o.Requests = 50_000
	}
	if o.Seeds == 0 {
		o.Seeds = 10
	}
	if o.Runs == 0 {
		o.Runs = 3
	}
	var cells []EngineCell
	var transients []Transient
	var scenes []Scene
	if o.Parts != ScenesOnly {
		cells, transients = EngineGrid(o.Quick), Transients()
	}
	if o.Parts != GridOnly {
		var err error
		if scenes, err = Scenes(o.Drawn, o.Seed, o.Quick); err != nil {
			return EnginesReport{}, err
		}
		scenes = slices.DeleteFunc(scenes, func(s Scene) bool { return !strings.Contains(s.Name, o.Only) })
	}
	r := EnginesReport{
		Steady: make([]SteadyResult, len(cells)), Transients: make([]TransientResult, len(transients)),
		Scenes: make([]SceneResult, len(scenes)),
	}
	// The longest first, so that no core waits for the last one.
	err := inParallel(ctx, len(scenes)+len(cells)+len(transients), o.Progress, func(i int) (err error) {
		switch {
		case i < len(scenes):
			r.Scenes[i], err = scenes[i].Run(ctx, o.Runs)
		case i < len(scenes)+len(cells):
			i -= len(scenes)
			r.Steady[i] = RunSteady(cells[i], o.Requests, o.Seed+uint64(i))
		default:
			i -= len(scenes) + len(cells)
			r.Transients[i] = transients[i].Run(o.Seeds)
		}
		return err
	})
	return r, err
}

// inParallel does n jobs over all cores, and stops at the first error.
func inParallel(ctx context.Context, n int, progress func(done, of int), do func(i int) error) error {
	var next, done atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	var first error
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				err := do(i)
				mu.Lock()
				if first == nil {
					first = err
				}
				stop := first != nil
				if progress != nil {
					progress(int(done.Add(1)), n)
				}
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	wg.Wait()
	return cmp.Or(first, ctx.Err())
}

// EnginesSummary summarises the errors of a report.
type EnginesSummary struct {
	Cells                int
	CPUWorst             float64 // largest relative error of CPU
	SaturationWorst      float64 // of throughput, where the load is above capacity
	P99Median, P99Within float64 // median error; share of the cells up to 90 % within 30 %
	MeanMedian           float64
	Worst                []SteadyResult // by p99, up to 90 % utilisation
	OverSLOWorst         float64        // of the transients, in share of requests
	OverSLOMedian        float64
}

// Summarise computes the errors of the cells that pass keep (nil = all).
func (r EnginesReport) Summarise(keep func(EngineCell) bool) EnginesSummary {
	var s EnginesSummary
	var p99, mean, over []float64
	var upTo90 []SteadyResult
	for _, c := range r.Steady {
		if keep != nil && !keep(c.Cell) {
			continue
		}
		s.Cells++
		s.CPUWorst = math.Max(s.CPUWorst, math.Abs(off(c.Fluid.CPU, c.Event.CPU)))
		if c.Cell.Utilisation > 1 {
			s.SaturationWorst = math.Max(s.SaturationWorst, math.Abs(off(c.Fluid.Throughput, c.Event.Throughput)))
			continue
		}
		p99 = append(p99, c.P99Error())
		mean = append(mean, math.Abs(off(c.Fluid.MeanMs, c.Event.MeanMs)))
		upTo90 = append(upTo90, c)
	}
	within := 0
	for _, e := range p99 {
		if e <= 0.3 {
			within++
		}
	}
	s.P99Median, s.MeanMedian = median(p99), median(mean)
	s.P99Within = float64(within) / float64(len(p99))
	slices.SortStableFunc(upTo90, func(a, b SteadyResult) int {
		return cmp.Compare(b.P99Error(), a.P99Error())
	})
	s.Worst = upTo90[:min(10, len(upTo90))]
	for _, t := range r.Transients {
		if keep == nil || keep(t.Transient.Cell) {
			over = append(over, math.Abs(t.Fluid-t.Event))
		}
	}
	s.OverSLOMedian = math.NaN()
	if len(over) > 0 {
		s.OverSLOMedian, s.OverSLOWorst = median(over), slices.Max(over)
	}
	return s
}

// P99Error is the absolute relative error of the p99.
func (c SteadyResult) P99Error() float64 { return math.Abs(off(c.Fluid.P99Ms, c.Event.P99Ms)) }

// OfModel keeps the cells of one CPU model.
func OfModel(m sim.CPUModel) func(EngineCell) bool {
	return func(c EngineCell) bool { return c.CPU == m }
}
