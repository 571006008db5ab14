package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loadline/loadline/internal/result"
)

// Verdict is the result of a scenario.
type Verdict struct {
	Winner   int      `json:"winner"` // row; -1 = no policy meets the SLO, or the difference is not significant
	Sentence string   `json:"sentence"`
	Notes    []string `json:"notes"` // remarks on the baseline, calibration and oracle
}

// verdict of a scenario, from all of its rows.
func (b *builder) verdict(rows []int) Verdict {
	var contenders, met []int
	for _, i := range rows {
		if b.policyOf(i).Reference {
			continue
		}
		contenders = append(contenders, i)
		if b.report.Summary.Rows[i].Met {
			met = append(met, i)
		}
	}
	byCost := func(i, j int) int {
		return cmp.Compare(b.mean(i, b.report.Summary.Cost), b.mean(j, b.report.Summary.Cost))
	}
	slices.SortStableFunc(met, byCost)
	v := b.sentence(contenders, met)
	v.Notes = slices.Concat(b.baselineNote(contenders), b.calibrationNotes(contenders), b.oracleNotes(met))
	if v.Notes == nil {
		v.Notes = []string{}
	}
	return v
}

func (b *builder) policyOf(row int) Policy {
	return b.report.Summary.Policies[b.report.Summary.Rows[row].Policy]
}

func (b *builder) label(row int) string { return b.policyOf(row).Label }

func (b *builder) mean(row int, measure string) float64 {
	return float64(b.report.Summary.Rows[row].Values[measure][0])
}

// worst share over the SLO of a row's runs: the SLO is met if every run meets it.
func (b *builder) worst(row int) float64 {
	worst := math.NaN()
	for _, f := range b.seeds[row] {
		if !(f.overSLO <= worst) {
			worst = f.overSLO
		}
	}
	return worst
}

func (b *builder) inWorstRun(row int) string {
	if len(b.seeds[row]) > 1 {
		return " in its worst run"
	}
	return ""
}

func (b *builder) sentence(contenders, met []int) Verdict {
	switch {
	case len(contenders) == 0:
		return Verdict{Winner: -1, Sentence: "Only the oracle ran here: there is nothing to compare."}
	case len(met) == 0:
		nearest := slices.MinFunc(contenders, func(i, j int) int { return cmp.Compare(b.worst(i), b.worst(j)) })
		return Verdict{Winner: -1, Sentence: fmt.Sprintf("No policy meets the SLO. %s comes closest, with %s of requests over it%s, "+
			"where %s is allowed.",
			b.label(nearest), percent(b.worst(nearest)), b.inWorstRun(nearest), percent(result.CountsIf))}
	case len(met) == 1 && len(contenders) > 1:
		return Verdict{Winner: met[0], Sentence: fmt.Sprintf("%s is the only one of %d that meets the SLO, at %s%s.",
			b.label(met[0]), len(contenders), b.cost(met[0]), b.aboveOracle(met[0]))}
	case len(met) == 1:
		return Verdict{Winner: met[0], Sentence: fmt.Sprintf("%s meets the SLO at %s%s.", b.label(met[0]), b.cost(met[0]),
			b.aboveOracle(met[0]))}
	}
	best, next := met[0], met[1]
	toNext := pairedCost(b.seeds[best], b.seeds[next])
	if toNext.pairs < 2 {
		return Verdict{Winner: best, Sentence: fmt.Sprintf("%s is cheapest with the SLO met, in one run each: %s, %s than the next, "+
			"%s%s. One seed gives no interval.",
			b.label(best), b.cost(best), toNext.words(), b.label(next), b.aboveOracle(best))}
	}
	if !toNext.clear() {
		return Verdict{Winner: -1, Sentence: fmt.Sprintf("The cost of %s and %s, the cheapest with the SLO met, does not differ "+
			"significantly: %s and %s%s.",
			b.label(best), b.label(next), b.cost(best), b.cost(next), undecided(toNext))}
	}
	text := fmt.Sprintf("%s is cheapest with the SLO met: %s, %s than the next, %s", b.label(best), b.cost(best), toNext.words(),
		b.label(next))
	base := b.baseline(met)
	if base >= 0 && base != best && base != next {
		if d := pairedCost(b.seeds[best], b.seeds[base]); d.pairs > 1 {
			text += fmt.Sprintf(", and %s than the baseline %s", d.words(), b.label(base))
		}
	}
	return Verdict{Winner: best, Sentence: text + b.aboveOracle(best) + "."}
}

func undecided(d difference) string {
	decimals := decimalsOf(max(math.Abs(d.low), math.Abs(d.high)), 2)
	return fmt.Sprintf("; seed by seed they differ by %s to %s", fixed(d.low, decimals), fixed(d.high, decimals))
}

