package pipeline

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/twin"
)

// Condition is a state of the application or its nodes other than the twin has it. The zero value
// is the twin as it was fitted.
type Condition struct {
	Name   string      `json:"name"`
	Figure twin.Figure `json:"figure,omitempty"` // that differs; none = as fitted
	Values []Value     `json:"values,omitempty"` // of the figure
	// Needed: what is recommended must hold in it. The others show where the answer ends.
	Needed bool `json:"needed"`
	// Open: a measurement could exclude it.
	Open bool `json:"open"`

	TodayMeets bool              `json:"today_meets"`
	Results    []ConditionResult `json:"results"`
}

// Value of a figure.
type Value struct {
	Service string  `json:"service,omitempty"` // none = of all, or of the nodes
	Value   float64 `json:"value"`
	Likely  float64 `json:"likely"` // what the twin has
}

// ConditionResult is how a deployment does under a condition.
type ConditionResult struct {
	Label string        `json:"label"`
	Over  result.Number `json:"over_slo_ratio"`
	Cost  result.Number `json:"per_month"` // as if these stretches were the whole month
	Saves result.Number `json:"saves"`     // relative to today's deployment under the same condition
	Holds bool          `json:"holds"`
}

func (c *Condition) result(label string) *ConditionResult {
	for i := range c.Results {
		if c.Results[i].Label == label {
			return &c.Results[i]
		}
	}
	return nil
}

// scene of a stretch under the condition.
func (c *Condition) scene(s Stretch) string {
	if c.Name == "" {
		return s.Name
	}
	return s.Name + ", " + c.Name
}

// Levels of neighbours, as shares of the nodes' CPU. Nothing being known of the nodes, what is
// recommended must hold up to 70 %: at which rightsize checks too. Fuller nodes are rare, and show where the
// answer ends.
var busyLevels = []float64{0.5, 0.7, 0.85}

const mostExpected = 0.7

// asFitted is the first of the conditions.
const asFitted = "as fitted"

// conditions in the order of tables.
func (p *proof) conditions() []Condition {
	k := &p.folder.Subject.Knowledge
	all := append([]Condition{{Name: asFitted, Needed: true}}, p.busyConditions(k)...)
	for _, figure := range []twin.Figure{twin.Workers, twin.Startup, twin.NodeSize} {
		if figure == twin.NodeSize && len(p.Cluster.Pools) > 0 {
			continue // the nodes are given
		}
		var ranges []twin.Range
		for _, r := range k.Ranges {
			if r.Figure == figure {
				ranges = append(ranges, r)
			}
		}
		all = append(all, ends(figure, ranges)...)
	}
	var off []twin.Range
	for _, s := range k.Services {
		if e := float64(s.CPUError); e > 0 {
			off = append(off, twin.Range{Figure: twin.CPUTime, Service: s.Service, Low: 1 - min(e, 0.9), Likely: 1, High: 1 + e})
		}
	}
	all = append(all, ends(twin.CPUTime, off)...)
	var slow []twin.Range
	for _, of := range k.Kinds {
		e := float64(of.P99Error)
		r := twin.Range{Figure: twin.ResponseTime, Service: of.Kind, Low: 1, Likely: 1, High: 1 + e}
		if today := p.evaluation.Entry(TodayLabel); today != nil && today.SLO == No {
			r.Low = 1 / (1 + e) // today's deployment may meet the objective after all
		}
		slow = append(slow, r)
	}
	return append(all, ends(twin.ResponseTime, slow)...)
}

// ends are the conditions with a figure of all services at the low and at the high end: if a
// deployment holds there, it does with one service there.
func ends(figure twin.Figure, ranges []twin.Range) []Condition {
	var all []Condition
	for _, end := range []func(twin.Range) float64{
		func(r twin.Range) float64 { return r.Low }, func(r twin.Range) float64 { return r.High },
	} {
		c := Condition{Figure: figure, Needed: true, Open: true}
		for _, r := range ranges {
			if v := end(r); v != r.Likely {
				c.Values = append(c.Values, Value{r.Service, v, r.Likely})
			}
		}
		if len(c.Values) > 0 {
			c.Name = c.title()
			all = append(all, c)
		}
	}
	return all
}

// busyConditions are nodes of which others use more than in the comparison.
func (p *proof) busyConditions(k *Knowledge) []Condition {
	use, most, open := p.Cluster.Neighbours.Use, mostExpected, true
	levels := slices.Clone(busyLevels)
	switch {
	case p.NeighboursGiven && use == 0:
		return nil // the nodes are the user's alone
	case p.NeighboursGiven:
		most, open = use, false
	case k.Others != nil:
		most, open = k.Others.Busiest, false
		levels = append([]float64{math.Round(100*most) / 100}, levels...)
	}
	slices.Sort(levels)
	var all []Condition
	for _, level := range slices.Compact(levels) {
		if level < use+0.03 { // it is the comparison's
			continue
		}
		c := Condition{Figure: twin.Neighbours, Values: []Value{{"", level, use}}, Needed: level <= most+0.005, Open: open}
		c.Name = c.title()
		all = append(all, c)
	}
	return all
}

// busiest condition of the nodes that what is recommended must hold in; nil = that of the
// comparison.
func busiest(all []Condition) *Condition {
	var found *Condition
	for i := range all {
		if c := &all[i]; c.Figure == twin.Neighbours && c.Needed {
			found = c
		}
	}
	return found
}

// title of a condition: "nodes 70 % busy".
func (c *Condition) title() string {
	v := c.Values[0]
	switch c.Figure {
	case twin.Neighbours:
		return fmt.Sprintf("nodes %.0f %% busy", 100*v.Value)
	case twin.NodeSize:
		return fmt.Sprintf("nodes of %g cores", v.Value)
	case twin.CPUTime:
		if v.Value > 1 {
			return fmt.Sprintf("requests that take %s %% more CPU", c.spread("%.1f", func(v Value) float64 { return 100 * (v.Value - 1) }))
		}
		return fmt.Sprintf("requests that take %s %% less CPU", c.spread("%.1f", func(v Value) float64 { return 100 * (1 - v.Value) }))
	case twin.ResponseTime:
		if v.Value > 1 {
			return fmt.Sprintf("response times %s %% longer", c.spread("%.1f", func(v Value) float64 { return 100 * (v.Value - 1) }))
		}
		return fmt.Sprintf("response times %s %% shorter", c.spread("%.1f", func(v Value) float64 { return 100 * (1 - v.Value) }))
	case twin.Startup:
		return c.each("pods that take %s s to start", "pods of %s that take %s s to start")
	}
	return c.each("%s workers in each pod", "%[2]s workers in each pod of %[1]s")
}

// each names the value of one service, or the values of all, which are often the same.
func (c *Condition) each(all, one string) string {
	text := c.spread("%.4g", func(v Value) float64 { return v.Value })
	if len(c.Values) == 1 {
		return fmt.Sprintf(one, c.Values[0].Service, text)
	}
	return fmt.Sprintf(all, text)
}

// spread of the values: one, or the least and the most.
func (c *Condition) spread(format string, of func(Value) float64) string {
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range c.Values {
		least, most = min(least, of(v)), max(most, of(v))
	}
	low, high := fmt.Sprintf(format, least), fmt.Sprintf(format, most)
	if low == high {
		return low
	}
	return low + " to " + high
}
