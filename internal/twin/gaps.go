package twin

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline/internal/history"
)

// MaxHold is the longest gap that is filled with the value before it. A longer
// one is unknown load.
const MaxHold = 15 * time.Minute

// Gap is a stretch in which no request rate was measured at all.
type Gap struct {
	From  time.Time     `json:"from"`
	Steps int           `json:"steps"`
	Long  time.Duration `json:"duration_ns"`
}

func (g Gap) String() string {
	return fmt.Sprintf("%v from %s", g.Long, g.From.UTC().Format(time.RFC3339))
}

// gapsIn finds the runs of steps without data.
func gapsIn(h *history.History, known func(step int) bool) (gaps []Gap, from []int) {
	for i := 0; i < h.Steps; i++ {
		if known(i) {
			continue
		}
		first := i
		for i < h.Steps && !known(i) {
			i++
		}
		gaps = append(gaps, Gap{From: h.At(first), Steps: i - first, Long: time.Duration(i-first) * h.Step})
		from = append(from, first)
	}
	return gaps, from
}

// findGaps records the stretches in which users' requests were not measured.
func (p *past) findGaps() {
	gaps, _ := gapsIn(p.h, func(i int) bool {
		for _, e := range p.entries {
			if !math.IsNaN(value(e.rate, i)) {
				return true
			}
		}
		return false
	})
	short, absent := 0, 0
	for _, g := range gaps {
		absent += g.Steps
		if g.Long > MaxHold {
			p.gaps = append(p.gaps, g)
			p.notes.warn("nothing was measured for %v: an outage of the metrics or a jump of the clock; it is excluded from the fit", g)
		} else {
			short++
		}
	}
	if short > 0 {
		p.notes.warn("%d short gaps (at most %v each); %d of %d steps have no request rate and are excluded", short, MaxHold, absent,
			p.h.Steps)
	}
	impossible := 0
	for _, t := range p.tracks {
		for _, s := range t.series {
			for _, v := range s {
				if v < 0 || math.IsInf(float64(v), 0) {
					impossible++
				}
			}
		}
	}
	if impossible > 0 {
		p.notes.warn("%d values are negative or infinite, as after a reset of a clock or counter; they count as absent", impossible)
	}
}
