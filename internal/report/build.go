package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
)

// Report is a bench, ready to be written.
type Report struct {
	Summary   Summary
	runs      []string // packed, by Run.Chunk
	scenarios []string // packed distributions, by scenario
}

// builder aggregates runs, row by row.
type builder struct {
	results *bench.Results
	report  *Report
	seeds   []map[uint64]figures  // by row
	latency []map[string]*buckets // by row, then kind
	chunk   map[string]int        // by key of a run
	runs    int
}

// figures of one run that are compared.
type figures struct{ cost, overSLO float64 }

func newBuilder(results *bench.Results) *builder {
	b := &builder{results: results, report: &Report{}, chunk: map[string]int{}}
	s := &b.report.Summary
	s.Suite, s.Baseline, s.Seeds, s.CountsIf = results.Suite, results.Baseline, results.Seeds, result.CountsIf
	s.Cost, s.Measures = costOf(results.Rows), measuresOf(results.Rows)
	for i := range results.Rows {
		row := &results.Rows[i]
		c := row.Case
		addOnce(&s.Engines, c.Engine)
		s.Rows = append(s.Rows, Row{
			Scenario: b.scenario(c), Policy: b.policy(c), Settings: c.Policy, Met: row.Met,
			Values: triples(row.Measures, s.Measures), Against: triples(row.Against, s.Measures),
		})
		s.Rows[i].OverBest = optional(row.OverOracle)
		s.Rows[i].Bound = optional(row.BoundCoreHours)
		if s.Cost == "bill" {
			s.Rows[i].Bound = optional(row.Bound)
		}
		b.seeds = append(b.seeds, map[uint64]figures{})
		b.latency = append(b.latency, map[string]*buckets{})
	}
	s.Curves = b.curves()
	addOnce(&s.Programs, results.Program)
	s.Perturbations = map[string]string{}
	for _, p := range bench.Perturbations() {
		s.Perturbations[p.Name] = p.About
	}
	return b
}

func addOnce(list *[]string, s string) {
	if !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

func (b *builder) scenario(c bench.Case) int {
	s := &b.report.Summary
	i := slices.IndexFunc(s.Scenarios, func(o Scenario) bool {
		return o.App == c.App && o.Workload == loadOf(c) && o.Perturbation == c.Perturbation && o.Engine == c.Engine
	})
	if i < 0 {
		i = len(s.Scenarios)
		s.Scenarios = append(s.Scenarios, Scenario{App: c.App, Workload: loadOf(c), Perturbation: c.Perturbation, Engine: c.Engine})
	}
	return i
}

// loadOf is the workload with the cluster that it runs in: of a listed scene, its name without the
// application and its scale.
func loadOf(c bench.Case) string {
	if words := strings.Fields(c.Scene); len(words) > 2 {
		return strings.Join(words[2:], " ")
	}
	if c.Cluster != "" {
		return c.Workload + ", " + c.Cluster
	}
	return c.Workload
}

func (b *builder) policy(c bench.Case) int {
	s := &b.report.Summary
	i := slices.IndexFunc(s.Policies, func(p Policy) bool { return p.Label == c.Label })
	if i < 0 {
		i = len(s.Policies)
		family, _, _ := strings.Cut(c.Policy, ":")
		s.Policies = append(s.Policies, Policy{Label: c.Label, Family: family, Reference: isOracle(family)})
	}
	return i
}

// isOracle reports whether a policy gets the load in advance.
func isOracle(name string) bool {
	m, err := policy.Named(name)
	return err == nil && m.Oracle
}

// run is the stored part of a record: its packed timeline, and its figures.
type run struct {
	key, program string
	seed         uint64
	bill         float64
	coreHours    float64
	overSLO      float64
	kinds        []Kind
	latency      map[string][]bench.Bucket
	story        string
}

func packRun(r *bench.Record) (*run, error) {
	story, err := storyOf(r)
	if err != nil {
		return nil, err
	}
	packed, err := pack(story)
	if err != nil {
		return nil, err
	}
	out := &run{
		key: r.Key, program: r.Program, seed: r.Seed, latency: r.Latency, story: packed,
		bill: float64(r.Result.Bill), coreHours: float64(r.Result.CoreHours), overSLO: float64(r.Result.Degraded()),
	}
	for _, k := range r.Result.Kinds {
		out.kinds = append(out.kinds, Kind{Name: k.Name, Percentile: k.SLO.Percentile, SLOMs: k.SLO.Latency})
	}
	return out, nil
}

func (b *builder) addRun(row int, r *run) error {
	if _, twice := b.seeds[row][r.seed]; twice {
		return fmt.Errorf("seed %d occurs twice", r.seed)
	}
	own := figures{r.coreHours, r.overSLO}
	if b.report.Summary.Cost == "bill" {
		own.cost = r.bill
	}
	b.seeds[row][r.seed] = own
	for kind, list := range r.latency {
		if b.latency[row][kind] == nil {
			b.latency[row][kind] = newBuckets()
		}
		if err := b.latency[row][kind].add(list); err != nil {
			return fmt.Errorf("latency of %s: %w", kind, err)
		}
	}
	s := &b.report.Summary
	addOnce(&s.Programs, r.program)
	if scenario := &s.Scenarios[s.Rows[row].Scenario]; scenario.Kinds == nil {
		scenario.Kinds = r.kinds
	}
	s.Rows[row].Runs = append(s.Rows[row].Runs, Run{
		ID: b.runs, Chunk: b.chunkOf(r), Seed: r.seed,
		Cost: significant(result.Number(own.cost), 5), OverSLO: significant(result.Number(own.overSLO), 5),
	})
	b.runs++
	return nil
}

func (b *builder) chunkOf(r *run) int {
	if _, found := b.chunk[r.key]; !found {
		b.chunk[r.key] = len(b.report.runs)
		b.report.runs = append(b.report.runs, r.story)
	}
	return b.chunk[r.key]
}

func (b *builder) finish() (*Report, error) {
	s := &b.report.Summary
	for scenario := range s.Scenarios {
		var rows []int
		for i := range s.Rows {
			if s.Rows[i].Scenario == scenario {
				rows = append(rows, i)
			}
		}
		b.markFront(rows)
		s.Verdicts = append(s.Verdicts, b.verdict(rows))
		packed, err := pack(b.survivals(rows))
		if err != nil {
			return nil, err
		}
		b.report.scenarios = append(b.report.scenarios, packed)
	}
	return b.report, nil
}

func triples(from map[string]bench.Interval, measures []Measure) map[string]triple {
	to := make(map[string]triple, len(measures))
	for _, m := range measures {
		if interval, found := from[m.Key]; found {
			to[m.Key] = tripleOf(interval)
		}
	}
	return to
}

func optional(i *bench.Interval) *triple {
	if i == nil || math.IsNaN(float64(i.Mean)) {
		return nil
	}
	t := tripleOf(*i)
	return &t
}

func tripleOf(i bench.Interval) triple {
	return triple{significant(i.Mean, 5), significant(i.Low, 5), significant(i.High, 5)}
}
