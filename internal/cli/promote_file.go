package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/registry"
)

// unjudged is the verdict on a file that was not evaluated.
const unjudged = "It was not evaluated against a baseline on held-out history."

// promoteFile promotes the policy of a file, under the name of the application that it was
// trained for.
func (f *promoteFlags) promoteFile(path string, r *registry.Registry, stdout io.Writer) error {
	if f.candidate != "" {
		return Usagef("--candidate is for the folder of a run; %s is a file", path)
	}
	if run := filepath.Dir(filepath.Dir(path)); filepath.Base(filepath.Dir(path)) == pipeline.CandidatesDir {
		if _, err := os.Stat(filepath.Join(run, pipeline.RunFile)); err == nil {
			return Usagef("%s is a candidate of a run: promote the run's folder, %s, with --candidate", path, run)
		}
	}
	model, err := policy.OpenModel(path)
	if err != nil {
		return err
	}
	reader, err := policy.ReaderOf(model)
	if err != nil {
		return err
	}
	name := f.app
	if name == "" {
		name = model.TrainedFor()
	}
	app, err := loadApp(name)
	if err != nil {
		if f.app == "" {
			return Usagef("%s was trained for %s, whose model is not known: give --app with its file", path, model.TrainedFor())
		}
		return err
	}
	if !f.force {
		return &notBetterError{unjudged, path, fmt.Sprintf("Try it (loadline simulate --policy %s)", reader.Spec(path, "")), exitUndecided}
	}
	if _, err := model.Policy(app.App); err != nil { // by the name that was given
		return fmt.Errorf("%s: %w", path, err)
	}
	app.App.Name = model.TrainedFor()
	p, err := r.Promote(registry.Offer{App: app.App, Model: path, Promotion: registry.Promotion{
		Candidate: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Verdict: unjudged, Forced: true,
		At: time.Now(), By: Build(),
	}})
	if err != nil {
		return err
	}
	if f.output.Structured() {
		return f.output.Encode(stdout, p)
	}
	return printPromoted(stdout, r, p, "")
}
