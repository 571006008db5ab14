package pipeline

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/shard"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/workload"
)

// EvaluationSettings configure an evaluation.
type EvaluationSettings struct {
	Prefer    Preference
	Candidate string        // to judge instead of the chosen one; "" = choose
	Rules     bool          // judge rules alone, without candidates
	Seeds     int           // runs of each deployment on each stretch at the first look; 0 = 3
	Today     string        // the autoscaler that the user runs; "" = the subject's, or HPA at its defaults
	Objects   Objects       // that Today was read from; none = it is given, or the subject's
	Baselines []string      // in the notation of bench; none = DefaultBaselines
	Axes      []string      // that all deployments may change; none = Horizontal
	MaxChurn  float64       // how many times as often as today's a promoted deployment may change something; 0 = 2
	Stretch   time.Duration // 0 = an hour
	// Cluster is where everything is judged; the zero value has the twin's own nodes.
	Cluster pool.Cluster
	// NeighboursGiven: those of the cluster are the user's, also if there are none. Otherwise they
	// are as the history shows, or not known.
	NeighboursGiven bool

	Program  string
	Workers  int
	Shard    shard.Part           // as in bench.Options
	Redo     bool                 // repeat what another version made
	CPUTime  func() time.Duration // of the calling thread; may be nil
	Progress func(share float64)  // may be nil
	Log      func(line string)    // may be nil
}

// Defaults of an evaluation.
const (
	DefaultSeeds    = 3
	DefaultMaxChurn = 2
)

func (j EvaluationSettings) withDefaults() EvaluationSettings {
	if j.Seeds == 0 {
		j.Seeds = DefaultSeeds
	}
	if len(j.Axes) == 0 {
		j.Axes = []string{guard.Horizontal}
	}
	if len(j.Baselines) == 0 {
		j.Baselines = DefaultBaselines(j.Axes)
	}
	if j.Stretch == 0 {
		j.Stretch = DefaultStretch
	}
	if j.Prefer == "" {
		j.Prefer = PreferCost
	}
	if j.MaxChurn == 0 {
		j.MaxChurn = DefaultMaxChurn
	}
	if j.Progress == nil {
		j.Progress = func(float64) {}
	}
	return j
}

// proof is an evaluation in progress.
type proof struct {
	EvaluationSettings
	folder     *Folder
	candidates []Outcome
	evaluation *Evaluation

	rules      []bench.Policy // baselines, calibrated
	calibrated []string       // their labels
	choice     bench.Policy   // the candidate that is judged
}

// Evaluate chooses a candidate on the second part of a run's history and judges its deployment
// against those of baselines on the third: in the event engine on stretches that stand for all of
// it, and in the fluid engine over all of it. Interrupted, it keeps the finished runs, and the same
// call resumes from there; finished, the same call returns the same.
func Evaluate(ctx context.Context, f *Folder, j EvaluationSettings) (*Evaluation, error) {
	j = j.known(f)
	if err := j.Prefer.Check(); err != nil {
		return nil, err
	}
	var candidates []Outcome
	if !j.Rules {
		var err error
		if candidates, err = f.Trained(); err != nil {
			return nil, err
		}
	}
	if err := j.checkCandidate(candidates); err != nil {
		return nil, err
	}
	settings := j.settings(f, candidates)
	if done := f.finished(settings, j.Program); done != nil && !j.Redo {
		return done, nil
	}
	p := &proof{EvaluationSettings: j, folder: f, candidates: candidates, evaluation: j.begin(f, settings)}
	if reason := f.refusal(candidates); reason != "" {
		p.evaluation.Verdict = refused(reason)
		return p.evaluation, p.evaluation.write(f.Dir)
	}
	if err := p.selection(ctx); err != nil {
		return nil, err
	}
	var err error
	if p.evaluation.Earlier, err = f.open(settings); err != nil {
		return nil, err
	}
	if err := p.judge(ctx); err != nil {
		return nil, err
	}
	return p.evaluation, p.evaluation.write(f.Dir)
}

