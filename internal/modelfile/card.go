package modelfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/nn"
)

// Card describes the model of a file.
type Card struct {
	Kind     string               `json:"kind"` // which reader it needs: "forecast/gru", "policy/dqn"
	Networks map[string]nn.Design `json:"networks"`
	Features []Feature            `json:"features,omitempty"`
	Settings json.RawMessage      `json:"settings,omitempty"` // of the kind, checked by its reader
	Training Training             `json:"training"`
	Results  []Result             `json:"results,omitempty"`
}

// Feature is an input by its name, and how it is normalised: (value -
// Mean)/Spread.
type Feature struct {
	Name   string  `json:"name"`
	Mean   float64 `json:"mean"`
	Spread float64 `json:"spread"`
}

// Training is the origin of a model.
type Training struct {
	Data    string    `json:"data"` // what it was trained on
	From    time.Time `json:"from,omitzero"`
	To      time.Time `json:"to,omitzero"`
	Samples int       `json:"samples,omitempty"`
	Seed    uint64    `json:"seed"`
	By      string    `json:"by,omitempty"` // the version that trained it
}

// Result is one measurement of a model, with a baseline for comparison.
type Result struct {
	Name     string  `json:"name"` // "MSE, 10m ahead"
	On       string  `json:"on"`   // "test, 38h"
	Value    float64 `json:"value"`
	Baseline string  `json:"baseline,omitempty"` // "persistence"
	Against  float64 `json:"against,omitempty"`  // the baseline's value
}

// Validate reports every fault at once.
func (c Card) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Kind == "" {
		fault("kind is empty, must say what reads the model")
	}
	for _, name := range sortedKeys(c.Networks) {
		if !plainName(name) || name == arrayPrefix {
			fault("network name %q must be letters, digits, - and _, and not %q", name, arrayPrefix)
		}
		if err := checkDesign(c.Networks[name]); err != nil {
			fault("network %s: %w", name, err)
		}
	}
	for _, f := range c.Features {
		if f.Name == "" || !finite(f.Mean) || !finite(f.Spread) || f.Spread == 0 {
			fault("feature %q has mean %v and spread %v, must have a name and finite numbers, spread not 0", f.Name, f.Mean, f.Spread)
		}
	}
	for _, r := range c.Results {
		if !finite(r.Value) || !finite(r.Against) {
			fault("result %q is %v against %v, must be finite", r.Name, r.Value, r.Against)
		}
	}
	return errors.Join(faults...)
}

// Architectures describes the networks, those of one shape together.
func (c Card) Architectures() []string {
	named := map[string][]string{}
	for _, name := range sortedKeys(c.Networks) {
		var layers []string
		for _, l := range c.Networks[name].Layers {
			text := fmt.Sprintf("%s %d", l.Kind, l.Width)
			if l.Activation != nn.Identity {
				text += " " + l.Activation.String()
			}
			layers = append(layers, text)
		}
		shape := strings.Join(layers, ", ")
		named[shape] = append(named[shape], name)
	}
	var lines []string
	for shape, names := range named {
		lines = append(lines, strings.Join(names, ", ")+": "+shape)
	}
	slices.Sort(lines)
	return lines
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

const plainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

func plainName(name string) bool {
	return name != "" && strings.Trim(name, plainLetters) == "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune(plainLetters, r)
	})
}

// Limits of a file.
const (
	mostLayers = 1000
	mostWidth  = 1 << 16
)

// checkDesign also bounds the design: building it must not exhaust memory.
func checkDesign(d nn.Design) error {
	if len(d.Layers) > mostLayers {
		return fmt.Errorf("has %d layers, must be at most %d", len(d.Layers), mostLayers)
	}
	for i, l := range d.Layers {
		if l.Width > mostWidth || len(l.From) > mostLayers {
			return fmt.Errorf("layer %d is %d wide and takes from %d layers, must be at most %d and %d", i, l.Width, len(l.From),
				mostWidth, mostLayers)
		}
	}
	return d.Validate()
}

// leastWeights is a lower bound of a design's parameters, without building it; the rest are
// biases.
func leastWeights(d nn.Design) int {
	const gates = 3
	sum := 0
	for _, l := range d.Layers {
		inputs := 0
		for _, from := range l.From {
			inputs += d.Layers[from].Width
		}
		switch l.Kind {
		case nn.KindDense:
			sum += inputs * l.Width
		case nn.KindGRU:
			sum += gates * l.Width * (inputs + l.Width)
		}
	}
	return sum
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
