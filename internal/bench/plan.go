package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/loadline/loadline/internal/result"
)

// visitsPerSecond of the event engine on one core, including decisions and what is written: about
// four million events.
const visitsPerSecond = 1.2e6

// Plan is the estimated work of a comparison.
type Plan struct {
	Suite    string        `json:"suite,omitempty"`
	Policies []string      `json:"policies"`
	Seeds    int           `json:"seeds"`
	Scenes   []ScenePlan   `json:"scenes"`
	LeftOut  []string      `json:"left_out,omitempty"` // workloads whose trace is not available
	Runs     int           `json:"runs"`
	RunsS    result.Number `json:"runs_core_s"`        // core-seconds of all runs
	PrepareS result.Number `json:"preparation_core_s"` // of calibrations and searches; trainings are not estimated
}

// ScenePlan is one scene of a plan.
type ScenePlan struct {
	Scene    string        `json:"scene"`
	Requests result.Number `json:"requests"`   // of one run
	RunS     result.Number `json:"run_core_s"` // core-seconds of one run
}

// Plan estimates the work without running anything.
func (m Matrix) Plan(data string) (*Plan, error) {
	m = m.withDefaults()
	if err := m.check(); err != nil {
		return nil, err
	}
	cells, leftOut, err := m.cells(data)
	if err != nil {
		return nil, err
	}
	jobs := m.jobs(cells)
	p := &Plan{Suite: m.Suite, Seeds: m.Seeds, LeftOut: leftOut, Runs: len(jobs)}
	for _, policy := range m.Policies {
		p.Policies = append(p.Policies, policy.Label)
	}
	for _, c := range cells {
		run := c.cost(m.Engine) / visitsPerSecond
		p.Scenes = append(p.Scenes, ScenePlan{c.name(), result.Number(c.loads[0].Requests()), result.Number(run)})
		p.RunsS += result.Number(run * float64(len(m.Policies)*m.Seeds))
		for _, policy := range m.Policies {
			if policy.needsSearch() {
				p.PrepareS += result.Number(costOfForesight * run)
			}
		}
	}
	r := &runner{matrix: m}
	preparations, _, err := r.preparations(jobs)
	if err != nil {
		return nil, err
	}
	for _, prep := range preparations {
		if prep.train == nil {
			p.PrepareS += result.Number(prep.cost / visitsPerSecond)
		}
	}
	return p, nil
}

// name of the cell's scene, or its parts.
func (c *cell) name() string {
	if c.scene != "" {
		return c.scene
	}
	parts := []string{c.app.Name, c.workload}
	if c.perturbation != none {
		parts = append(parts, c.perturbation)
	}
	return strings.Join(parts, " ")
}

// WriteText writes a table.
func (p *Plan) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SCENE\tREQUESTS\tCORE-SECONDS A RUN")
	for _, s := range p.Scenes {
		fmt.Fprintf(t, "%s\t%.0f\t%.1f\n", s.Scene, float64(s.Requests), float64(s.RunS))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, name := range p.LeftOut {
		fmt.Fprintf(w, "workload %s is left out: its trace is not available\n", name)
	}
	_, err := fmt.Fprintf(w, "%d policies (%s), %d seeds, %d runs: about %.0f core-minutes, and %.0f for calibrations and searches.\n",
		len(p.Policies), strings.Join(p.Policies, ", "), p.Seeds, p.Runs, float64(p.RunsS)/60, float64(p.PrepareS)/60)
	return err
}