// begin an evaluation: all that is known without a run.
func (j EvaluationSettings) begin(f *Folder, s Settings) *Evaluation {
	e := &Evaluation{
		app: f.App, knowledge: f.Subject.Knowledge, Conditions: []Condition{},
		Format: RunFormat, Program: j.Program, App: f.App.Name, Digest: f.Subject.Digest, Settings: s, Prefer: j.Prefer,
		Currency: j.Cluster.Prices.WithDefaults().Currency, Prices: j.Cluster.Prices.WithDefaults(), Own: result.Number(ownCost(j.Cluster.Prices)),
		Earlier: []Opening{}, Assumptions: []string{}, Entries: []Entry{}, Stretches: []EvaluatedStretch{}, ByPods: []string{},
	}
	for _, k := range f.App.Kinds {
		e.Objective = append(e.Objective, fmt.Sprintf("%s: %g %% within %v", k.Name, k.SLO.Percentile, k.SLO.Latency))
	}
	if f.Subject.AssumedObjective {
		e.Assumptions = append(e.Assumptions, "The objective is assumed, not yours: set it with loadline train --objective.")
	}
	if o := f.Origin; o != nil {
		e.Assumptions = append(e.Assumptions, fmt.Sprintf("The candidates are those that were trained on an earlier history, %s to %s.",
			stamp(o.Seen.From), stamp(o.Seen.To)))
	}
	e.Assumptions = append(e.Assumptions, j.todayAssumed(f)...)
	e.Assumptions = append(e.Assumptions, j.nodesAssumed(&f.Subject.Knowledge))
	if text := f.Subject.Knowledge.twinAssumed(); text != "" {
		e.Assumptions = append(e.Assumptions, text)
	}
	if len(j.Cluster.Pools) == 0 {
		prices := j.Cluster.Prices.WithDefaults()
		e.Assumptions = append(e.Assumptions, fmt.Sprintf("Cores and GiB are paid at %g and %g %s an hour; --pool and --prices set yours.",
			prices.CoreHour, prices.GiBHour, prices.Currency))
	}
	return e
}

func (j EvaluationSettings) checkCandidate(candidates []Outcome) error {
	var names []string
	for _, c := range candidates {
		names = append(names, c.Name)
	}
	if j.Candidate != "" && !slices.Contains(names, j.Candidate) {
		return fmt.Errorf("unknown candidate %q%s", j.Candidate, suggest.Hint(j.Candidate, names))
	}
	return nil
}

// refusal is why nothing can be concluded from a run; "" = it can.
func (f *Folder) refusal(candidates []Outcome) string {
	if g := f.Subject.Guessed; len(g) > 0 {
		return fmt.Sprintf("too much of the history is guessed (%s): any saving would follow from the guesses. To decide, %s", joined(g, 3),
			ToMeasure)
	}
	if r := f.Subject.Replaced; len(r) > 0 {
		return fmt.Sprintf("the candidates were trained for a release that is gone (%s). To decide, %s", joined(r, 3), ToTrainAgain)
	}
	for _, c := range candidates {
		if m, err := policy.OpenModel(f.ModelPath(c.Name)); err == nil && m.TrainedFor() != f.Subject.Name {
			return fmt.Sprintf("candidate %s was trained for %s, this is %s: train one on the history of this application", c.Name,
				m.TrainedFor(), f.Subject.Name)
		}
	}
	return ""
}

// CheckBaselines reports faults of the axes and the baselines without running anything.
func (j EvaluationSettings) CheckBaselines(f *Folder) error {
	j = j.known(f)
	p := &proof{EvaluationSettings: j, folder: f}
	load := f.HeldOut
	m, err := p.matrix(comparison{
		on: []Stretch{{Name: wholeStretch, Load: load}}, policies: j.baselines(f), seeds: 1, length: min(j.Stretch, load.Duration()),
		calibration: []Stretch{{Load: load}},
	})
	if err == nil {
		_, err = m.Check("")
	}
	return err
}

// comparison is a set of runs.
type comparison struct {
	dir         string // within the run's folder
	engine      string // "" = event
	on          []Stretch
	length      time.Duration
	policies    []bench.Policy
	seeds       int
	calibration []Stretch  // that rules are calibrated on
	floors      string     // that they may have
	share       [2]float64 // of the progress, from and to

	from  time.Time   // when the part begins
	under []Condition // in each of which all is run; none = as fitted
	// levels of neighbours at which rules are calibrated, as in bench.Matrix.
	levels []float64
}

