package papers

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/train"
)

// drpcFigures are the paper's Table 4 (ms), failure rates (%), by contender.
var drpcFigures = map[string]struct {
	table4 []float64
	failed float64
}{
	drpcStudents: {[]float64{11, 17, 23, 28, 44, 84, 210, 900}, 4.5},
	"firm":       {[]float64{9, 10, 12, 15, 45, 120, 360, 2900}, 5.9},
	"coscal":     {[]float64{22, 36, 51, 63, 95, 180, 510, 1800}, 8.2},
	drpcKuScal:   {[]float64{240, 660, 960, 1100, 1700, 2300, 3900, 7900}, 29},
}

// drpcResult is all measurements, the input of tables and findings.
type drpcResult struct {
	setup    *drpcSetup
	models   []*drpcModels
	all      []drpcContender
	outcomes [][]*drpcOutcome // by contender, then seed
	growth   *growth
	forecast *Table
}

// table of one row for each contender.
func (r *drpcResult) table(name, note string, measures []Measure, of func(*drpcOutcome) []float64,
	paper func(string) []result.Number) Table {
	t := Table{Name: name, Note: note, Of: "policy", Measures: measures}
	for c := range r.all {
		row := Row{Name: r.all[c].name, Paper: none(len(measures))}
		if figures := paper(row.Name); figures != nil {
			row.Paper = figures
		}
		var values [][]float64
		for _, x := range r.outcomes[c] {
			values = append(values, of(x))
		}
		row.Ours = intervals(values)
		t.Rows = append(t.Rows, row)
	}
	return t
}

func notInPaper(string) []result.Number { return nil }

func (r *drpcResult) tables() []Table {
	var periods []Measure
	for p := range drpcPeriods {
		periods = append(periods, Measure{fmt.Sprintf("period %d", p+1), 1})
	}
	var percentiles, spans []Measure
	for _, p := range drpcPercentiles {
		percentiles = append(percentiles, Measure{p + " ms", 0})
	}
	for _, s := range drpcSpans {
		spans = append(spans, Measure{"within " + s.String(), 1})
	}
	nan := math.NaN()
	all := []Table{
		r.table("Everything together", "Requests that succeed, fail (refused or given up on), take so long on the mean, are over "+
			"their SLO (failures among them); minutes in which some kind of request broke its SLO; and what the paper leaves out: "+
			"the cost. A cost counts only if at most 1 % of requests are over the SLO.",
			[]Measure{{"success/s", 1}, {"failed %", 2}, {"mean ms", 0}, {"over SLO %", 2}, {"minutes broken %", 0}, {"core-hours", 1},
				{"GiB-hours", 0}, {"replicas", 1}, {"changes", 0}},
			func(x *drpcOutcome) []float64 {
				return []float64{x.successAll, x.failedAll, x.meanAll, x.over, x.minutes, x.coreHours, x.gibHours, x.replicas, x.changes}
			}, func(name string) []result.Number {
				if f, found := drpcFigures[name]; found {
					return numbers(nan, f.failed, nan, nan, nan, nan, nan, nan, nan)
				}
				return nil
			}),
		r.table("Response time at different percentiles (its Table 4)", "Of requests that completed.", percentiles,
			func(x *drpcOutcome) []float64 { return x.table4 },
			func(name string) []result.Number {
				if f, found := drpcFigures[name]; found {
					return numbers(f.table4...)
				}
				return nil
			}),
		r.table("Successful requests per second, by period (its Fig. 3a)", "", periods,
			func(x *drpcOutcome) []float64 { return x.success[:] }, notInPaper),
		r.table("Failed requests in percent, by period (its Fig. 3b)", "", periods,
			func(x *drpcOutcome) []float64 { return x.failed[:] }, notInPaper),
		r.table("Mean response time in ms, by period (its Fig. 3c)", "The paper has DRPC between 40 and 70 ms in most periods.",
			periods, func(x *drpcOutcome) []float64 { return x.mean[:] }, notInPaper),
		r.table("Distribution of response times: percent of completed requests (its Fig. 4a)", "", spans,
			func(x *drpcOutcome) []float64 { return x.within }, notInPaper),
		r.studentsTable(), r.growthTable(), r.learningTable(), r.curveTable(), r.effortTable(), *r.forecast,
	}
	return all
}

