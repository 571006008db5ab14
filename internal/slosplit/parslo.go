package slosplit

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadline/loadline/internal/profile"
)

// Parslo gives the budget piece by piece to the service where it saves most cost, after
// Mirhosseini, Elnikety and Wenisch, "Parslo: A Gradient Descent-based Approach for
// Near-optimal Partial SLO Allotment in Microservices" (SoCC 2021).
//
// Deviations from the original:
//   - A piece is what it takes to do with one or more instances less, not a fixed
//     small unit: smaller pieces save nothing, since instances are whole. All numbers
//     of instances are compared by what they save per second given, so a service
//     that saves nothing with one instance less and much with two is seen.
//   - Afterwards budget is taken back from one service and given anew to all, as long
//     as that makes the chain cheaper. Whole instances make descent stop early.
//   - What remains is given out in proportion, so that the shares use all of the
//     budget.
//
// Adjust makes the measured tail meet the SLO; this is its analytic part.
type Parslo struct{}

// option of a step: a number of instances, and the time that its visits then take on the path.
type option struct {
	instances int
	time      float64 // seconds, all visits
	cost      float64
}

// Split splits the chain.
func (Parslo) Split(c *Chain) (Shares, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	options := make([][]option, len(c.Steps))
	chosen := make([]int, len(c.Steps))
	left := c.Budget
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Curve == nil {
			return nil, fmt.Errorf("chain of %s: %w of %s: measure one with loadline profile, or split it evenly or proportionally",
				c.Kind, profile.ErrAbsent, s.Name)
		}
		if options[i] = stepOptions(s, c.Budget); options[i] == nil {
			return nil, Least(c)
		}
		left -= options[i][0].time
	}
	if left < -1e-9*c.Budget {
		return nil, Least(c)
	}
	d := descent{options, chosen, left}
	d.descend()
	for d.takeBack() {
	}
	shares := make(Shares, len(c.Steps))
	given := c.Budget - max(d.left, 0)
	for i := range shares {
		part := d.options[i][d.chosen[i]].time / c.Steps[i].Visits
		if given > 0 {
			part *= c.Budget / given
		} else {
			part = c.Budget / float64(len(shares)) / c.Steps[i].Visits // all visits take no time
		}
		shares[i] = part
	}
	return shares, nil
}

// stepOptions are the numbers of instances that are worth considering: from the fastest on,
// each slower and cheaper than the one before it. There are none if even the fastest exceeds
// the budget.
func stepOptions(s *Step, budget float64) []option {
	var list []option
	for n := s.Fastest(); n >= s.Min; n-- {
		time := s.Visits * s.LatencyWith(n)
		if math.IsInf(time, 1) || time > budget*(1+1e-9) {
			break
		}
		o := option{n, time, float64(n) * s.Cost}
		if last := len(list) - 1; last >= 0 && list[last].time >= time {
			list[last] = o // as fast with fewer
			continue
		}
		list = append(list, o)
	}
	return list
}

// descent is a choice of options and the rest of the budget.
type descent struct {
	options [][]option
	chosen  []int
	left    float64
}

func (d *descent) cost() float64 {
	sum := 0.0
	for i, o := range d.chosen {
		sum += d.options[i][o].cost
	}
	return sum
}

// descend gives the rest of the budget to the step that saves most, until no step can save.
// Held steps are not changed.
func (d *descent) descend(held ...int) {
	for {
		step, to, best := -1, 0, 0.0
		for i, list := range d.options {
			if slices.Contains(held, i) {
				continue
			}
			now := list[d.chosen[i]]
			for o := d.chosen[i] + 1; o < len(list); o++ {
				takes := list[o].time - now.time
				if takes > d.left {
					break
				}
				if gain := (now.cost - list[o].cost) / takes; gain > best {
					step, to, best = i, o, gain
				}
			}
		}
		if step < 0 {
			return
		}
		d.left -= d.options[step][to].time - d.options[step][d.chosen[step]].time
		d.chosen[step] = to
	}
}

// takeBackMost is how many options a step may be moved back at once: enough for small numbers
// of instances, without trying thousands for large ones. Pairs of steps are tried over fewer,
// and only if no single step helped.
const (
	takeBackMost = 12
	takeBackPair = 6
)

// takeBack makes one or two steps faster again, distributes the freed budget to all others, and
// keeps the best result if it is cheaper.
func (d *descent) takeBack() bool {
	best, bestCost := descent{}, d.cost()*(1-1e-12)
	keep := func(try descent, held ...int) {
		try.descend(held...)
		if c := try.cost(); c < bestCost {
			best, bestCost = try, c
		}
	}
	for i := range d.options {
		for _, try := range d.faster(i, takeBackMost) {
			keep(try, i)
		}
	}
	if best.chosen == nil {
		for i := range d.options {
			for _, one := range d.faster(i, takeBackPair) {
				for j := range i {
					for _, both := range one.faster(j, takeBackPair) {
						keep(both, i, j)
					}
				}
			}
		}
	}
	if best.chosen == nil {
		return false
	}
	*d = best
	return true
}

// faster are the choices with one step at an earlier option, up to most before.
func (d *descent) faster(step, most int) []descent {
	var list []descent
	now := d.chosen[step]
	for o := now - 1; o >= max(now-most, 0); o-- {
		try := descent{d.options, slices.Clone(d.chosen), d.left + d.options[step][now].time - d.options[step][o].time}
		try.chosen[step] = o
		list = append(list, try)
	}
	return list
}
