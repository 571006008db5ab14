package rivals

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/modelfile"
)

// FileKind is the kind of a rival's model file.
func FileKind(n Name) string { return "policy/" + string(n) }

// fileSettings is the content of the file besides networks and arrays.
type fileSettings struct {
	App       string                     `json:"app"`
	Services  []string                   `json:"services"`
	Period    time.Duration              `json:"period_ns"`
	Kinds     int                        `json:"kinds,omitempty"`
	SVM       *SVM                       `json:"svm,omitempty"`
	ARIMA     []Fits                     `json:"arima,omitempty"`
	Forecasts map[string]*modelfile.Card `json:"forecasts,omitempty"` // by service; their networks are among the others
}

const (
	tableArray = "table"
	triedArray = "tried"
)

func actorName(i int) string { return fmt.Sprintf("actor%d", i) }

// File is the model as stored on disk.
func (m *Model) File() (*modelfile.File, error) {
	s := fileSettings{App: m.App, Services: m.Services, Period: m.Period, Kinds: m.Kinds, SVM: m.SVM, ARIMA: m.ARIMA}
	file := modelfile.New(modelfile.Card{Kind: FileKind(m.Rival), Training: m.Training, Results: m.Results})
	if m.Table.Values != nil {
		file.Arrays[tableArray], file.Arrays[triedArray] = m.Table.Values, m.Table.Tried
	}
	for i, net := range m.Actors {
		file.Add(actorName(i), net)
	}
	var err error
	if s.Forecasts, err = forecast.Embed(file, m.Services, m.GRUs); err != nil {
		return nil, err
	}
	file.Card.Settings, err = json.Marshal(s)
	return file, err
}

// Write stores the model at a path atomically.
func (m *Model) Write(path string) error { return modelfile.Save(path, m.File) }

// Open reads a rival's model from a path.
func Open(rival Name, path string) (*Model, error) {
	return modelfile.Load(path, func(file *modelfile.File) (*Model, error) { return FromFile(rival, file) })
}

// FromFile reads a rival's model from its file.
func FromFile(rival Name, file *modelfile.File) (*Model, error) {
	if file.Card.Kind != FileKind(rival) {
		return nil, fmt.Errorf("this is a model of kind %q, must be %q; give a file that loadline-lab train --formulation %s wrote",
			file.Card.Kind, FileKind(rival), rival)
	}
	var s fileSettings
	if err := file.Card.TakeSettings(&s); err != nil {
		return nil, err
	}
	m := &Model{
		Rival: rival, App: s.App, Services: s.Services, Period: s.Period, Kinds: s.Kinds, SVM: s.SVM, ARIMA: s.ARIMA,
		Training: file.Card.Training, Results: file.Card.Results,
	}
	m.Table = Table{file.Arrays[tableArray], file.Arrays[triedArray]}
	for i := range s.Services {
		if _, there := file.Card.Networks[actorName(i)]; there {
			net, err := file.Net(actorName(i))
			if err != nil {
				return nil, err
			}
			m.Actors = append(m.Actors, net)
		}
	}
	if len(s.Forecasts) > 0 {
		var err error
		if m.GRUs, err = forecast.Embedded(file, s.Services, s.Forecasts); err != nil {
			return nil, err
		}
	}
	return m, m.check()
}