// studentsTable compares students with their teacher (the paper's Fig. 3d).
func (r *drpcResult) studentsTable() Table {
	t := r.table("Students against their teacher (its Fig. 3d)",
		fmt.Sprintf("Volatility is the standard deviation over the mean: over minutes, of the share of requests that succeed, and of "+
			"all ready replicas. The teacher's decisions take effect after %v, or, to see what that does, after one second like the "+
			"others.", r.setup.centralDelay()),
		[]Measure{{"success/s", 2}, {"volatility of success %", 2}, {"volatility of replicas %", 1}, {"mean ms", 0}, {"over SLO %", 2},
			{"changes", 0}},
		func(x *drpcOutcome) []float64 {
			return []float64{x.successAll, 100 * x.volatile, 100 * x.unsteady, x.meanAll, x.over, x.changes}
		}, notInPaper)
	t.Rows = t.Rows[:r.index(drpcBranching)+1]
	return t
}

func (r *drpcResult) index(name string) int {
	for i := range r.all {
		if r.all[i].name == name {
			return i
		}
	}
	return -1
}

func (r *drpcResult) growthTable() Table {
	t := Table{
		Name: "Mean response in ms as requests grow (its Fig. 1 and 4b)", Of: "policy",
		Note: fmt.Sprintf("Requests rise from %.0f/s to each of these within a minute; measured over the %v from the rise on, of "+
			"requests that completed. The last column is the coefficient of the square in a parabola through the means, in ms for "+
			"(100 requests/s)^2.", r.growth.levels[0], growthHold),
	}
	for _, l := range r.growth.levels {
		t.Measures = append(t.Measures, Measure{fmt.Sprintf("%.0f/s", l), 0})
	}
	t.Measures = append(t.Measures, Measure{"square", 0})
	for c := range r.all {
		if r.growth.responses[c] == nil {
			continue
		}
		var values [][]float64
		for seed, responses := range r.growth.responses[c] {
			values = append(values, append(append([]float64{}, responses...), r.growth.squares[c][seed]))
		}
		t.Rows = append(t.Rows, Row{Name: r.all[c].name, Paper: none(len(t.Measures)), Ours: intervals(values)})
	}
	return t
}

// learningTable is the result of training.
func (r *drpcResult) learningTable() Table {
	t := Table{
		Name: "Learning: DRPC's reward on held-out episodes (its Fig. 4c)", Of: "learner",
		Measures: []Measure{{"reward", 3}, {"episodes to converge", 0}, {"CPU %", 0}, {"memory %", 0}, {"teacher's reward", 3},
			{"reward of doing nothing", 3}},
		Note: "Every learner is evaluated by DRPC's reward here, whatever its own is. A curve has converged when it has made nine " +
			"tenths of its way from its first evaluation to the mean of its last quarter; the paper does not define it, and an " +
			"episode is 40 steps here (120 of FIRM's, which are shorter). CPU and memory are used over asked for.",
	}
	for _, p := range r.models {
		row := Row{Name: p.method.Name, Paper: none(len(t.Measures)), Note: p.chosen.Name + ", of " + trialsText(p)}
		if row.Name == "drpc" {
			row.Paper = numbers(0.7, 300, 60, 75, math.NaN(), math.NaN())
		}
		var values [][]float64
		for _, m := range p.models {
			var episodes, rewards []float64
			for _, q := range m.Curve {
				episodes, rewards = append(episodes, float64(q.Episodes)), append(rewards, float64(q.CommonReward))
			}
			v := []float64{float64(m.CommonReward), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}
			if len(rewards) > 0 {
				v[1] = ConvergedAfter(episodes, rewards, rewards[0])
			}
			for _, x := range m.Evaluations {
				switch x.Policy {
				case train.NoChange, "nobody": // the latter in records of earlier versions
					v[5] = float64(x.CommonReward)
				case "teacher":
					v[4] = float64(x.CommonReward)
				default:
					v[2], v[3] = 100*float64(x.CPU), 100*float64(x.Memory)
				}
			}
			values = append(values, v)
		}
		row.Ours = intervals(values)
		t.Rows = append(t.Rows, row)
	}
	return t
}

// trialsText describes the result of the trials.
func trialsText(p *drpcModels) string {
	text := ""
	for i, m := range p.trials {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s %.3f", m.Setting.Name, float64(m.CommonReward))
	}
	return text
}

