package capacity

import (
	"context"
	"math"
	"time"

	"github.com/loadline/loadline/internal/forecast"
)

// Leads are the lead times that are scored: a resize, a pod's start on a new node with the planner's
// own delays, a slow node, a slow pod on it.
var Leads = [leads]time.Duration{15 * time.Second, 75 * time.Second, 2 * time.Minute, 5 * time.Minute}

const leads = 4

// Shares of the load in excess at which the cost is given.
var Shares = [2]float64{0.002, 0.01}

// Level is the quantile of the loss and of the coverage. Where an excess is 30 % of the load, it is
// that of a share of 0.2 %.
const Level = 1 - 0.002/0.3

// model forecasts the growth of the load within a lead time. It is shown the bins in turn.
type model interface {
	name() string
	learn(bin int)
	spread(lead int, to *forecast.Growth) // by index of Leads, from the last bin
}

// holder is a model that chooses the capacity by itself, for the first of Shares.
type holder interface{ held(lead int) float64 }

// Score of a model at a lead time. Costs are mean capacity over mean load.
type Score struct {
	Series      string  `json:"series"`
	Model       string  `json:"model"`
	LeadSeconds float64 `json:"lead_s"`
	Forecasts   int     `json:"forecasts"`
	Loss        float64 `json:"loss_percent"` // pinball, in % of the mean load
	Covered     float64 `json:"covered"`

	// Costs at each of Shares by hindsight: with one quantile at all moments, and with one expected
	// share in excess at all moments. nil = no setting had so little in excess, or the model chooses
	// by itself.
	ByQuantile [len(Shares)]*float64 `json:"cost_by_quantile"`
	ByShare    [len(Shares)]*float64 `json:"cost_by_share"`

	// Without hindsight, for the first of Shares.
	Held   float64 `json:"held"`
	Excess float64 `json:"excess"`
}

// The settings by which a rule is varied, from a low capacity to a high one.
var shareKnobs, levelKnobs = func() (shares, levels []float64) {
	for s := 0.1; s > 2e-5; s /= 1.3 {
		shares = append(shares, s)
	}
	for s := 0.3; s > 2e-4; s /= 1.3 {
		levels = append(levels, 1-s)
	}
	return shares, levels
}()

// tally of one model at one lead time.
type tally struct {
	n, covered     int
	load, loss     float64
	own            sums
	shares, levels []sums
	growths        []float64
}

type sums struct{ capacity, excess float64 }

func (s *sums) add(capacity, came float64) {
	s.capacity += capacity
	s.excess += max(came-capacity, 0)
}

// add a forecast from a level and the highest level that came. own is the model's capacity for the
// first of Shares; NaN = by its spread.
func (t *tally) add(level, most, own float64, g *forecast.Growth) {
	now, came := math.Expm1(level), math.Expm1(most)
	capacity := func(growth float64) float64 { return max(math.Expm1(level+growth), now) }
	for k, s := range shareKnobs {
		t.shares[k].add(capacity(g.AtShare(s)), came)
	}
	g.AtLevels(levelKnobs, t.growths)
	for k, growth := range t.growths {
		t.levels[k].add(capacity(growth), came)
	}
	if math.IsNaN(own) {
		own = capacity(g.AtShare(Shares[0]))
	}
	t.own.add(max(own, now), came)
	t.judge(capacity(g.AtLevel(Level)), came)
}

// judge the capacity at the quantile of Level.
func (t *tally) judge(capacity, came float64) {
	t.n++
	t.load += came
	t.loss += max(Level*(came-capacity), (Level-1)*(came-capacity))
	if capacity >= came-1e-9 {
		t.covered++
	}
}

// costAt is the capacity over the load where the share in excess is met, between the knobs around it.
func (t *tally) costAt(of []sums, share float64) *float64 {
	for k := range of {
		if of[k].excess > share*t.load {
			continue
		}
		cost := of[k].capacity / t.load
		if k > 0 {
			x := (of[k-1].excess - share*t.load) / (of[k-1].excess - of[k].excess)
			cost = (of[k-1].capacity + x*(of[k].capacity-of[k-1].capacity)) / t.load
		}
		return &cost
	}
	return nil
}

func (t *tally) score(s *Series, m model, lead int) Score {
	score := Score{
		Series: s.Name, Model: m.name(), LeadSeconds: Leads[lead].Seconds(), Forecasts: t.n, Loss: 100 * t.loss / t.load,
		Covered: float64(t.covered) / float64(t.n), Held: t.own.capacity / t.load, Excess: t.own.excess / t.load,
	}
	if m.name() == chosen { // it has one capacity, and no settings to vary
		return score
	}
	for k, share := range Shares {
		score.ByQuantile[k], score.ByShare[k] = t.costAt(t.levels, share), t.costAt(t.shares, share)
	}
	return score
}

// Run walks over a series with every model and scores its end.
func Run(ctx context.Context, s *Series, models []string, progress func(share float64)) ([]Score, error) {
	var all []model
	var tallies [][leads]tally
	for _, name := range models {
		m, err := newModel(ctx, name, s)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
		var of [leads]tally
		for lead := range of {
			of[lead].growths = make([]float64, len(levelKnobs))
			of[lead].shares, of[lead].levels = make([]sums, len(shareKnobs)), make([]sums, len(levelKnobs))
		}
		tallies = append(tallies, of)
	}
	for bin := range s.levels {
		if bin%1000 == 0 {
			progress(float64(bin) / float64(len(s.levels)))
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		for i, m := range all {
			m.learn(bin)
			if bin >= s.from && bin%s.stride == 0 && bin+bins(leads-1) < len(s.levels) {
				for lead := range Leads {
					tallies[i][lead].forecast(s, m, bin, lead)
				}
			}
		}
	}
	var out []Score
	for lead := range Leads {
		for i, m := range all {
			out = append(out, tallies[i][lead].score(s, m, lead))
		}
	}
	return out, nil
}

// forecast with a model and add what came.
func (t *tally) forecast(s *Series, m model, bin, lead int) {
	level, most, own := s.levels[bin], s.most(bin, bins(lead)), math.NaN()
	if h, ok := m.(holder); ok {
		own = h.held(lead)
		if m.name() == chosen {
			came := math.Expm1(most)
			capacity := max(own, math.Expm1(level))
			t.own.add(capacity, came)
			t.judge(capacity, came)
			return
		}
	}
	var g forecast.Growth
	m.spread(lead, &g)
	t.add(level, most, own, &g)
}

func bins(lead int) int { return int(Leads[lead] / Step) }
