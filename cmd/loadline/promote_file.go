package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/drpc"
	"github.com/loadline/loadline/internal/env"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/msars"
	"github.com/loadline/loadline/internal/registry"
)

// unjudged is what is known of a file that no evaluation has seen.
const unjudged = "It was not held against a rule on a past."

// lone is a policy that is one file, and not of a run.
type lone struct {
	policy  string // name, as --policy takes it
	app     string // that it was taught on
	results []modelfile.Result
	fits    func(*loadline.App) error
}

// openLone reads one of whichever kind it is.
func openLone(path string) (lone, error) {
	file, err := modelfile.Open(path)
	if err != nil {
		return lone{}, err
	}
	switch kind := file.Card.Kind; kind {
	case drpc.FileKind:
		m, err := drpc.FromFile(file)
		if err != nil {
			return lone{}, fmt.Errorf("%s: %w", path, err)
		}
		return lone{"drpc", m.App, m.Results, func(app *loadline.App) error {
			_, err := drpc.NewPolicy(m, app, drpc.Work{})
			return err
		}}, nil
	case msars.FileKind:
		m, err := msars.FromFile(file)
		if err != nil {
			return lone{}, fmt.Errorf("%s: %w", path, err)
		}
		return lone{"msars", m.App, m.Results, func(app *loadline.App) error {
			_, err := msars.NewPolicy(m, app, 0)
			return err
		}}, nil
	case env.Kind:
		return lone{}, fmt.Errorf("%s is a candidate of a run (%s): promote the run's folder, with --candidate", path, kind)
	default:
		return lone{}, fmt.Errorf("%s is a model of kind %q, which is not promoted: give one that loadline train --formulation drpc or msars wrote (%s, %s)", path, kind, drpc.FileKind, msars.FileKind)
	}
}

// promoteFile puts the policy of a file in charge. The registry calls it by the name
// of the application that it was taught on.
func (f *promoteFlags) promoteFile(path string, r *registry.Registry, stdout io.Writer) error {
	if f.candidate != "" || f.prefer != "" {
		return usagef("--candidate and --prefer are for the folder of a run; %s is a file", path)
	}
	model, err := openLone(path)
	if err != nil {
		return err
	}
	name := f.app
	if name == "" {
		name = model.app
	}
	app, err := loadApp(name)
	if err != nil {
		if f.app == "" {
			return usagef("%s was taught on %s, of which nothing else is known: give --app with its file", path, model.app)
		}
		return err
	}
	if !f.force {
		return &notBetterError{unjudged, path, fmt.Sprintf("Try it (loadline simulate --policy %s:file=%s)", model.policy, path)}
	}
	if err := model.fits(app.App); err != nil { // by the name that was given
		return fmt.Errorf("%s: %w", path, err)
	}
	app.App.Name = model.app
	p, err := r.Promote(registry.Offer{App: app.App, Model: path, Promotion: registry.Promotion{
		Candidate: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Verdict: unjudged, Forced: true,
		Results: model.results, At: time.Now(), By: program(),
	}})
	if err != nil {
		return err
	}
	if f.output == "json" {
		return writeIndented(stdout, p)
	}
	return printPromoted(stdout, r, p)
}