// baseline is the row of the baseline among rows; -1 = none.
func (b *builder) baseline(rows []int) int {
	for _, i := range rows {
		if b.label(i) == b.report.Summary.Baseline {
			return i
		}
	}
	return -1
}

// baselineNote points out a baseline that violates the SLO and therefore looks cheap.
func (b *builder) baselineNote(contenders []int) []string {
	base := b.baseline(contenders)
	if base < 0 || b.report.Summary.Rows[base].Met {
		return nil
	}
	return []string{fmt.Sprintf("The baseline %s violates the SLO (%s of requests over it%s): its %s do not count.",
		b.label(base), percent(b.worst(base)), b.inWorstRun(base), b.cost(base))}
}

const calibrated = " (calibrated)"

// calibrationNotes lists calibrated policies that are worse than their own defaults.
func (b *builder) calibrationNotes(contenders []int) []string {
	var dearer, broken []string
	for _, tuned := range contenders {
		name, isTuned := strings.CutSuffix(b.label(tuned), calibrated)
		plain := slices.IndexFunc(contenders, func(i int) bool { return b.label(i) == name })
		if !isTuned || plain < 0 || !b.report.Summary.Rows[contenders[plain]].Met {
			continue
		}
		if !b.report.Summary.Rows[tuned].Met {
			broken = append(broken, fmt.Sprintf("%s (%s of requests over it%s)", name, percent(b.worst(tuned)), b.inWorstRun(tuned)))
		} else if d := pairedCost(b.seeds[contenders[plain]], b.seeds[tuned]); d.clear() && d.mean < 0 {
			dearer = append(dearer, fmt.Sprintf("%s, %s", name, d.words()))
		}
	}
	var notes []string
	if len(dearer) > 0 {
		notes = append(notes, "The default beats the calibrated setting: "+strings.Join(dearer, "; ")+".")
	}
	if len(broken) > 0 {
		notes = append(notes, "The calibrated setting violates the SLO that the default meets: "+strings.Join(broken, "; ")+".")
	}
	return notes
}

// oracleNotes lists policies that beat the oracle over the same axes: its
// schedule can be improved.
func (b *builder) oracleNotes(met []int) []string {
	var notes []string
	for _, i := range met {
		if over := b.report.Summary.Rows[i].OverBest; over != nil && over[2] < 1 {
			notes = append(notes, fmt.Sprintf("%s costs %s of what the oracle does: the oracle's schedule can be improved.", b.label(i),
				percent(float64(over[0]))))
		}
	}
	return notes
}

// aboveOracle is a clause on the distance of the best policy from the oracle.
func (b *builder) aboveOracle(row int) string {
	over := b.report.Summary.Rows[row].OverBest
	if over == nil || math.IsNaN(float64(over[0])) || over[0] < 1 {
		return ""
	}
	return fmt.Sprintf("; the oracle needs %s less", percent(1-1/float64(over[0])))
}

// cost of a row with its interval.
func (b *builder) cost(row int) string {
	c := b.report.Summary.Rows[row].Values[b.report.Summary.Cost]
	mean, low, high := float64(c[0]), float64(c[1]), float64(c[2])
	text := figure(mean) + " core-hours"
	if b.report.Summary.Cost == "bill" {
		text = "a bill of " + figure(mean)
	}
	if !math.IsNaN(low) && low != high {
		decimals := decimalsOf(mean, 3)
		text += fmt.Sprintf(" (%s to %s)", fixed(low, decimals), fixed(high, decimals))
	}
	return text
}

// words states a difference as a share: "12 % (10 to 14 %) cheaper".
func (d difference) words() string {
	how, sign := "cheaper", -1.0
	if d.mean > 0 {
		how, sign = "more expensive", 1.0
	}
	share := func(v float64) float64 { return 100 * sign * v / d.base }
	low, high := min(share(d.low), share(d.high)), max(share(d.low), share(d.high))
	decimals := decimalsOf(share(d.mean), 2)
	text := fixed(share(d.mean), decimals) + " %"
	if low, high := fixed(low, decimals), fixed(high, decimals); d.pairs > 1 && low != high {
		text += fmt.Sprintf(" (%s to %s %%)", low, high)
	}
	return text + " " + how
}

func percent(share float64) string {
	if share > 0 && share < 0.0001 {
		return "less than 0.01 %"
	}
	return fixed(100*share, decimalsOf(100*share, 2)) + " %"
}

func figure(v float64) string { return fixed(v, decimalsOf(v, 3)) }

// decimalsOf a number for the given significant digits; those beyond a thousandth are noise
// here.
func decimalsOf(v float64, digits int) int {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return min(max(digits-1-int(math.Floor(math.Log10(math.Abs(v))+1e-9)), 0), 3)
}

// fixed writes a number with a minus sign (U+2212).
func fixed(v float64, decimals int) string {
	return strings.Replace(strconv.FormatFloat(v, 'f', decimals, 64), "-", "−", 1)
}
