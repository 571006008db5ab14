package papers

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/slosplit"
	"github.com/loadline/loadline/internal/slosplit/learned"
)

// msarsSlots is the length of a stretch, in slots of a minute: profiles jump at slots 150 and
// 300.
const msarsSlots = 150

func (o Options) slots() int { return int(o.length(msarsSlots*time.Minute) / time.Minute) }

// MSARS runs the experiments with its allocator (section 5.2): how fast it adapts when profiles
// jump, on unknown chains, and when everything changes all the time; and with its agent
// (section 5.3): the effect of partial SLOs.
func MSARS(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	stage, err := newMSARSStage(o.few)
	if err != nil {
		return nil, err
	}
	return stage.run(ctx, o)
}

func (s *msarsStage) run(ctx context.Context, o Options) (*Report, error) {
	trained := make([]*trainedSplitters, o.Seeds)
	taught := o.part(0, 0.2)
	if err := taught.eachWithProgress(ctx, o.Seeds, func(i int, progress func(float64)) (err error) {
		trained[i], err = s.teach(ctx, o, o.Seed+uint64(i), progress)
		return err
	}); err != nil {
		return nil, err
	}
	how, err := s.tune(ctx, o.part(0.2, 0.25), trained[0], o.Seed)
	if err != nil {
		return nil, err
	}
	r := msarsReport(o, trained, how)
	late, err := s.jumpTable(ctx, o.part(0.25, 0.28), trained, how, true)
	if err != nil {
		return nil, err
	}
	once, err := s.jumpTable(ctx, o.part(0.28, 0.31), trained, how, false)
	if err != nil {
		return nil, err
	}
	shapes, err := s.shapeTable(ctx, o.part(0.31, 0.33), trained, how)
	if err != nil {
		return nil, err
	}
	wild, err := s.wildTable(ctx, o.part(0.33, 0.35), trained, how)
	if err != nil {
		return nil, err
	}
	cost, err := s.costTable(ctx, o.part(0.35, 0.38), trained)
	if err != nil {
		return nil, err
	}
	tails, err := s.tailTable(ctx, o.part(0.38, 0.4), trained[0])
	if err != nil {
		return nil, err
	}
	steered, err := s.steer(ctx, o.part(0.4, 1), trained)
	if err != nil {
		return nil, err
	}
	r.Tables = []Table{*late.table, *late.story, *once.table, *shapes, *wild, *cost, *tails, *steered.calm, *steered.wild}
	msarsFindings(r, late, once, shapes, wild)
	steered.findings(r)
	return r, nil
}

func msarsReport(o Options, trained []*trainedSplitters, how map[string]manner) *Report {
	r := &Report{
		Name: "msars", Title: "MSARS: how its allocator adapts (its section 5.2), and what steering by it brings (5.3)", Seeds: o.Seeds,
		Setup: []string{
			fmt.Sprintf("Sock Shop in %d releases, its five main chains, instances of three sizes, loads and SLOs at random: a task "+
				"is a chain in a release with instances of some sizes, 70 %% of its samples to learn from and 30 %% to be tested on. "+
				"Labels are parslo's; one sample of each chain of a release is measured in the event engine to find how much its "+
				"budget may exceed the SLO. Profiles are measured in the event engine.", learned.ShopReleases),
			"A network sees of each service its profile at six loads, its load, cost and visits, and of the chain its SLO and graph. " +
				"It divides what is left when every service is as fast as its bounds allow; the error is the part of that which goes " +
				"to the wrong service.",
			"Most of meta's tasks show the profiles of another release, as a monitor has them until it has measured the new one; " +
				"what is best must then be found out from samples. gcn and fnn are trained on true profiles, and again on the same " +
				"tasks as meta.",
			fmt.Sprintf("A stream has %d slots; after each third another release is deployed, with instances of other sizes, that "+
				"nothing was trained or chosen on. Each slot shows %d samples, and a network takes one step on the last %d. It has "+
				"recovered when it has made nine tenths of the way, for three slots on end, from the least error that any method has "+
				"at the jump to the lowest that any reaches in that stretch: the same level for all.", 3*o.slots(), slotSamples,
				slotMemory),
		},
	}
	r.Setup = append(r.Setup, describeSteering(o))
	for _, method := range msarsAll {
		r.Setup = append(r.Setup, fmt.Sprintf("%s: %v. Chosen of %d rates, with and without a new beginning, by the steps it takes "+
			"on releases of their own.", method, how[method], len(msarsPaces(method))))
	}
	r.Setup = append(r.Setup, "meta has a context: some numbers for each service of a chain, zero as it is trained, that only "+
		"adapting moves. The paper's GCN has none; gcn+context is one that has, trained to convergence like gcn. It is there to tell "+
		"architecture from training, and counts for no level and no verdict.")
	if o.Now != nil {
		var took []float64
		for _, c := range trained {
			took = append(took, c.took["meta"].Seconds())
		}
		r.Setup = append(r.Setup, fmt.Sprintf("Meta-training took %.0f s on the mean, on one core.", mean(took)))
	}
	return r
}

