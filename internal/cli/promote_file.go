package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/registry"
)

// unjudged is what is known of a file that no evaluation has seen.
const unjudged = "It was not held against a rule on a past."

// promoteFile puts the policy of a file in charge. The registry calls it by the name
// of the application that it was taught on.
func (f *promoteFlags) promoteFile(path string, r *registry.Registry, stdout io.Writer) error {
	if f.candidate != "" || f.prefer != "" {
		return usagef("--candidate and --prefer are for the folder of a run; %s is a file", path)
	}
	model, err := registry.Look(path)
	if err != nil {
		return err
	}
	if model.Kind == formulation.Kind {
		return fmt.Errorf("%s is a candidate of a run (%s): promote the run's folder, with --candidate", path, model.Kind)
	}
	name := f.app
	if name == "" {
		name = model.App
	}
	app, err := loadApp(name)
	if err != nil {
		if f.app == "" {
			return usagef("%s was taught on %s, of which nothing else is known: give --app with its file", path, model.App)
		}
		return err
	}
	if !f.force {
		return &notBetterError{unjudged, path, fmt.Sprintf("Try it (loadline simulate --policy %s:file=%s)", model.Formulation, path)}
	}
	if err := model.Fits(app.App); err != nil { // by the name that was given
		return fmt.Errorf("%s: %w", path, err)
	}
	app.App.Name = model.App
	p, err := r.Promote(registry.Offer{App: app.App, Model: path, Promotion: registry.Promotion{
		Candidate: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Verdict: unjudged, Forced: true,
		Results: model.Results, At: time.Now(), By: program(),
	}})
	if err != nil {
		return err
	}
	if f.output == "json" {
		return writeIndented(stdout, p)
	}
	return printPromoted(stdout, r, p)
}
