package rivals

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/modelfile"
)

// FileKind of a rival's model file.
func FileKind(n Name) string { return "policy/" + string(n) }

// fileSettings are what the file keeps besides networks and arrays.
type fileSettings struct {
	App       string                     `json:"app"`
	Services  []string                   `json:"services"`
	Period    time.Duration              `json:"period_ns"`
	Kinds     int                        `json:"kinds,omitempty"`
	SVM       *SVM                       `json:"svm,omitempty"`
	ARIMA     []Fits                     `json:"arima,omitempty"`
	Forecasts map[string]*modelfile.Card `json:"forecasts,omitempty"` // by service, their networks beside the others
}

const (
	tableArray = "table"
	triedArray = "tried"
)

func actorName(i int) string    { return fmt.Sprintf("actor%d", i) }
func forecastName(i int) string { return fmt.Sprintf("forecast%d-", i) }

// File is the model as it is kept on disk.
func (m *Model) File() (*modelfile.File, error) {
	s := fileSettings{App: m.App, Services: m.Services, Period: m.Period, Kinds: m.Kinds, SVM: m.SVM, ARIMA: m.ARIMA, Forecasts: map[string]*modelfile.Card{}}
	file := modelfile.New(modelfile.Card{Kind: FileKind(m.Rival), Training: m.Training, Results: m.Results})
	if m.Table.Values != nil {
		file.Arrays[tableArray], file.Arrays[triedArray] = m.Table.Values, m.Table.Tried
	}
	for i, net := range m.Actors {
		file.Add(actorName(i), net)
	}
	for i, gru := range m.GRUs {
		if gru == nil {
			continue
		}
		own, err := gru.File(m.Services[i], nil)
		if err != nil {
			return nil, fmt.Errorf("forecaster of %s: %w", m.Services[i], err)
		}
		for name := range own.Card.Networks {
			net, err := own.Net(name)
			if err != nil {
				return nil, fmt.Errorf("forecaster of %s: %w", m.Services[i], err)
			}
			file.Add(forecastName(i)+name, net)
		}
		card := own.Card
		card.Networks = nil
		s.Forecasts[m.Services[i]] = &card
	}
	var err error
	file.Card.Settings, err = json.Marshal(s)
	return file, err
}

// Write keeps the model at a path: whole, or not at all.
func (m *Model) Write(path string) error {
	file, err := m.File()
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return file.Write(path)
}

// Open reads a rival's model from a path.
func Open(rival Name, path string) (*Model, error) {
	file, err := modelfile.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := FromFile(rival, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// FromFile takes a rival's model out of its file, or says what is wrong with it.
func FromFile(rival Name, file *modelfile.File) (*Model, error) {
	if file.Card.Kind != FileKind(rival) {
		return nil, fmt.Errorf("this is a model of kind %q, must be %q; give a file that loadline train --formulation %s wrote", file.Card.Kind, FileKind(rival), rival)
	}
	var s fileSettings
	if err := json.Unmarshal(file.Card.Settings, &s); err != nil {
		return nil, fmt.Errorf("its settings cannot be read: %w; train it again", err)
	}
	m := &Model{
		Rival: rival, App: s.App, Services: s.Services, Period: s.Period, Kinds: s.Kinds, SVM: s.SVM, ARIMA: s.ARIMA,
		Training: file.Card.Training, Results: file.Card.Results,
	}
	m.Table = Table{file.Arrays[tableArray], file.Arrays[triedArray]}
	for i, service := range s.Services {
		if _, there := file.Card.Networks[actorName(i)]; there {
			net, err := file.Net(actorName(i))
			if err != nil {
				return nil, err
			}
			m.Actors = append(m.Actors, net)
		}
		var gru *forecast.GRU
		if card := s.Forecasts[service]; card != nil {
			var err error
			if gru, err = forecasterFrom(file, *card, forecastName(i)); err != nil {
				return nil, fmt.Errorf("forecaster of %s: %w", service, err)
			}
		}
		if len(s.Forecasts) > 0 {
			m.GRUs = append(m.GRUs, gru)
		}
	}
	return m, m.check()
}

// forecasterFrom puts a forecaster's own file together again.
func forecasterFrom(file *modelfile.File, card modelfile.Card, prefix string) (*forecast.GRU, error) {
	own := modelfile.New(card)
	for name := range file.Card.Networks {
		short, ours := strings.CutPrefix(name, prefix)
		if !ours {
			continue
		}
		net, err := file.Net(name)
		if err != nil {
			return nil, err
		}
		own.Add(short, net)
	}
	return forecast.LoadGRU(own)
}
