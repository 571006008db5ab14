package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/modelfile"
)

// Model is a trained model of any method.
type Model interface {
	// Method it was trained by.
	Method() string
	// TrainedFor is the name of the application.
	TrainedFor() string
	// Policy that decides for an application in a cluster; an error if the model does not fit
	// the application.
	Policy(app *loadline.App) (loadline.Policy, error)
	// File of the model, with the given results; nil = its own.
	File(results []modelfile.Result) (*modelfile.File, error)
	// About describes it, for its card.
	About() About
}

// About is the content of a model's card.
type About struct {
	Formulation string      // of the problem that it solves, in words
	Every       string      // how often it decides
	More        [][2]string // additional rows
	Features    []string
	Meanings    map[string]string // of features, where formulation.Features is not meant
	Absent      string            // what happens if one of them is not measured
	Services    []string          // that it decides for, in words
	// OnPaths are the services with a part of an objective: for them it must be known which
	// requests visit them.
	OnPaths []string
}

// leftAsIs is what most models do if a feature is not measured.
const leftAsIs = "the service is left as it is"

// ReadModel reads a model of any method from its file.
func ReadModel(file *modelfile.File) (Model, error) {
	readers := methodsThat(Method.ReadsFile)
	i := slices.IndexFunc(readers, func(m Method) bool { return m.Kind == file.Card.Kind })
	if i < 0 {
		kinds := make([]string, len(readers))
		for i, m := range readers {
			kinds[i] = m.Kind
		}
		return nil, fmt.Errorf("it is a model of kind %q, which decides nothing in a cluster: give one that loadline train wrote (%s)",
			file.Card.Kind, strings.Join(kinds, ", "))
	}
	m, err := readers[i].Open(file)
	if err != nil {
		return nil, err // and not a method's wrapper of nothing
	}
	return m, nil
}

// OpenModel reads a model file of any method.
func OpenModel(path string) (Model, error) { return modelfile.Load(path, ReadModel) }

// ReaderOf is the method whose policies read a model.
func ReaderOf(m Model) (Method, error) {
	method, err := find(m.Method())
	if err == nil && method.ReadBy != "" {
		return find(method.ReadBy)
	}
	return method, err
}