// curveTable is all learning curves, by steps.
func (r *drpcResult) curveTable() Table {
	t := Table{Name: "Learning curves: DRPC's reward without exploring, by environment steps", Of: "steps",
		Note: "DRPC's are its teachers' curves, which end where the teacher has levelled off, or its share of the steps is used up. " +
			"A row is the last evaluation up to so many steps."}
	most := 0
	for _, p := range r.models {
		t.Measures = append(t.Measures, Measure{p.method.Name, 3})
		for _, m := range p.models {
			most = max(most, m.Steps)
		}
	}
	const rows = 12
	for i := 1; i <= rows; i++ {
		steps, known := most*i/rows, false
		row := Row{Name: fmt.Sprint(steps), Paper: none(len(t.Measures))}
		for _, p := range r.models {
			var values []float64
			for _, m := range p.models {
				last := math.NaN()
				for _, q := range m.Curve {
					if q.Steps <= steps {
						last = float64(q.CommonReward)
					}
				}
				values = append(values, last)
			}
			known = known || slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) })
			row.Ours = append(row.Ours, bench.IntervalOf(values))
		}
		if known { // one had been evaluated by then
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// effortTable is the cost of deciding.
func (r *drpcResult) effortTable() Table {
	t := Table{
		Name: "What deciding takes", Of: "policy",
		Measures: []Measure{{"parameters", 0}, {"CPU us per decision", 1}, {"bytes per decision", 0}},
		Note: "Parameters of one decider: one student, the teacher, all of FIRM's actors together, a table. A decision is one " +
			"call of the policy, observing the whole application included, and as many students as are due. Bytes between students " +
			"and teacher in training, weights included. The times are of this machine and do not repeat.",
	}
	for c := range r.all {
		name, learner, central := r.all[c].name, r.all[c].name, false
		switch name {
		case drpcTeacher:
			learner, central = "drpc", true
		case drpcBranching:
			learner = "drpc-branching"
		case drpcTeacherQuick:
			continue
		}
		row := Row{Name: name, Paper: none(len(t.Measures))}
		switch name {
		case drpcStudents:
			row.Paper = numbers(643, 60, math.NaN())
		case "firm":
			row.Paper = numbers(11352, 4000, math.NaN())
		}
		var values [][]float64
		for seed, x := range r.outcomes[c] {
			v := []float64{math.NaN(), x.decisionUs, math.NaN()}
			if p := named(r.models, learner); p != nil {
				m := p.models[seed]
				v[0] = float64(m.Parameters)
				if central {
					v[0] = float64(m.Central)
				} else if p.method.Name == "drpc" || p.method.ReadBy == "drpc" {
					v[2] = float64(m.BytesPerDecision)
				}
			}
			values = append(values, v)
		}
		row.Ours = intervals(values)
		t.Rows = append(t.Rows, row)
	}
	return t
}

// describe describes the experiment.
func (r *drpcResult) describe(steps int, length time.Duration) []string {
	s := r.setup
	users := ""
	for i, u := range drpcUsers {
		if i > 0 {
			users += ", "
		}
		users += fmt.Sprintf("%s %.0f %%", u.name, 100*u.share)
	}
	return []string{
		fmt.Sprintf("%s on %d workers of %g cores and %d GiB. A replica asks for the memory that it uses and a quarter more, and is "+
			"held to that: some %d fit, where the application has %d services. At most %d replicas of a service; CPU from 50m to 2 "+
			"cores each.", s.app.Name, drpcNodes, drpcCores, drpcMemory>>30, fits(s), len(s.app.Services), drpcReplicas),
		fmt.Sprintf("%s Its peak is %g requests/s. Four kinds of users in drifting proportions (%s on the mean; they swing over the "+
			"day and over %v), each with the pages that such a user sees. Days 3 to 5 are learned on, a lively stretch of day 6 is "+
			"for calibrating, and everything is evaluated on a lively stretch of days 7 and 8.", s.whence, s.peak, users, drpcSwing),
		fmt.Sprintf("Runs last %v in the event engine, in %d periods of %v (the paper's last 1000 min each); the first %v count for "+
			"the cost only.", length, drpcPeriods, length/drpcPeriods, warmUpOf(length)),
		fmt.Sprintf("Central deciders (drpc's teacher, firm, coscal, asarsa) see their decisions take effect %v after the "+
			"observation: a second, like all, and %v for each of the services that they collect from, one after the other. The paper "+
			"gives no figure; it samples every 200 ms, and that is how it is read. Students decide locally.", s.centralDelay(),
			drpcPerService),
		fmt.Sprintf("Every learner has %d environment steps in all and %d tuning trials (factors on its learning rates), compared by "+
			"DRPC's reward with the first seed; the best setting is then trained on every seed. drpc's steps include its students' "+
			"and the examples that they are distilled from.", steps, len(r.models[0].trials)),
		"KuScal is hpa:target=75. hpa (calibrated) has its best target and window on the validation stretch; the oracle knows " +
			"the rates, and moves replicas and CPU.",
	}
}

// fits is how many replicas of mean size the workers hold.
func fits(s *drpcSetup) int {
	sum := int64(0)
	for i := range s.app.Services {
		sum += s.app.Services[i].Size.MemoryRequest
	}
	return int(drpcNodes * drpcMemory / (sum / int64(len(s.app.Services))))
}
