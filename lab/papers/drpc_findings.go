package papers

import (
	"fmt"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

// values of one figure by seed.
func (r *drpcResult) values(contender string, of func(*drpcOutcome) float64) []float64 {
	var out []float64
	for _, x := range r.outcomes[r.index(contender)] {
		out = append(out, of(x))
	}
	return out
}

// lower tests whether a is significantly below b, paired by seed: the same seed has the same
// arrivals for both.
func lower(a, b []float64) Verdict {
	differences := make([]float64, len(a))
	same := true
	for i := range a {
		differences[i] = a[i] - b[i]
		same = same && differences[i] == 0
	}
	d := bench.IntervalOf(differences)
	switch {
	case same, d.Low > 0:
		return Not
	case d.High < 0:
		return Holds
	}
	return Undecided
}

// together combines several verdicts.
func together(all ...Verdict) Verdict {
	count := map[Verdict]int{}
	for _, v := range all {
		count[v]++
	}
	switch {
	case count[Holds] == len(all):
		return Holds
	case count[Not] == len(all):
		return Not
	case count[Undecided] == len(all):
		return Undecided
	case count[Holds] > 0:
		return Partly
	case count[Not] > 0:
		return Not
	}
	return Undecided
}

func (r *drpcResult) findings(to *Report) {
	said := func(contender string, digits int, of func(*drpcOutcome) float64) string {
		return spread(bench.IntervalOf(r.values(contender, of)), digits)
	}
	failed := func(x *drpcOutcome) float64 { return x.failedAll }
	waits := func(x *drpcOutcome) float64 { return x.meanAll }
	lost := func(x *drpcOutcome) float64 { return -x.successAll }
	success := func(x *drpcOutcome) float64 { return x.successAll }
	versus := func(of func(*drpcOutcome) float64, rivals ...string) Verdict {
		var all []Verdict
		for _, rival := range rivals {
			all = append(all, lower(r.values(drpcStudents, of), r.values(rival, of)))
		}
		return together(all...)
	}
	to.find("DRPC serves more requests successfully than FIRM (by about 2 %), CoScal and KuScal.",
		versus(lost, "firm", "coscal", drpcKuScal),
		fmt.Sprintf("%s requests/s against %s, %s and %s.", said(drpcStudents, 2, success), said("firm", 2, success),
			said("coscal", 2, success), said(drpcKuScal, 2, success)))
	to.find("Its failure rate is lower than FIRM's, CoScal's and KuScal's.", versus(failed, "firm", "coscal", drpcKuScal),
		fmt.Sprintf("%s %% against %s, %s and %s %%.", said(drpcStudents, 2, failed), said("firm", 2, failed),
			said("coscal", 2, failed), said(drpcKuScal, 2, failed)))
	to.find("Its mean response time is lower than FIRM's (by 15 %), CoScal's (24 %) and KuScal's (72 %).",
		versus(waits, "firm", "coscal", drpcKuScal),
		fmt.Sprintf("%s ms against %s, %s and %s ms, of requests that completed: refusing more requests looks quicker.",
			said(drpcStudents, 0, waits), said("firm", 0, waits), said("coscal", 0, waits), said(drpcKuScal, 0, waits)))
	r.findTail(to, said)
	r.findStudents(to, said)
	r.findGrowth(to)
	r.findLearning(to)
	r.findEffort(to)
	r.findForecast(to)
	r.findCost(to, said)
}

func (r *drpcResult) findTail(to *Report, said func(string, int, func(*drpcOutcome) float64) string) {
	at := func(percentile int) func(*drpcOutcome) float64 {
		return func(x *drpcOutcome) float64 { return x.table4[percentile] }
	}
	const p50, p95, p99, p9999 = 0, 5, 6, 7
	var tail []Verdict
	for _, p := range []int{p95, p99, p9999} {
		tail = append(tail, lower(r.values(drpcStudents, at(p)), r.values("firm", at(p))))
	}
	body := lower(r.values("firm", at(p50)), r.values(drpcStudents, at(p50)))
	to.find("Beyond the 90th percentile DRPC is quicker than FIRM, below it FIRM is quicker.", together(append(tail, body)...),
		fmt.Sprintf("Median %s ms against FIRM's %s, p95 %s against %s, p99 %s against %s, p99.99 %s against %s.",
			said(drpcStudents, 0, at(p50)), said("firm", 0, at(p50)),
			said(drpcStudents, 0, at(p95)), said("firm", 0, at(p95)), said(drpcStudents, 0, at(p99)), said("firm", 0,
				at(p99)), said(drpcStudents, 0, at(p9999)), said("firm", 0, at(p9999))))
}

func (r *drpcResult) findStudents(to *Report, said func(string, int, func(*drpcOutcome) float64) string) {
	lost := func(x *drpcOutcome) float64 { return -x.successAll }
	success := func(x *drpcOutcome) float64 { return x.successAll }
	volatile := func(x *drpcOutcome) float64 { return 100 * x.volatile }
	unsteady := func(x *drpcOutcome) float64 { return 100 * x.unsteady }
	pair := func(of func(*drpcOutcome) float64) Verdict {
		return lower(r.values(drpcStudents, of), r.values(drpcTeacher, of))
	}
	to.find("Students get more requests through than their central teacher, with less volatility.",
		together(pair(lost), pair(volatile), pair(unsteady)),
		fmt.Sprintf("%s requests/s against %s (%s without its delay); volatility of success %s %% against %s, of replicas %s %% "+
			"against %s.", said(drpcStudents, 2, success), said(drpcTeacher, 2, success), said(drpcTeacherQuick, 2, success),
			said(drpcStudents, 2, volatile), said(drpcTeacher, 2, volatile), said(drpcStudents, 1, unsteady), said(drpcTeacher, 1,
				unsteady)))
	over := func(x *drpcOutcome) float64 { return x.over }
	to.find("Not the paper's: a discrete teacher breaks the SLO less than a continuous one.",
		lower(r.values(drpcBranching, over), r.values(drpcStudents, over)),
		fmt.Sprintf("%s %% of requests over the SLO against %s %%.", said(drpcBranching, 2, over), said(drpcStudents, 2, over)))
}

func (r *drpcResult) findGrowth(to *Report) {
	ours, firm := r.index(drpcStudents), r.index("firm")
	means := func(c int) []float64 {
		var out []float64
		for _, responses := range r.growth.responses[c] {
			out = append(out, mean(responses))
		}
		return out
	}
	a, b := means(ours), means(firm)
	less := make([]float64, len(a))
	for i := range a {
		less[i] = 100 * (1 - a[i]/b[i])
	}
	to.find("As requests grow quickly, DRPC's response time is 30 % lower than FIRM's on the mean, and its parabola is flatter.",
		together(lower(a, b), lower(r.growth.squares[ours], r.growth.squares[firm])),
		fmt.Sprintf("%s %% lower; the coefficient of the square is %s against %s.", spread(bench.IntervalOf(less), 0),
			spread(bench.IntervalOf(r.growth.squares[ours]), 0), spread(bench.IntervalOf(r.growth.squares[firm]), 0)))
}

func (r *drpcResult) findLearning(to *Report) {
	t := r.learningTable()
	episodes, reward := t.at("drpc", 1), t.at("drpc", 0)
	verdict := Undecided
	switch {
	case episodes.High <= 300 && reward.Low >= 0.7:
		verdict = Holds
	case episodes.Low > 300:
		verdict = Not
	}
	to.find("It converges within about 300 episodes, at a reward of about 0.7.", verdict,
		fmt.Sprintf("%s episodes, and a reward of %s: more, since the best possible depends on the application, its load and the "+
			"utilisation that is preferred.", spread(episodes, 0), spread(reward, 3)))
}

func (r *drpcResult) findEffort(to *Report) {
	t := r.effortTable()
	ours, firm := t.at(drpcStudents, 1), t.at("firm", 1)
	verdict, because := Undecided, "The time was not measured."
	if ours.Mean > 0 && firm.Mean > 0 { // both are present
		verdict = below(ours, firm)
		because = fmt.Sprintf("%s µs for everything that is due at a beat against FIRM's %s µs for one service, both with looking at "+
			"the application; a student's own decision takes a fraction of a microsecond (docs/drpc.md).", spread(ours, 1), spread(firm,
			1))
	}
	to.find("A decision takes 60 µs of CPU against FIRM's 4 ms.", verdict, because)
}

func (r *drpcResult) findForecast(to *Report) {
	worse, better := 0, 0
	for i, theirs := range drpcForecasts {
		switch ours := r.forecast.at("gru", i); {
		case ours.High <= result.Number(theirs):
			better++
		case ours.Low > result.Number(theirs):
			worse++
		}
	}
	verdict := Undecided
	switch {
	case better == len(drpcForecasts):
		verdict = Holds
	case worse == len(drpcForecasts):
		verdict = Not
	case better > 0:
		verdict = Partly
	}
	last := len(drpcForecasts) - 1
	to.find("The GRU forecasts with errors from 0.0025 (5 min) to 0.0057 (25 min).", verdict,
		fmt.Sprintf("%s to %s; persistence has %s to %s.", spread(r.forecast.at("gru", 0), 4), spread(r.forecast.at("gru", last), 4),
			spread(r.forecast.at("persistence", 0), 4), spread(r.forecast.at("persistence", last), 4)))
}

func (r *drpcResult) findCost(to *Report, said func(string, int, func(*drpcOutcome) float64) string) {
	cost := func(x *drpcOutcome) float64 { return x.coreHours }
	over := func(x *drpcOutcome) float64 { return x.over }
	meets := func(contender string) bool {
		return mean(r.values(contender, over)) <= 100*result.CountsIf
	}
	v := Undecided
	switch {
	case !meets(drpcStudents) && meets(drpcCalibrated):
		v = Not
	case meets(drpcStudents) && !meets(drpcCalibrated):
		v = Holds
	case meets(drpcStudents):
		v = lower(r.values(drpcStudents, cost), r.values(drpcCalibrated, cost))
	}
	to.find("Not the paper's: it is cheaper than a calibrated HPA, within the SLO (at most 1 % of requests over it).", v,
		fmt.Sprintf("%s core-hours with %s %% over the SLO, against %s with %s %% over; the oracle needs %s with %s %% over.",
			said(drpcStudents, 1, cost), said(drpcStudents, 2, over), said(drpcCalibrated, 1, cost), said(drpcCalibrated, 2,
				over), said(drpcOracle, 1, cost), said(drpcOracle, 2, over)))
}
