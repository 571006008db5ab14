package pipeline

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline/internal/result"
)

// Extrapolation is where the test part leaves what the twin was fitted to and deployments were
// chosen on.
type Extrapolation struct {
	Lowest  result.Number `json:"lowest_rate"` // requests per second of the earlier parts, means over ten minutes
	Highest result.Number `json:"highest_rate"`
	Beyond  result.Number `json:"beyond"` // share of the test part's time outside of that

	covered map[string]float64 // cores that a deployment requests within it, mean, by label
}

// coveredOver is the time over which loads are compared, and coveredSlack how far beyond the range
// still counts as within.
const (
	coveredOver  = 10 * time.Minute
	coveredSlack = 0.05
)

// farBeyond is how many times the highest measured load of one replica a deployment may put on
// replicas: what was measured at a third of the limit says how a replica does at half of it, by
// queueing theory, and little about a bottleneck that only shows at several times the load.
const farBeyond = 1.5

// coverage compares the load of the test part with that of the earlier ones.
func (p *proof) coverage(whole []Entry) Extrapolation {
	x := Extrapolation{Lowest: result.Number(math.Inf(1)), covered: map[string]float64{}}
	f := p.folder
	for _, part := range []*viewOver{newViewOver(f.Training, coveredOver, 0), newViewOver(f.Selection, coveredOver, 0)} {
		for n := range part.places {
			x.Lowest, x.Highest = min(x.Lowest, result.Number(part.meanOf(n))), max(x.Highest, result.Number(part.meanOf(n)))
		}
	}
	test := newViewOver(f.HeldOut, coveredOver, 0)
	within := func(at time.Duration) bool {
		load := result.Number(test.mean(max(0, at-coveredOver), at))
		return load >= x.Lowest*(1-coveredSlack) && load <= x.Highest*(1+coveredSlack)
	}
	for n := range test.places {
		if !within(test.start(n) + coveredOver) {
			x.Beyond += 1 / result.Number(test.places)
		}
	}
	for i := range whole {
		timeline, sum, points := whole[i].runs[0].Timeline, 0.0, 0.0
		for n, t := range timeline.T {
			if within(time.Duration(float64(t) * float64(time.Second))) {
				sum, points = sum+float64(timeline.Asked[n]), points+1
			}
		}
		if points > 0 {
			x.covered[whole[i].Label] = sum / points
		}
	}
	return x
}

// extrapolates is the doubt about a saving that comes from where nothing was measured; nil = none.
func (e *Evaluation) extrapolates(d *Entry, name string) *doubt {
	today := e.Entry(TodayLabel)
	for _, s := range e.knowledge.Services {
		rate, highest := e.rates[d.Label][s.Service], float64(s.HighestRate)
		if rate > farBeyond*highest && rate > e.rates[TodayLabel][s.Service] {
			return &doubt{entry: d, open: true,
				who: name,
				does: fmt.Sprintf("would have a pod of %s serve %.3g requests/s, %.1f times the highest that the history shows (%.3g)",
					s.Service, rate, rate/highest, highest),
				decides: "A load test of one pod at that rate, or a history with fewer pods (a higher target, a quarter at a time),"}
		}
	}
	x := &e.Extrapolation
	if !(x.Beyond > 0) || today.SLO != Yes || d.AgainstToday.Saves == No {
		return nil
	}
	own, others := x.covered[d.Label], x.covered[TodayLabel]
	if own > 0 && others > 0 && 1-own/others >= minSaving {
		return nil
	}
	return &doubt{entry: d, open: true,
		who: name,
		does: fmt.Sprintf("saves nothing at the loads that were fitted to (%.3g to %.3g requests/s), only at others, which are %.0f %% of "+
			"the test part", float64(x.Lowest), float64(x.Highest), 100*float64(x.Beyond)),
		decides: "A longer history with such loads in its earlier part"}
}

// beyondMeasured names the service whose replicas a deployment loads most beyond what the history
// shows; "" = none.
func (e *Evaluation) beyondMeasured(d *Entry, name string) string {
	most, text := 1.0, ""
	for _, s := range e.knowledge.Services {
		rate, highest := e.rates[d.Label][s.Service], float64(s.HighestRate)
		if rate > most*highest && highest > 0 {
			most = rate / highest
			text = fmt.Sprintf("with %s a pod of %s serves %.3g requests/s, and the history shows %.3g at most: there the twin extrapolates", name,
				s.Service, rate, highest)
		}
	}
	return text
}

// ratesOf is the requests per second of one replica, by deployment and service, in the stretch with
// the most.
func ratesOf(entries []Entry) map[string]map[string]float64 {
	all := map[string]map[string]float64{}
	for i := range entries {
		rates := map[string]float64{}
		for _, r := range entries[i].runs {
			for _, s := range r.Result.Services {
				if n := float64(s.MeanReplicas * r.Result.DurationSeconds); n > 0 {
					rates[s.Name] = max(rates[s.Name], float64(s.Requests)/n)
				}
			}
		}
		all[entries[i].Label] = rates
	}
	return all
}
