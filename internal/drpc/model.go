package drpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/env"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
)

// FileKind of a model file that holds a teacher, its students and their forecasts.
const FileKind = "policy/drpc"

// Model is what a school gives out: the teacher, a student and a forecaster for
// each service, and what they were taught.
type Model struct {
	App      string
	Services []string

	Kind    Kind
	Shape   Shape
	Teacher *nn.Net
	Period  time.Duration // of the teacher's decisions

	Students  []*nn.Net       // by service
	Forecasts []*forecast.GRU // by service; nil = none
	Version   uint64          // of the students' weights

	Pace     Pace
	Steps    Steps
	Reward   Reward
	Notifier NotifierConfig
	Seen     *Seen // states that the teacher has practised in
	Mix      Mix   // of requests that it has practised on
	// Shares of the SLO that response times were judged by; nil = in proportion.
	Shares *env.Shares

	Training modelfile.Training
	Results  []modelfile.Result
}

// modelSettings are what the file keeps besides networks.
type modelSettings struct {
	App       string                     `json:"app"`
	Services  []string                   `json:"services"`
	Teacher   Kind                       `json:"teacher"`
	Shape     Shape                      `json:"shape"`
	Period    time.Duration              `json:"period_ns"`
	Version   uint64                     `json:"version"`
	Pace      Pace                       `json:"pace"`
	Steps     Steps                      `json:"steps"`
	Reward    Reward                     `json:"reward"`
	Notifier  NotifierConfig             `json:"notifier"`
	Mix       Mix                        `json:"mix,omitempty"`
	Shares    *env.Shares                `json:"shares,omitempty"`
	Forecasts map[string]*modelfile.Card `json:"forecasts,omitempty"` // by service, their networks beside the others
}

const (
	teacherName = "teacher"
	seenArray   = "seen"
)

func studentName(i int) string  { return fmt.Sprintf("student%d", i) }
func forecastName(i int) string { return fmt.Sprintf("forecast%d-", i) }

// File is the model as it is kept on disk.
func (m *Model) File() (*modelfile.File, error) {
	s := modelSettings{
		App: m.App, Services: m.Services, Teacher: m.Kind, Shape: m.Shape, Period: m.Period, Version: m.Version,
		Pace: m.Pace, Steps: m.Steps, Reward: m.Reward, Notifier: m.Notifier, Mix: m.Mix, Shares: m.Shares, Forecasts: map[string]*modelfile.Card{},
	}
	file := modelfile.New(modelfile.Card{Kind: FileKind, Training: m.Training, Results: m.Results})
	for _, name := range LocalFeatures {
		file.Card.Features = append(file.Card.Features, modelfile.Feature{Name: name, Spread: 1})
	}
	file.Add(teacherName, m.Teacher)
	for i, net := range m.Students {
		file.Add(studentName(i), net)
	}
	for i, gru := range m.Forecasts {
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
	if m.Seen != nil {
		file.Arrays[seenArray] = m.Seen.Table()
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

// Open reads a model from a path.
func Open(path string) (*Model, error) {
	file, err := modelfile.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := FromFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// FromFile takes a model out of its file, or says what is wrong with it.
func FromFile(file *modelfile.File) (*Model, error) {
	if file.Card.Kind != FileKind {
		return nil, fmt.Errorf("this is a model of kind %q, not of DRPC (%s); give a file that loadline train --formulation drpc wrote", file.Card.Kind, FileKind)
	}
	var s modelSettings
	if err := json.Unmarshal(file.Card.Settings, &s); err != nil {
		return nil, fmt.Errorf("its settings cannot be read: %w; train it again", err)
	}
	if err := s.check(file.Card.Features); err != nil {
		return nil, fmt.Errorf("%w; it was trained by another version: train it again", err)
	}
	m := &Model{
		App: s.App, Services: s.Services, Kind: s.Teacher, Shape: s.Shape, Period: s.Period, Version: s.Version,
		Pace: s.Pace, Steps: s.Steps, Reward: s.Reward, Notifier: s.Notifier, Mix: s.Mix, Shares: s.Shares,
		Forecasts: make([]*forecast.GRU, len(s.Services)), Training: file.Card.Training, Results: file.Card.Results,
	}
	var err error
	if m.Teacher, err = file.Net(teacherName); err != nil {
		return nil, err
	}
	want := nn.Student()
	for i, service := range s.Services {
		net, err := file.Net(studentName(i))
		if err != nil {
			return nil, err
		}
		if !slices.EqualFunc(net.Design().Layers, want.Layers, sameLayer) {
			return nil, fmt.Errorf("the student of %s has another architecture than students have; train it again", service)
		}
		m.Students = append(m.Students, net)
		if card := s.Forecasts[service]; card != nil {
			if m.Forecasts[i], err = forecasterFrom(file, *card, forecastName(i)); err != nil {
				return nil, fmt.Errorf("forecaster of %s: %w", service, err)
			}
		}
	}
	m.Seen = SeenFrom(file.Arrays[seenArray])
	return m, nil
}

func sameLayer(a, b nn.Layer) bool {
	return a.Kind == b.Kind && a.Width == b.Width && a.Activation == b.Activation && slices.Equal(a.From, b.From)
}

func (s *modelSettings) check(features []modelfile.Feature) error {
	var faults []error
	names := make([]string, len(features))
	for i, f := range features {
		names[i] = f.Name
	}
	if !slices.Equal(names, LocalFeatures[:]) {
		faults = append(faults, fmt.Errorf("students were taught the features %v, they see %v now", names, LocalFeatures))
	}
	if len(s.Services) == 0 {
		faults = append(faults, errors.New("it names no services"))
	}
	if !slices.Contains(Kinds(), s.Teacher) || !slices.Contains(Shapes(), s.Shape) {
		faults = append(faults, fmt.Errorf("its teacher is %q of shape %q, must be one of %v and %v", s.Teacher, s.Shape, Kinds(), Shapes()))
	}
	if s.Period < time.Second {
		faults = append(faults, fmt.Errorf("its period is %v, must be at least 1s", s.Period))
	}
	if !(s.Steps.CPU > 0 && s.Steps.Memory > 0) {
		faults = append(faults, fmt.Errorf("its steps are %+v, must be above 0", s.Steps))
	}
	return errors.Join(append(faults, s.Pace.Validate(), s.Notifier.Validate())...)
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
