package policy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hpaBehaviour is the autoscaler's behaviour field: how fast it may change.
type hpaBehaviour struct{ up, down hpaRule }

type hpaRule struct {
	window   time.Duration // of stabilisation
	policies []hpaRate
	pick     string // max, min or disabled
}

// hpaRate allows a number of pods, or a percentage of them, per period.
type hpaRate struct {
	pods    int
	percent float64 // if pods is 0
	period  time.Duration
}

// hpaMemory is the state of one autoscaler: its recommendations and changes.
type hpaMemory struct {
	begun       bool
	recommended []stamped
	added       []stamped
	removed     []stamped
	proposed    proposed
}

// proposed is a change that may or may not have been applied.
type proposed struct {
	at       time.Time
	from, to int
}

type stamped struct {
	at time.Time
	n  int
}

// begin uses the current replicas as the first recommendation: a controller that has just
// started must not scale down without a history.
func (m *hpaMemory) begin(now time.Time, current int) {
	if !m.begun {
		m.begun = true
		m.recommended = append(m.recommended, stamped{now, current})
	}
}

// stabilise keeps the replicas between the lowest recommendation of the up window and the
// highest of the down window, and records the new one.
func (m *hpaMemory) stabilise(now time.Time, b hpaBehaviour, current, desired int) (int, string) {
	lowest, highest := desired, desired
	for _, r := range m.recommended {
		if r.at.After(now.Add(-b.up.window)) {
			lowest = min(lowest, r.n)
		}
		if r.at.After(now.Add(-b.down.window)) {
			highest = max(highest, r.n)
		}
	}
	m.recommended = append(forget(m.recommended, now.Add(-max(b.up.window, b.down.window))), stamped{now, desired})
	stable := min(max(current, lowest), highest)
	switch {
	case stable == desired:
		return stable, ""
	case stable > desired:
		return stable, fmt.Sprintf("; held at %d, since %d were recommended within %v", stable, highest, b.down.window)
	}
	return stable, fmt.Sprintf("; held at %d, since %d were recommended within %v", stable, lowest, b.up.window)
}

// limit restricts the step to what the policies and the bounds allow.
func (m *hpaMemory) limit(now time.Time, b hpaBehaviour, current, desired, low, high int) (int, string) {
	switch {
	case desired > current:
		if most := max(m.upLimit(now, b.up, current), current); most < min(desired, high) {
			return most, fmt.Sprintf("; at most %d at once", most)
		}
	case desired < current:
		if least := min(m.downLimit(now, b.down, current), current); least > max(desired, low) {
			return least, fmt.Sprintf("; at least %d at once", least)
		}
	}
	switch {
	case desired > high:
		return high, fmt.Sprintf("; the upper bound is %d", high)
	case desired < low:
		return low, fmt.Sprintf("; the lower bound is %d", low)
	}
	return desired, ""
}

func (m *hpaMemory) upLimit(now time.Time, r hpaRule, current int) int {
	if r.pick == "disabled" {
		return current
	}
	limits := make([]int, 0, 4)
	for _, p := range r.policies {
		start := m.periodStart(now, p.period, current)
		if p.pods > 0 {
			limits = append(limits, start+p.pods)
		} else {
			// Rounded up, otherwise one replica could never become two.
			limits = append(limits, int(math.Ceil(float64(start)*(1+p.percent/100))))
		}
	}
	if r.pick == "min" {
		return slices.Min(limits)
	}
	return slices.Max(limits)
}

func (m *hpaMemory) downLimit(now time.Time, r hpaRule, current int) int {
	if r.pick == "disabled" {
		return current
	}
	limits := make([]int, 0, 4)
	for _, p := range r.policies {
		start := m.periodStart(now, p.period, current)
		if p.pods > 0 {
			limits = append(limits, start-p.pods)
		} else {
			limits = append(limits, int(float64(start)*(1-p.percent/100)))
		}
	}
	// "min" is the smallest change, which leaves the most replicas.
	if r.pick == "min" {
		return slices.Max(limits)
	}
	return slices.Min(limits)
}

// periodStart is the number of replicas when the period began, as far as this autoscaler
// changed it.
func (m *hpaMemory) periodStart(now time.Time, period time.Duration, current int) int {
	return current - since(m.added, now.Add(-period)) + since(m.removed, now.Add(-period))
}

// propose records a change, and drops those outside every limit's period.
func (m *hpaMemory) propose(now time.Time, b hpaBehaviour, from, to int) {
	longest := time.Duration(0)
	for _, p := range slices.Concat(b.up.policies, b.down.policies) {
		longest = max(longest, p.period)
	}
	m.added = forget(m.added, now.Add(-longest))
	m.removed = forget(m.removed, now.Add(-longest))
	m.proposed = proposed{now, from, to}
}

// settle records the applied part of the last proposal: what a guard, a pause or another
// autoscaler prevented counts for no limit.
func (m *hpaMemory) settle(current int) {
	p := m.proposed
	if change := min(current, p.to) - p.from; change > 0 {
		m.added = append(m.added, stamped{p.at, change})
	}
	if change := p.from - max(current, p.to); change > 0 {
		m.removed = append(m.removed, stamped{p.at, change})
	}
	m.proposed = proposed{}
}

func since(events []stamped, cutoff time.Time) int {
	n := 0
	for _, e := range events {
		if e.at.After(cutoff) {
			n += e.n
		}
	}
	return n
}

func forget(events []stamped, cutoff time.Time) []stamped {
	return slices.DeleteFunc(events, func(e stamped) bool { return !e.at.After(cutoff) })
}

// rateSpec checks "4/15s+100%/15s".
func rateSpec(s string) error {
	for _, part := range strings.Split(s, "+") {
		value, period, found := strings.Cut(part, "/")
		d, err := time.ParseDuration(period)
		number, isPercent := strings.CutSuffix(value, "%")
		n, err2 := strconv.Atoi(number)
		if !found || err != nil || err2 != nil || n <= 0 || d <= 0 || d > 30*time.Minute || isPercent && n > 10000 {
			return fmt.Errorf("%q must be pods or percent per period of at most 30m, like 4/15s or 100%%/15s", part)
		}
	}
	return nil
}

func parseRates(s string) []hpaRate {
	var rates []hpaRate
	for _, part := range strings.Split(s, "+") {
		value, period, _ := strings.Cut(part, "/")
		d, _ := time.ParseDuration(period)
		number, isPercent := strings.CutSuffix(value, "%")
		n, _ := strconv.Atoi(number)
		if isPercent {
			rates = append(rates, hpaRate{percent: float64(n), period: d})
		} else {
			rates = append(rates, hpaRate{pods: n, period: d})
		}
	}
	return rates
}
