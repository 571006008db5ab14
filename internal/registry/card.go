package registry

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy"
)

// writeCard writes the model card of a version, as Markdown.
func (p *Promotion) writeCard(w io.Writer, model policy.Model) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, version %d: %s\n\n", p.App, p.Version, p.Candidate)
	fmt.Fprintf(&b, "%s\n\n", p.Verdict)
	if p.Forced {
		b.WriteString("**Promoted with --force: it does not beat the baseline on the held-out history.**\n\n")
	}
	fmt.Fprintf(&b, "| | |\n|---|---|\n")
	row := func(name, value string) { fmt.Fprintf(&b, "| %s | %s |\n", name, value) }
	if model == nil {
		row("policy", p.Policy+", which needs no training")
	} else {
		about := model.About()
		row("formulation", about.Formulation)
		row("decides every", about.Every)
		for _, r := range about.More {
			row(r[0], r[1])
		}
		row("trained on", trainedOn(p.Training))
		row("training", fmt.Sprintf("%d steps, seed %d, by %s", p.Training.Samples, p.Training.Seed, p.Training.By))
	}
	row("promoted", fmt.Sprintf("%s by %s", p.At.UTC().Format("2006-01-02 15:04"), p.By))
	if p.Prefer != "" {
		row("preference", p.Prefer)
	}
	if p.Former > 0 {
		row("follows", fmt.Sprintf("version %d", p.Former))
	}
	if model != nil {
		row("model", fmt.Sprintf("%s, SHA-256 %s", modelFile, p.SHA256))
	}
	b.WriteString("\n## Results\n\n| measure | value | against | on |\n|---|---|---|---|\n")
	for _, r := range p.Results {
		against := "-"
		if r.Baseline != "" {
			against = fmt.Sprintf("%.4g (%s)", r.Against, r.Baseline)
		}
		fmt.Fprintf(&b, "| %s | %.4g | %s | %s |\n", r.Name, r.Value, against, r.On)
	}
	if model != nil {
		writeFeatures(&b, model.About())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeFeatures lists what a model sees, and the services that it decides for.
func writeFeatures(b *strings.Builder, about policy.About) {
	b.WriteString("\n## Features\n\n| feature | meaning |\n|---|---|\n")
	known := formulation.Features()
	for _, name := range about.Features {
		text := about.Meanings[name]
		if i := slices.IndexFunc(known, func(f formulation.Feature) bool { return f.Name == name }); i >= 0 && text == "" {
			text = known[i].About
		}
		fmt.Fprintf(b, "| %s | %s |\n", name, text)
	}
	fmt.Fprintf(b, "\nWhere one of them is not measured, %s.\n\n## Services\n\n", about.Absent)
	for _, service := range about.Services {
		fmt.Fprintf(b, "- %s\n", service)
	}
}

// trainedOn names the history with its beginning and end, or what was simulated.
func trainedOn(t modelfile.Training) string {
	if t.From.IsZero() && t.To.IsZero() {
		return t.Data
	}
	return fmt.Sprintf("%s, from %s to %s", t.Data, t.From.UTC().Format("2006-01-02 15:04"), t.To.UTC().Format("2006-01-02 15:04"))
}
