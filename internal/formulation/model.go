package formulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
)

// Kind of a model file that holds a policy of this package.
const Kind = "policy/dqn"

// Every is the service name of a network that serves all.
const Every = "*"

// Model is a trained policy: the problem and one network for all services, or one for
// each.
type Model struct {
	Problem  *Problem
	Networks []Network

	Training modelfile.Training
	Results  []modelfile.Result
}

// Network is a network that values the moves of one service, or of all.
type Network struct {
	Service string // Every = all that have none of their own
	Scales  []Scale
	Net     *nn.Net
}

// Scale is how a feature is normalised: (value - Mean)/Spread.
type Scale struct {
	Mean   float64 `json:"mean"`
	Spread float64 `json:"spread"`
}

// Apply normalises values in place.
func Apply(scales []Scale, values []float32) {
	for i := range values {
		values[i] = float32((float64(values[i]) - scales[i].Mean) / scales[i].Spread)
	}
}

// modelSettings are what the file keeps besides networks and features.
type modelSettings struct {
	Problem  *Problem          `json:"problem"`
	Networks []networkSettings `json:"brains"`
}

type networkSettings struct {
	Service string  `json:"service"`
	Network string  `json:"network"`
	Scales  []Scale `json:"scales"`
}

// File is the model as stored on disk.
func (m *Model) File() (*modelfile.File, error) {
	card := modelfile.Card{Kind: Kind, Networks: map[string]nn.Design{}, Training: m.Training, Results: m.Results}
	settings := modelSettings{Problem: m.Problem}
	for i, b := range m.Networks {
		name := fmt.Sprintf("brain%d", i)
		card.Networks[name] = b.Net.Design()
		settings.Networks = append(settings.Networks, networkSettings{b.Service, name, b.Scales})
	}
	// Of several networks each has its own scales, in the settings.
	for i, name := range m.Problem.form.Features {
		f := modelfile.Feature{Name: name, Mean: 0, Spread: 1}
		if len(m.Networks) == 1 {
			f.Mean, f.Spread = m.Networks[0].Scales[i].Mean, m.Networks[0].Scales[i].Spread
		}
		card.Features = append(card.Features, f)
	}
	var err error
	if card.Settings, err = json.Marshal(settings); err != nil {
		return nil, err
	}
	file := modelfile.New(card)
	for i, b := range m.Networks {
		file.Add(settings.Networks[i].Network, b.Net)
	}
	return file, nil
}

// Write stores the model at a path atomically.
func (m *Model) Write(path string) error { return modelfile.Save(path, m.File) }

// Open reads a model from a path.
func Open(path string) (*Model, error) { return modelfile.Load(path, FromFile) }

// FromFile reads a model from its file.
func FromFile(file *modelfile.File) (*Model, error) {
	if file.Card.Kind != Kind {
		return nil, fmt.Errorf("this is a model of kind %q, not a policy (%s); give a file that loadline train wrote", file.Card.Kind,
			Kind)
	}
	var s modelSettings
	if err := file.Card.TakeSettings(&s); err != nil {
		return nil, err
	}
	if s.Problem == nil || len(s.Networks) == 0 {
		return nil, errors.New("it has no problem or no networks; train it again")
	}
	s.Problem.Formulation = NameNow(s.Problem.Formulation)
	if err := s.Problem.resolve(); err != nil {
		return nil, fmt.Errorf("%w; it was trained by another version: train it again", err)
	}
	m := &Model{Problem: s.Problem, Training: file.Card.Training, Results: file.Card.Results}
	names := file.Card.FeatureNames()
	if _, err := featuresNamed(names); err != nil {
		return nil, err
	}
	if !slices.Equal(names, s.Problem.form.Features) {
		return nil, fmt.Errorf("it was trained on the features %v, %s has %v now; train it again", names, s.Problem.Formulation,
			s.Problem.form.Features)
	}
	for _, b := range s.Networks {
		net, err := file.Net(b.Network)
		if err != nil {
			return nil, err
		}
		if err := b.check(s.Problem.form, net); err != nil {
			return nil, fmt.Errorf("network %s for service %s: %w; train it again", b.Network, b.Service, err)
		}
		m.Networks = append(m.Networks, Network{b.Service, b.Scales, net})
	}
	return m, nil
}

func (b *networkSettings) check(form *Formulation, net *nn.Net) error {
	if len(b.Scales) != len(form.Features) {
		return fmt.Errorf("it has %d scales for %d features", len(b.Scales), len(form.Features))
	}
	for i, s := range b.Scales {
		if !(s.Spread > 0) || math.IsInf(s.Spread, 0) || math.IsNaN(s.Mean) || math.IsInf(s.Mean, 0) {
			return fmt.Errorf("the scale of %s is %v, must have a spread above 0", form.Features[i], s)
		}
	}
	inputs := 0
	for _, l := range net.Design().Layers {
		switch l.Kind {
		case nn.KindInput:
			inputs += l.Width
		case nn.KindSequence, nn.KindNodes:
			return fmt.Errorf("it reads a %s, which features are not", l.Kind)
		}
	}
	if inputs != len(form.Features) {
		return fmt.Errorf("it has %d inputs for %d features", inputs, len(form.Features))
	}
	if net.Outputs() != len(form.Moves) {
		return fmt.Errorf("it has %d outputs for %d moves", net.Outputs(), len(form.Moves))
	}
	return nil
}
