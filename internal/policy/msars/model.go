package msars

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/slosplit/learned"
)

// FileKind of a model file with an agent and its inputs.
const FileKind = "policy/msars"

// Model is the result of a training: the agent, the splitting network, its profiles, and a
// forecaster for each service.
type Model struct {
	App      string
	Services []string

	Actor     *nn.Net
	Division  Division
	Period    time.Duration // between decisions
	Steps     drpc.Steps
	Reward    drpc.Reward
	Forecasts []*forecast.GRU // by service; nil = none

	Training modelfile.Training
	Results  []modelfile.Result
}

// modelSettings are what the file keeps besides networks.
type modelSettings struct {
	App       string                     `json:"app"`
	Services  []string                   `json:"services"`
	Way       string                     `json:"way"`
	Factors   map[string]float64         `json:"factors,omitempty"`
	Profiles  *profile.Set               `json:"profiles,omitempty"`
	Split     *modelfile.Card            `json:"split,omitempty"` // its network is beside the others
	Period    time.Duration              `json:"period_ns"`
	Steps     drpc.Steps                 `json:"steps"`
	Reward    drpc.Reward                `json:"reward"`
	Forecasts map[string]*modelfile.Card `json:"forecasts,omitempty"` // by service
}

const (
	actorName   = "actor"
	splitPrefix = "split-"
)

// featureNames are the features of a service, without those shared by all.
func featureNames() []string {
	names := slices.Clone(drpc.LocalFeatures[:])
	for _, f := range Features {
		names = append(names, f.Name)
	}
	return names
}

// File is the model's file.
func (m *Model) File() (*modelfile.File, error) {
	d := &m.Division
	s := modelSettings{
		App: m.App, Services: m.Services, Way: d.Way, Factors: d.Factors, Profiles: d.Profiles,
		Period: m.Period, Steps: m.Steps, Reward: m.Reward,
	}
	file := modelfile.New(modelfile.Card{Kind: FileKind, Training: m.Training, Results: m.Results})
	for _, name := range featureNames() {
		file.Card.Features = append(file.Card.Features, modelfile.Feature{Name: name, Spread: 1})
	}
	file.Add(actorName, m.Actor)
	if d.Net != nil {
		own, err := d.Net.File()
		if err == nil {
			s.Split, err = file.Embed(splitPrefix, own)
		}
		if err != nil {
			return nil, fmt.Errorf("the network that splits: %w", err)
		}
	}
	var err error
	if s.Forecasts, err = forecast.Embed(file, m.Services, m.Forecasts); err != nil {
		return nil, err
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
		return nil, fmt.Errorf("this is a model of kind %q, not of MSARS (%s); give a file that loadline train "+
			"--formulation msars wrote", file.Card.Kind, FileKind)
	}
	var s modelSettings
	if err := file.Card.TakeKnownSettings(&s); err != nil {
		return nil, err
	}
	if err := s.check(file.Card.FeatureNames()); err != nil {
		return nil, fmt.Errorf("%w; it was trained by another version: train it again", err)
	}
	m := &Model{
		App: s.App, Services: s.Services, Division: Division{Way: s.Way, Profiles: s.Profiles,
			Factors: s.Factors}, Period: s.Period, Steps: s.Steps, Reward: s.Reward,
		Training: file.Card.Training, Results: file.Card.Results,
	}
	var err error
	if m.Actor, err = file.Net(actorName); err != nil {
		return nil, err
	}
	if s.Split != nil {
		own, err := file.Embedded(splitPrefix, s.Split)
		if err == nil {
			m.Division.Net, err = learned.FromFile(own)
		}
		if err != nil {
			return nil, fmt.Errorf("the network that splits: %w", err)
		}
	}
	m.Forecasts, err = forecast.Embedded(file, s.Services, s.Forecasts)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (s *modelSettings) check(features []string) error {
	faults := []error{CheckWay(s.Way)}
	if !slices.Equal(features, featureNames()) {
		faults = append(faults, fmt.Errorf("its agent was trained on the features %v, this version has %v", features, featureNames()))
	}
	if len(s.Services) == 0 {
		faults = append(faults, errors.New("it names no services"))
	}
	if s.Period < time.Second {
		faults = append(faults, fmt.Errorf("its period is %v, must be at least 1s", s.Period))
	}
	if !(s.Steps.CPU > 0 && s.Steps.Memory > 0) {
		faults = append(faults, fmt.Errorf("its steps are %+v, must be above 0", s.Steps))
	}
	if s.Profiles != nil {
		for i := range s.Profiles.Profiles {
			faults = append(faults, s.Profiles.Profiles[i].Validate())
		}
	}
	for kind, f := range s.Factors {
		if !(f > 0) {
			faults = append(faults, fmt.Errorf("the parts of %s may sum to %v times its SLO, must be above 0", kind, f))
		}
	}
	return errors.Join(faults...)
}