// jumpResult is a table of jumps and the curves behind it.
type jumpResult struct {
	table, story *Table
	steps        map[string]bench.Interval
	ratios       []bench.Interval // of meta's steps to those of the better of the others, by ways
}

// jumpTable runs all methods on streams whose profiles jump.
func (s *msarsStage) jumpTable(ctx context.Context, o Options, trained []*trainedSplitters, how map[string]manner,
	late bool) (*jumpResult, error) {
	slots := o.slots()
	measures := []Measure{{"error % before", 1}, {"at the jump", 1}, {"after 5 steps", 1}, {"after 20", 1}, {"lowest", 1},
		{"steps to 1/2", 1}, {"to 3/4", 1}, {"to 9/10", 1}, {"not recovered %", 0}}
	values := map[string][][]float64{} // by method and seed
	stories := map[string][][]float64{}
	for _, m := range msarsAll {
		values[m], stories[m] = make([][]float64, len(trained)), make([][]float64, len(trained))
	}
	ratios := make([][]float64, len(trained))
	err := o.each(ctx, len(trained), func(i int) error {
		sums := map[string][]float64{}
		for _, m := range msarsAll {
			sums[m], stories[m][i] = make([]float64, len(measures)), make([]float64, 3*slots)
		}
		for chain := range s.chains() {
			stretches, err := s.jumps(ctx, chain, testRelease, slots, late, o.Seed+uint64(i)*1000)
			if err != nil {
				return err
			}
			curves := map[string][][]float64{}
			for _, m := range msarsAll {
				if curves[m], err = follow(trained[i].model(m, how[m]), how[m], stretches); err != nil {
					return err
				}
			}
			targets := make([][]float64, len(ways))
			for w, share := range ways {
				targets[w] = levels(share, curves["meta"], curves["gcn"], curves["fnn"])
			}
			for _, m := range msarsAll {
				addStream(sums[m], stories[m][i], curves[m], targets, slots, float64(s.chains()))
			}
		}
		for _, m := range msarsAll {
			values[m][i] = sums[m]
		}
		for w := range ways {
			steps := len(measures) - 1 - len(ways) + w
			ratios[i] = append(ratios[i], sums["meta"][steps]/max(min(sums["gcn"][steps], sums["fnn"][steps]), 1e-9))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	name, note := "Profiles that jump and are seen late",
		"The networks are shown the profiles of the release before for the whole stretch. One step is taken in each slot of a "+
			"minute, so steps are minutes; a method that never recovers counts with all its steps."
	if !late {
		name, note = "Profiles that jump and are seen at once",
			"The same, but the networks are shown the new profiles from the first slot on."
	}
	j := &jumpResult{
		table: &Table{Name: name, Note: note, Of: "method", Measures: measures},
		story: &Table{Name: "The same over time: error in percent", Of: "slot"},
		steps: map[string]bench.Interval{},
	}
	for _, m := range msarsAll {
		row := Row{Name: m, Paper: none(len(measures)), Ours: intervals(values[m])}
		j.steps[m] = row.Ours[len(measures)-2] // to nine tenths
		j.table.Rows = append(j.table.Rows, row)
	}
	j.ratios = intervals(ratios)
	for _, m := range msarsAll {
		j.story.Measures = append(j.story.Measures, Measure{m, 1})
	}
	for _, slot := range storySlots(slots) {
		row := Row{Name: fmt.Sprint(slot), Paper: none(len(msarsAll))}
		for _, m := range msarsAll {
			var each []float64
			for i := range trained {
				each = append(each, stories[m][i][slot])
			}
			row.Ours = append(row.Ours, bench.IntervalOf(each))
		}
		j.story.Rows = append(j.story.Rows, row)
	}
	return j, nil
}

// addStream adds one stream's figures to the sums of jumpTable's measures.
func addStream(sums, story []float64, curves, targets [][]float64, slots int, chains float64) {
	for i, c := range curves {
		for slot, e := range c {
			story[i*slots+slot] += e / chains
		}
	}
	const jumps = 2
	for i := 1; i <= jumps; i++ {
		c := curves[i]
		before := curves[i-1][len(curves[i-1])-1]
		figures := []float64{before, c[0], c[min(5, len(c)-1)], c[min(20, len(c)-1)], slices.Min(c)}
		lost := 0.0
		for w := range ways {
			steps := recoversAfter(c, targets[w][i])
			if figures = append(figures, steps); int(steps) >= len(c) && w == len(ways)-1 {
				lost = 100
			}
		}
		for k, v := range append(figures, lost) {
			sums[k] += v / jumps / chains
		}
	}
}

// storySlots are the slots that are printed: shortly after the jumps, and some later.
func storySlots(slots int) []int {
	var list []int
	for i := range 3 {
		for _, after := range []int{0, 1, 2, 3, 5, 10, 20, 50, 100, 149} {
			if after < slots {
				list = append(list, i*slots+after)
			}
		}
	}
	return list
}

// shapeSubjects are chains of held-out shapes.
func (s *msarsStage) shapeSubjects() []learned.Subject {
	list := []learned.Subject{{Releases: s.shop, Chain: learned.ShopChains}, {Releases: s.book, Chain: 0}}
	for chain := range 4 {
		list = append(list, learned.Subject{Releases: s.boutique, Chain: chain})
	}
	if s.few {
		return list[1:2]
	}
	return list
}

// shapeTable runs all methods on held-out chains.
func (s *msarsStage) shapeTable(ctx context.Context, o Options, trained []*trainedSplitters, how map[string]manner) (*Table, error) {
	measures := []Measure{{"error % as trained", 1}, {"after 1 step", 1}, {"after 5", 1}, {"after 20", 1}, {"lowest", 1},
		{"steps to recover", 1}}
	slots := min(60, o.slots())
	values := map[string][][]float64{}
	for _, m := range msarsMethods {
		values[m] = make([][]float64, len(trained))
	}
	subjects := s.shapeSubjects()
	err := o.each(ctx, len(trained), func(i int) error {
		for _, m := range msarsMethods {
			values[m][i] = make([]float64, len(measures))
		}
		for _, of := range subjects {
			one, err := newStretch(ctx, of, slots, o.Seed+uint64(i)*1000)
			if err != nil {
				return err
			}
			curves := map[string][][]float64{}
			for _, m := range msarsMethods {
				if curves[m], err = follow(trained[i].model(m, how[m]), how[m], []*stretch{one}); err != nil {
					return err
				}
			}
			level := levels(ways[len(ways)-1], curves["meta"], curves["gcn"], curves["fnn"])[0]
			for _, m := range msarsMethods {
				c := curves[m][0]
				for k, v := range []float64{c[0], c[min(1, len(c)-1)], c[min(5, len(c)-1)], c[min(20, len(c)-1)], slices.Min(c),
					recoversAfter(c, level)} {
					values[m][i][k] += v / float64(len(subjects))
				}
			}
		}
		return nil
	})
	t := &Table{Name: "Chains of unseen structure",
		Note: fmt.Sprintf("The other way through an order of Sock Shop, bookinfo's page, and four of boutique's: %d chains, their "+
			"profiles seen as they are, %d slots each.", len(subjects), slots), Of: "method", Measures: measures}
	for _, m := range msarsMethods {
		t.Rows = append(t.Rows, Row{Name: m, Paper: none(len(measures)), Ours: intervals(values[m])})
	}
	return t, err
}

const wildEvery = 10 // slots

// wildTable runs all methods in an environment in which release, chain and sizes change every
// few slots.
func (s *msarsStage) wildTable(ctx context.Context, o Options, trained []*trainedSplitters, how map[string]manner) (*Table, error) {
	measures := []Measure{{"error %", 1}, {"in the last slot before a change", 1}, {"without adapting", 1}}
	changes := 30
	if s.few {
		changes = 2
	}
	values := map[string][][]float64{}
	for _, m := range msarsMethods {
		values[m] = make([][]float64, len(trained))
	}
	err := o.each(ctx, len(trained), func(i int) error {
		var stretches []*stretch
		for k := range changes {
			release := testRelease + 1 + (k*2+k/3)%(learned.ShopUnseen-3)
			of := learned.Subject{Releases: s.shop, Chain: (k*3 + i) % s.chains(), Release: release, Profiled: release - k%2}
			one, err := newStretch(ctx, of, wildEvery, o.Seed+uint64(i)*1000+uint64(k))
			if err != nil {
				return err
			}
			stretches = append(stretches, one)
		}
		for _, m := range msarsMethods {
			curves, err := follow(trained[i].model(m, how[m]), how[m], stretches)
			if err != nil {
				return err
			}
			still := how[m]
			still.pace = learned.Optimiser{}
			frozen, err := follow(trained[i].model(m, how[m]), still, stretches)
			if err != nil {
				return err
			}
			var all, last, without []float64
			for k := range curves {
				all = append(all, curves[k]...)
				last = append(last, curves[k][len(curves[k])-1])
				without = append(without, frozen[k]...)
			}
			values[m][i] = []float64{mean(all), mean(last), mean(without)}
		}
		return nil
	})
	t := &Table{Name: "An environment that changes violently",
		Note: fmt.Sprintf("Another chain, release and sizes every %d slots, %d times; half of them with profiles that are seen late.",
			wildEvery, changes), Of: "method", Measures: measures}
	for _, m := range msarsMethods {
		t.Rows = append(t.Rows, Row{Name: m, Paper: none(len(measures)), Ours: intervals(values[m])})
	}
	return t, err
}

// splitters of one seed as loadline slo split uses them, and parslo.
func (c *trainedSplitters) splitters() map[string]slosplit.Splitter {
	return map[string]slosplit.Splitter{"meta": learned.NewAdaptive(c.both["meta"]), "gcn": c.plain["gcn"], "fnn": c.plain["fnn"],
		"parslo": slosplit.Parslo{}}
}

// costTable compares splits with the cheapest numbers of instances.
func (s *msarsStage) costTable(ctx context.Context, o Options, trained []*trainedSplitters) (*Table, error) {
	measures := []Measure{{"cost over the cheapest", 3}, {"at worst", 2}, {"adjusted", 3}, {"adjusted, at worst", 2}}
	ways := []string{"meta", "gcn", "fnn", "parslo"}
	each := 12
	if s.few {
		each = 2
	}
	values := map[string][][]float64{}
	for _, w := range ways {
		values[w] = make([][]float64, len(trained))
	}
	err := o.each(ctx, len(trained), func(i int) error {
		for way, split := range trained[i].splitters() {
			plain, adjusted, err := s.costs(ctx, split, each, o.Seed+uint64(i))
			if err != nil {
				return err
			}
			values[way][i] = []float64{mean(plain), slices.Max(plain), mean(adjusted), slices.Max(adjusted)}
		}
		return nil
	})
	t := &Table{
		Name: "What splits cost", Of: "way", Measures: measures,
		Note: fmt.Sprintf("%d chains of up to five services, of releases or applications that nothing was trained on, %d loads and "+
			"SLOs each, against exhaustive search over whole instances, by the profiles. Adjusted as slo split does it, with the "+
			"profiles' sum in place of the event engine. meta after %d steps on %d neighbours of the chain that parslo solves.",
			len(s.shortSubjects()), each, trained[0].both["meta"].Settings.Steps, learned.AroundSamples),
	}
	for _, w := range ways {
		t.Rows = append(t.Rows, Row{Name: w, Paper: none(len(measures)), Ours: intervals(values[w])})
	}
	return t, err
}

// tailTable measures meta's splits in the event engine.
func (s *msarsStage) tailTable(ctx context.Context, o Options, c *trainedSplitters) (*Table, error) {
	measures := []Measure{{"SLO ms", 1}, {"p99 ms on unseen seeds", 1}, {"cost, cores", 2}, {"over the cheapest measured", 3},
		{"parslo over it", 3}, {"cheaper ones measured", 0}}
	subjects := s.shortSubjects()
	rows := make([]Row, len(subjects))
	all := effort{rate: 200, runs: slosplit.DefaultRuns, tried: 20}
	if s.few {
		all = effort{rate: 20, runs: 8, tried: 3}
	}
	split := c.splitters()["meta"]
	err := o.each(ctx, len(subjects), func(i int) error {
		m, err := measured(ctx, subjects[i], split, o.Seed, all)
		if err != nil {
			return err
		}
		tail := 1000 * m.tail.Latency
		if m.tail.Failing {
			tail = math.NaN()
		}
		rows[i] = Row{Name: m.name, Paper: none(len(measures))}
		for _, v := range []float64{1000 * m.slo, tail, m.cost, m.ratio, m.parslo, float64(m.tried)} {
			rows[i].Ours = append(rows[i].Ours, bench.IntervalOf([]float64{v}))
		}
		return nil
	})
	return &Table{
		Name: "meta, measured in the event engine", Of: "chain", Measures: measures, Rows: rows,
		Note: fmt.Sprintf("Split and adjusted with the first seed's model; parslo beside it in the same way; then numbers of "+
			"instances that are cheaper and can bear the load are measured too, on the same seeds and by the same rule, those first "+
			"that are fastest by their profiles, %d at most.", all.tried),
	}, err
}

// msarsFindings evaluates the paper's claims.
func msarsFindings(r *Report, late, once *jumpResult, shapes, wild *Table) {
	other := "gcn"
	if late.steps["fnn"].Mean < late.steps["gcn"].Mean {
		other = "fnn"
	}
	verdict := Undecided
	ratio := late.ratios[len(ways)-1]
	switch {
	case ratio.High <= 0.6:
		verdict = Holds
	case ratio.Low > 0.6 && ratio.High < 1:
		verdict = Partly
	case ratio.Low >= 1:
		verdict = Not
	}
	r.find("After a jump of the profiles, meta adapts in 40 % less time than a converged GCN and an FNN.", verdict,
		fmt.Sprintf("Where new profiles are seen late, it takes %s of the steps of the better of the two, %s: %s against %s. To half "+
			"of the way %s, to three quarters %s.", spread(ratio, 2), other, spread(late.steps["meta"], 1), spread(late.steps[other],
			1), spread(late.ratios[0], 2), spread(late.ratios[1], 2)))
	at := func(j *jumpResult, method string, measure int) bench.Interval {
		return j.table.Rows[slices.Index(msarsMethods, method)].Ours[measure]
	}
	start := once.story.Rows[0].Ours[slices.Index(msarsMethods, "gcn")]
	r.find("A jump of the profiles distorts what a converged GCN predicts.", below(start, at(once, "gcn", 1)),
		fmt.Sprintf("Where it sees the new profiles, its error as trained is %s %% after a jump, and %s %% on the release that the "+
			"stream begins with. There, meta takes %s steps to recover and gcn %s.", spread(at(once, "gcn", 1), 1), spread(start,
			1), spread(once.steps["meta"], 1), spread(once.steps["gcn"], 1)))
	row := func(t *Table, method string, measure int) bench.Interval {
		return t.Rows[slices.Index(msarsMethods, method)].Ours[measure]
	}
	r.find("On chains of unseen structure an FNN goes on as it was trained, a GCN adapts, and meta faster.",
		compareSteps(row(shapes, "meta", 5), row(shapes, "gcn", 5), row(shapes, "fnn", 5)),
		fmt.Sprintf("Steps to recover: meta %s, gcn %s, fnn %s; errors as trained %s, %s and %s %%.", spread(row(shapes, "meta", 5), 1),
			spread(row(shapes, "gcn", 5), 1), spread(row(shapes, "fnn", 5), 1), spread(row(shapes, "meta", 0),
				1), spread(row(shapes, "gcn", 0), 1), spread(row(shapes, "fnn", 0), 1)))
	r.find("Under violent change meta's predictions are highly accurate.", below(row(wild, "meta", 0), row(wild, "gcn", 0)),
		fmt.Sprintf("Criterion: its error is below gcn's: %s %% against %s %% (fnn %s %%).", spread(row(wild, "meta", 0), 1),
			spread(row(wild, "gcn", 0), 1), spread(row(wild, "fnn", 0), 1)))
}

// compareSteps holds if meta is below gcn and gcn below fnn, and partly if one of these is
// true.
func compareSteps(meta, gcn, fnn bench.Interval) Verdict {
	first, second := below(meta, gcn), below(gcn, fnn)
	switch {
	case first == Holds && second == Holds:
		return Holds
	case first == Holds || second == Holds:
		return Partly
	case first == Not && second == Not:
		return Not
	}
	return Undecided
}
