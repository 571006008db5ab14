package drpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
)

// FileKind of a model file that holds a teacher, its students and their forecasts.
const FileKind = "policy/drpc"

// Model is the result of a training: the teacher, a student and a forecaster for
// each service, and the settings of the training.
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
	Visits   *VisitCounts // states that the teacher visited in training
	Mix      Mix          // request mix of its training
	// Shares of the SLO that response times are compared with; nil = proportional ones.
	Shares *formulation.Shares

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
	Shares    *formulation.Shares        `json:"shares,omitempty"`
	Forecasts map[string]*modelfile.Card `json:"forecasts,omitempty"` // by service, their networks beside the others
}

const (
	teacherName = "teacher"
	seenArray   = "seen"
)

func studentName(i int) string { return fmt.Sprintf("student%d", i) }

// File is the model's file.
func (m *Model) File() (*modelfile.File, error) {
	s := modelSettings{
		App: m.App, Services: m.Services, Teacher: m.Kind, Shape: m.Shape, Period: m.Period, Version: m.Version,
		Pace: m.Pace, Steps: m.Steps, Reward: m.Reward, Notifier: m.Notifier, Mix: m.Mix, Shares: m.Shares,
	}
	file := modelfile.New(modelfile.Card{Kind: FileKind, Training: m.Training, Results: m.Results})
	for _, name := range LocalFeatures {
		file.Card.Features = append(file.Card.Features, modelfile.Feature{Name: name, Spread: 1})
	}
	file.Add(teacherName, m.Teacher)
	for i, net := range m.Students {
		file.Add(studentName(i), net)
	}
	var err error
	if s.Forecasts, err = forecast.Embed(file, m.Services, m.Forecasts); err != nil {
		return nil, err
	}
	if m.Visits != nil {
		file.Arrays[seenArray] = m.Visits.Table()
	}
	file.Card.Settings, err = json.Marshal(s)
	return file, err
}

// Write writes the model to a path atomically.
func (m *Model) Write(path string) error { return modelfile.Save(path, m.File) }

// Open reads a model from a path.
func Open(path string) (*Model, error) { return modelfile.Load(path, FromFile) }

// FromFile reads a model from its file.
func FromFile(file *modelfile.File) (*Model, error) {
	if file.Card.Kind != FileKind {
		return nil, fmt.Errorf("this is a model of kind %q, not of DRPC (%s); give a file that loadline train --formulation drpc wrote",
			file.Card.Kind, FileKind)
	}
	var s modelSettings
	if err := file.Card.TakeSettings(&s); err != nil {
		return nil, err
	}
	if err := s.check(file.Card.FeatureNames()); err != nil {
		return nil, fmt.Errorf("%w; it was trained by another version: train it again", err)
	}
	m := &Model{
		App: s.App, Services: s.Services, Kind: s.Teacher, Shape: s.Shape, Period: s.Period, Version: s.Version,
		Pace: s.Pace, Steps: s.Steps, Reward: s.Reward, Notifier: s.Notifier, Mix: s.Mix, Shares: s.Shares,
		Training: file.Card.Training, Results: file.Card.Results,
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
	}
	if m.Forecasts, err = forecast.Embedded(file, s.Services, s.Forecasts); err != nil {
		return nil, err
	}
	m.Visits = VisitCountsFrom(file.Arrays[seenArray])
	return m, nil
}

func sameLayer(a, b nn.Layer) bool {
	return a.Kind == b.Kind && a.Width == b.Width && a.Activation == b.Activation && slices.Equal(a.From, b.From)
}

func (s *modelSettings) check(features []string) error {
	var faults []error
	if !slices.Equal(features, LocalFeatures[:]) {
		faults = append(faults, fmt.Errorf("students were trained on the features %v, this version has %v", features, LocalFeatures))
	}
	if len(s.Services) == 0 {
		faults = append(faults, errors.New("it names no services"))
	}
	if !slices.Contains(Kinds(), s.Teacher) || !slices.Contains(Shapes(), s.Shape) {
		faults = append(faults, fmt.Errorf("its teacher is %q of shape %q, must be one of %v and %v", s.Teacher, s.Shape, Kinds(),
			Shapes()))
	}
	if s.Period < time.Second {
		faults = append(faults, fmt.Errorf("its period is %v, must be at least 1s", s.Period))
	}
	if !(s.Steps.CPU > 0 && s.Steps.Memory > 0) {
		faults = append(faults, fmt.Errorf("its steps are %+v, must be above 0", s.Steps))
	}
	return errors.Join(append(faults, s.Pace.Validate(), s.Notifier.Validate())...)
}
