package registry

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/env"
)

// WriteCard writes what people should know of a version, as Markdown.
func (p *Promotion) WriteCard(w io.Writer, model *env.Model) error {
	var b strings.Builder
	form := model.Problem.Form()
	fmt.Fprintf(&b, "# %s, version %d: %s\n\n", p.App, p.Version, p.Candidate)
	fmt.Fprintf(&b, "%s\n\n", p.Verdict)
	if p.Forced {
		b.WriteString("**It was promoted by force: it does not beat the rule on the past that it was judged on.**\n\n")
	}
	fmt.Fprintf(&b, "| | |\n|---|---|\n")
	row := func(name, value string) { fmt.Fprintf(&b, "| %s | %s |\n", name, value) }
	row("formulation", form.About)
	row("decides every", model.Problem.Period.String())
	row("trained on", fmt.Sprintf("%s, from %s to %s", p.Training.Data, p.Training.From.UTC().Format("2006-01-02 15:04"), p.Training.To.UTC().Format("2006-01-02 15:04")))
	row("training", fmt.Sprintf("%d steps, seed %d, by %s", p.Training.Samples, p.Training.Seed, p.Training.By))
	row("promoted", fmt.Sprintf("%s by %s", p.At.UTC().Format("2006-01-02 15:04"), p.By))
	if p.Prefer != "" {
		row("preference", p.Prefer)
	}
	if p.Former > 0 {
		row("follows", fmt.Sprintf("version %d", p.Former))
	}
	row("model", fmt.Sprintf("%s, SHA-256 %s", modelFile, p.SHA256))
	b.WriteString("\n## How it did\n\n| measure | value | against | on |\n|---|---|---|---|\n")
	for _, r := range p.Results {
		against := "-"
		if r.Baseline != "" {
			against = fmt.Sprintf("%.4g (%s)", r.Against, r.Baseline)
		}
		fmt.Fprintf(&b, "| %s | %.4g | %s | %s |\n", r.Name, r.Value, against, r.On)
	}
	b.WriteString("\n## What it must be able to see\n\n| feature | meaning |\n|---|---|\n")
	known := env.Features()
	for _, name := range form.Features {
		about := ""
		if i := slices.IndexFunc(known, func(f env.Feature) bool { return f.Name == name }); i >= 0 {
			about = known[i].About
		}
		fmt.Fprintf(&b, "| %s | %s |\n", name, about)
	}
	b.WriteString("\nWhere one of them is not measured, the service is left as it is.\n\n## What it decides for\n\n")
	for _, brain := range model.Brains {
		if brain.Service == env.Every {
			b.WriteString("- every service, with one network\n")
			continue
		}
		fmt.Fprintf(&b, "- %s\n", brain.Service)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
