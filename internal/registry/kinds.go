package registry

import (
	"fmt"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/msars"
)

// entrant is a model of any kind that can be put in charge.
type entrant interface {
	formulation() string
	training() modelfile.Training
	trainedFor() string // name of the application
	fits(*loadline.App) error
	file([]modelfile.Result) (*modelfile.File, error) // completed with results
	about() about
}

// about is what a card says of a model.
type about struct {
	formulation, every string
	more               [][2]string // rows that others do not have
	features           []string
	meanings           map[string]string // of features, where env's are not meant
	absent             string            // what happens where one of them is not measured
	services           []string          // that it decides for, in words
}

// left is what most do where a feature is not measured.
const left = "the service is left as it is"

// open a model file of whichever kind it is.
func open(path string) (entrant, error) {
	file, err := modelfile.Open(path)
	if err != nil {
		return nil, err
	}
	return enter(path, file)
}

func enter(path string, file *modelfile.File) (m entrant, err error) {
	switch file.Card.Kind {
	case drpc.FileKind:
		var of *drpc.Model
		of, err = drpc.FromFile(file)
		m = school{of}
	case msars.FileKind:
		var of *msars.Model
		of, err = msars.FromFile(file)
		m = steered{of}
	case formulation.Kind:
		var of *formulation.Model
		of, err = formulation.FromFile(file)
		m = agent{of}
	default:
		return nil, fmt.Errorf("%s is a model of kind %q, which decides nothing in a cluster: give one that loadline train wrote (%s, %s or %s)", path, file.Card.Kind, formulation.Kind, drpc.FileKind, msars.FileKind)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Known is what is known of a model file before it is put in charge.
type Known struct {
	Kind        string // of the file
	Formulation string
	App         string // that it was trained for
	Results     []modelfile.Result
	fits        func(*loadline.App) error
}

// Look at a model file of whichever kind it is.
func Look(path string) (*Known, error) {
	file, err := modelfile.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := enter(path, file)
	if err != nil {
		return nil, err
	}
	return &Known{Kind: file.Card.Kind, Formulation: m.formulation(), App: m.trainedFor(), Results: file.Card.Results, fits: m.fits}, nil
}

// Fits says whether it can decide for an application, whatever that is called.
func (k *Known) Fits(app *loadline.App) error { return k.fits(app) }

// agent is a policy that was trained on a past.
type agent struct{ *formulation.Model }

func (m agent) formulation() string          { return m.Problem.Formulation }
func (m agent) training() modelfile.Training { return m.Training }
func (m agent) trainedFor() string           { return m.Training.Data }

func (m agent) fits(app *loadline.App) error {
	_, err := formulation.NewPolicy(m.Model, app)
	return err
}

func (m agent) file(results []modelfile.Result) (*modelfile.File, error) {
	whole := *m.Model
	whole.Results = results
	return whole.File()
}

func (m agent) about() about {
	form := m.Problem.Form()
	a := about{formulation: form.About, every: m.Problem.Period.String(), features: form.Features, absent: left}
	for _, brain := range m.Brains {
		if brain.Service == formulation.Every {
			a.services = append(a.services, "every service, with one network")
			continue
		}
		a.services = append(a.services, brain.Service)
	}
	return a
}

// school is a teacher with its students.
type school struct{ *drpc.Model }

func (m school) formulation() string          { return "drpc" }
func (m school) training() modelfile.Training { return m.Training }
func (m school) trainedFor() string           { return m.App }

func (m school) fits(app *loadline.App) error {
	_, err := drpc.NewPolicy(m.Model, app, drpc.Work{})
	return err
}

// file keeps what the school found beside what was found since.
func (m school) file(results []modelfile.Result) (*modelfile.File, error) {
	whole := *m.Model
	if len(results) > 0 {
		whole.Results = results
	}
	return whole.File()
}

func (m school) about() about {
	return about{
		formulation: "a teacher for the whole application, and a student for each service that decides alone",
		every:       fmt.Sprintf("%v to %v, each student at its own pace", m.Pace.Least, m.Pace.Most),
		features:    drpc.LocalFeatures[:], absent: left, services: m.Services,
	}
}
