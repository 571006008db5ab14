package twin

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/suggest"
)

// UsualFactor defines the assumed objective where none is given: 99 % of the requests within
// this many times their usual 99th percentile.
const UsualFactor = 2

// objective of a kind of request: the last one given for it or for all.
func (p *past) objective(k *kind, n *notes) loadline.SLO {
	var slo loadline.SLO
	for _, o := range p.options.Objectives {
		if o.Kind == "" || o.Kind == k.name {
			slo = o.SLO
		}
	}
	if slo.Latency > 0 {
		return slo
	}
	usual, of := p.usualTail(k)
	slo = loadline.SLO{Percentile: 99, Latency: roundUp(UsualFactor * usual)}
	n.assume("kinds."+k.name+".slo", fmt.Sprintf("99 %% within %v", slo.Latency),
		fmt.Sprintf("no objective was given: %d times %s", UsualFactor, of))
	return slo
}

// usualTail is the median 99th percentile of a kind of request, or an estimate of it.
func (p *past) usualTail(k *kind) (usual float64, of string) {
	t := p.tracks[k.to]
	for _, c := range []struct {
		s      history.Series
		factor float64
		of     string
	}{
		{k.p99, 1, "its usual 99th percentile"},
		{t.series[history.LatencyP99], 1, "the usual 99th percentile of the service where it enters"},
		{k.mean, 4, "four times its usual mean"},
		{t.series[history.LatencyMean], 4, "four times the usual mean of the service where it enters"},
	} {
		var seen []float64
		for i := range p.cut {
			if v := value(c.s, i); v > 0 {
				seen = append(seen, v)
			}
		}
		if len(seen) > 0 {
			return c.factor * median(seen), c.of
		}
	}
	return 0.25, "a guess of 250 ms, as no response time was measured"
}

// roundUp to two digits, as objectives usually have.
func roundUp(s float64) time.Duration {
	unit := math.Pow(10, math.Floor(math.Log10(max(s, 1e-4)))-1)
	return max(seconds(math.Ceil(s/unit-1e-9)*unit).Round(10*time.Microsecond), time.Millisecond)
}

// checkObjectives reports kinds that do not exist.
func (p *past) checkObjectives() error {
	var names []string
	for _, e := range p.entries {
		names = append(names, e.name)
	}
	for _, o := range p.options.Objectives {
		if o.Kind != "" && !slices.Contains(names, o.Kind) {
			return fmt.Errorf("objective for %q: there is no such kind of request%s", o.Kind, suggest.Hint(o.Kind, names))
		}
	}
	return nil
}