func (p *proof) matrix(c comparison) (bench.Matrix, error) {
	m := bench.Matrix{
		Suite: "evaluation of " + p.folder.Subject.Name, Seeds: c.seeds, WarmUp: leadOf(c.length), Policies: c.policies, Engine: c.engine,
		Neighbours: append([]float64{}, c.levels...), Margin: reserve, Floors: c.floors,
	}
	given := bench.Given{}
	for _, s := range c.calibration {
		given.Validation, given.Begins = append(given.Validation, s.Load), append(given.Begins, c.from.Add(s.From))
	}
	// Not today's: a limit in its terms would rise with each rule that is adopted.
	m.Churn = &bench.Churn{Than: "hpa", Times: p.MaxChurn, AtLeast: aHandful}
	if len(c.policies) > 0 {
		m.Baseline = c.policies[0].Label
	}
	under := c.under
	if len(under) == 0 {
		under = []Condition{{}}
	}
	for i := range under {
		for _, s := range c.on {
			app, cluster := p.on(&under[i], c.from.Add(s.From))
			app, err := sizedFor(app, s.Load, leadOf(c.length))
			if err != nil {
				return m, err
			}
			m.Scenes = append(m.Scenes, bench.Scene{
				Name: under[i].scene(s), App: bench.App{Name: app.Name, Model: app}, Cluster: cluster, Begin: c.from.Add(s.From),
				Workload: bench.Workload{Name: s.Name, Given: &bench.Given{Test: s.Load, Validation: given.Validation, Begins: given.Begins}},
			})
		}
	}
	return m, nil
}

// run makes the runs that are missing and sums up each deployment.
func (p *proof) run(ctx context.Context, c comparison) ([]Entry, error) {
	results, err := p.results(ctx, c)
	if err != nil {
		return nil, err
	}
	return p.summed(c, results.Rows)
}

// results of all runs; those that are missing are made.
func (p *proof) results(ctx context.Context, c comparison) (*bench.Results, error) {
	matrix, err := p.matrix(c)
	if err != nil {
		return nil, err
	}
	return bench.Run(ctx, matrix, bench.Options{
		Dir: filepath.Join(p.folder.Dir, c.dir), Program: p.Program, Workers: p.Workers, Redo: p.Redo, Shard: p.Shard, CPUTime: p.CPUTime, Log: p.Log,
		Progress: func(b bench.Progress) { p.Progress(c.share[0] + (c.share[1]-c.share[0])*b.Share) },
	})
}

// summed are the deployments over these rows.
func (p *proof) summed(c comparison, rows []bench.Row) ([]Entry, error) {
	dir := filepath.Join(p.folder.Dir, c.dir)
	of := part{app: p.folder.App, on: p.Cluster, lead: leadOf(c.length).Hours(), weights: map[string]float64{}}
	for _, s := range c.on {
		of.weights[s.Name] = s.Weight
	}
	var all []Entry
	for _, d := range c.policies {
		e := p.entry(d)
		for i := range rows {
			if row := &rows[i]; row.Case.Label == d.Label {
				if err := e.add(dir, row, of); err != nil {
					return nil, err
				}
			}
		}
		e.weigh(of)
		all = append(all, e)
	}
	return all, nil
}

// entry of a deployment, without figures.
func (p *proof) entry(d bench.Policy) Entry {
	e := Entry{Label: d.Label, Role: RoleBaseline, Calibrated: d.Calibrated || slices.Contains(p.calibrated, d.Label),
		SLORatio: result.Number(nan), SLO: Unclear, Stretches: []Figures{}}
	if isOracle(d.Spec) {
		e.Role = RoleReference
	}
	if i := slices.IndexFunc(p.candidates, func(c Outcome) bool { return c.Name == d.Label }); i >= 0 {
		e.Role, e.Method, e.SHA256 = RoleCandidate, p.candidates[i].Method, p.candidates[i].SHA256
	}
	return e
}

// sizedFor is the application with the replicas that serve the load of a stretch's lead at half of
// their capacity: the initial state of every run there.
func sizedFor(app *loadline.App, w *workload.Workload, lead time.Duration) (*loadline.App, error) {
	load, err := w.For(app)
	if err != nil {
		return nil, err
	}
	sums, bins := make([]float64, len(app.Kinds)), 0.0
	for t := time.Duration(0); t < min(max(lead, w.Step), w.Duration()); t += w.Step {
		for k := range sums {
			rate, _ := load.Rate(k, t)
			sums[k] += rate
		}
		bins++
	}
	for k := range sums {
		sums[k] /= bins
	}
	return apps.SizedFor(app, sums, 0.5), nil
}

// evaluated are stretches as they are reported.
func evaluated(on []Stretch, from time.Time) []EvaluatedStretch {
	var all []EvaluatedStretch
	for _, s := range on {
		all = append(all, EvaluatedStretch{s.Name, from.Add(s.From), from.Add(s.To), result.Number(s.Load.Mean()),
			result.Number(s.Load.Max()), result.Number(s.Weight)})
	}
	return all
}
