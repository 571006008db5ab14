package forecast

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/modelfile"
)

// gruKind is the kind of a GRU's model file.
const gruKind = "forecast/gru"

// gruSettings is the GRU's part of a model file.
type gruSettings struct {
	Task   Task          `json:"task"`
	Config GRUConfig     `json:"config"`
	Step   time.Duration `json:"step_ns"`
	Change []float64     `json:"change"` // see scaling
}

// File is the trained GRU as a model file. The name of the data comes from the caller; the rest
// is filled in.
func (m *GRU) File(data string, results []modelfile.Result) (*modelfile.File, error) {
	if len(m.nets) == 0 {
		return nil, errors.New("forecast: the GRU was not trained, and cannot be saved")
	}
	settings, err := json.Marshal(gruSettings{m.task, m.config, m.step, m.scale.Change})
	if err != nil {
		return nil, fmt.Errorf("forecast: settings of the GRU: %w", err)
	}
	card := modelfile.Card{
		Kind:     gruKind,
		Settings: settings,
		Training: modelfile.Training{Data: data, From: m.report.From, To: m.report.To, Samples: m.report.Windows, Seed: m.config.Seed},
		Results:  results,
	}
	for j, name := range m.names {
		card.Features = append(card.Features, modelfile.Feature{Name: name, Mean: m.scale.Mean[j], Spread: m.scale.Spread[j]})
	}
	file := modelfile.New(card)
	for i, net := range m.nets {
		file.Add(memberName(i), net)
	}
	return file, nil
}

func memberName(i int) string { return fmt.Sprintf("member%d", i+1) }

// LoadGRU is the fitted GRU of a model file: feed it the recent past with Forecaster.Replay. A
// file of another kind, or with a network that does not match its settings, is an error.
func LoadGRU(file *modelfile.File) (*GRU, error) {
	card := file.Card
	if card.Kind != gruKind {
		return nil, fmt.Errorf("forecast: the model is of kind %q, must be %q", card.Kind, gruKind)
	}
	var s gruSettings
	d := json.NewDecoder(bytes.NewReader(card.Settings))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("forecast: settings of the GRU: %w", err)
	}
	m, err := NewGRU(s.Task, s.Config)
	if err != nil {
		return nil, err
	}
	if err := m.takeScale(card.Features, s); err != nil {
		return nil, err
	}
	for i := range m.config.Members {
		net, err := file.Net(memberName(i))
		if err != nil {
			return nil, fmt.Errorf("forecast: %w", err)
		}
		if want := m.design(); !reflect.DeepEqual(net.Design(), want) {
			return nil, fmt.Errorf("forecast: network %s does not suit the settings of the file", memberName(i))
		}
		m.nets = append(m.nets, net)
	}
	if len(card.Networks) != m.config.Members {
		return nil, fmt.Errorf("forecast: the file has %d networks, its settings say %d", len(card.Networks), m.config.Members)
	}
	m.report = GRUReport{Windows: card.Training.Samples, From: card.Training.From, To: card.Training.To}
	return m, nil
}

func (m *GRU) takeScale(features []modelfile.Feature, s gruSettings) error {
	bad := func(v float64) bool { return !(v > 0) || math.IsInf(v, 0) }
	if len(features) == 0 || len(s.Change) != len(m.task.Horizons) || slices.ContainsFunc(s.Change, bad) || s.Step <= 0 {
		return fmt.Errorf("forecast: a GRU of %d series, step %v and %d changes for %d horizons: must have a series, a step above 0 "+
			"and a change above 0 for each horizon",
			len(features), s.Step, len(s.Change), len(m.task.Horizons))
	}
	m.step, m.series = s.Step, len(features)
	m.scale = scaling{Change: slices.Clone(s.Change)}
	for _, f := range features {
		if bad(f.Spread) {
			return fmt.Errorf("forecast: series %s has a spread of %v, must be above 0", f.Name, f.Spread)
		}
		m.names = append(m.names, f.Name)
		m.scale.Mean, m.scale.Spread = append(m.scale.Mean, f.Mean), append(m.scale.Spread, f.Spread)
	}
	return nil
}

// Names are the series of the GRU, in order; the first is the target.
func (m *GRU) Names() []string { return slices.Clone(m.names) }

// Step is the length of the bins that it was trained on.
func (m *GRU) Step() time.Duration { return m.step }

// Task is its task.
func (m *GRU) Task() Task { return m.task }

func (m *GRU) taughtUntil() time.Time { return m.report.To }

// suits rejects other series than those of the training.
func (m *GRU) suits(f Frame) error {
	if !slices.Equal(f.Names, m.names) || f.Step != m.step {
		return fmt.Errorf("forecast: the model takes %q in bins of %v, not %q in bins of %v", m.names, m.step, f.Names, f.Step)
	}
	return nil
}
