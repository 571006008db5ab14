package capacity

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline/internal/workload"
)

// Step is the time between forecasts: the planner's period.
const Step = 15 * time.Second

// start of every series: a Monday.
var start = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// Series is a load in bins of Step, on the scale log(1 + requests/s).
type Series struct {
	Name   string
	levels []float64
	native int // bins that the data has one value for
	from   int // first bin that is scored
	// stride between scored forecasts, in bins: not whole minutes, so that all phases of a minute
	// occur.
	stride int
}

// peak to which the part before the scored one is scaled, as the suite bar scales traces.
const peak = 400

// scored is the share of a trace, its end, that is scored.
const scored = 0.3

// Trace is the series of a trace up to a time; 0 = all of it. Bins longer than Step are held, as a
// simulation of the trace does.
func Trace(name string, w *workload.Workload, until time.Duration) (*Series, error) {
	if until > 0 && until < w.Duration() {
		var err error
		if w, err = w.Slice(0, until); err != nil {
			return nil, err
		}
	}
	if w.Step > time.Minute {
		return nil, fmt.Errorf("%s: its step is %v, and must be at most 1m", name, w.Step)
	}
	if w.Duration() < 20*time.Minute {
		return nil, fmt.Errorf("%s: it covers %v, and must cover at least 20m", name, w.Duration())
	}
	rates, native := rebinned(w)
	s := &Series{Name: name, native: native, from: int((1 - scored) * float64(len(rates)))}
	s.fill(rates)
	return s, nil
}

// Draws is the series of a generated load: a past of draws of other seeds, and draws to score.
func Draws(name, spec string, each, past, test time.Duration, seed uint64) (*Series, error) {
	s := &Series{Name: name, native: 1}
	var rates []float64
	for covered := time.Duration(0); covered < past+test; covered += each {
		if covered >= past && s.from == 0 {
			s.from = len(rates)
		}
		w, err := workload.Parse(spec, each, Step, seed)
		if err != nil {
			return nil, err
		}
		rates = append(rates, w.Rates...)
		seed++
	}
	s.fill(rates)
	return s, nil
}

func (s *Series) fill(rates []float64) {
	s.stride = 3
	if len(rates) > int(48*time.Hour/Step) {
		s.stride = 11
	}
	most := 0.0
	for _, r := range rates[:s.from] {
		most = max(most, r)
	}
	scale := 1.0
	if most > 0 {
		scale = peak / most
	}
	s.levels = make([]float64, len(rates))
	for i, r := range rates {
		s.levels[i] = math.Log1p(scale * r)
	}
}

// rebinned is a workload in bins of Step, and for how many of them it has one value.
func rebinned(w *workload.Workload) (rates []float64, native int) {
	native = max(int(w.Step/Step), 1)
	if w.Step >= Step {
		for _, r := range w.Rates {
			for range native {
				rates = append(rates, r)
			}
		}
		return rates, native
	}
	per := int(Step / w.Step)
	for i := 0; i+per <= len(w.Rates); i += per {
		sum := 0.0
		for _, r := range w.Rates[i : i+per] {
			sum += r
		}
		rates = append(rates, sum/float64(per))
	}
	return rates, native
}

func at(bin int) time.Time { return start.Add(time.Duration(bin) * Step) }

// most is the highest level of the bins after one, up to some of them later, and of itself.
func (s *Series) most(bin, bins int) float64 {
	highest := s.levels[bin]
	for _, l := range s.levels[bin+1 : min(bin+bins+1, len(s.levels))] {
		highest = max(highest, l)
	}
	return highest
}
