package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim/pool"
)

// Scene is where policies are compared with each other: everything but the policy and the seed.
type Scene struct {
	Name         string // in tables: "boutique x10 bursty 4-core 70 %"; "" = without one
	App          App
	Workload     Workload
	Cluster      pool.Cluster // the zero value has the application's own nodes
	Perturbation string       // name; "" = none
	Begin        time.Time    // instant that the beginning of the workload stands for; zero = sim.Epoch
	// FromStart: the SLO is evaluated from the beginning, whatever Matrix.WarmUp is.
	FromStart bool
}

// scenes of the comparison: those that are listed, then all combinations of the lists.
func (m Matrix) scenes() []Scene {
	all := make([]Scene, 0, len(m.Scenes))
	for _, s := range m.Scenes {
		if s.Perturbation == "" {
			s.Perturbation = none
		}
		all = append(all, s)
	}
	perturbations := m.Perturbations
	if len(perturbations) == 0 {
		perturbations = []string{none}
	}
	for _, a := range m.Apps {
		for _, w := range m.Workloads {
			for _, p := range perturbations {
				all = append(all, Scene{App: a, Workload: w, Cluster: m.Cluster, Perturbation: p})
			}
		}
	}
	return all
}

// Shorter is the comparison with another length of every workload.
func (m Matrix) Shorter(d time.Duration) Matrix {
	m.Scenes, m.Workloads = slices.Clone(m.Scenes), slices.Clone(m.Workloads)
	for i := range m.Scenes {
		m.Scenes[i].Workload = m.Scenes[i].Workload.Shorter(d)
	}
	for i := range m.Workloads {
		m.Workloads[i] = m.Workloads[i].Shorter(d)
	}
	return m
}

// Choose keeps the listed scenes whose name contains every word of one of the texts.
func (m Matrix) Choose(texts []string) (Matrix, error) {
	var kept []Scene
	var names []string
	for _, s := range m.Scenes {
		names = append(names, s.Name)
		if slices.ContainsFunc(texts, func(text string) bool { return hasWords(s.Name, text) }) {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		if len(names) == 0 {
			return m, fmt.Errorf("scene %q: the comparison lists no scenes; choose by application and workload", strings.Join(texts, ", "))
		}
		return m, fmt.Errorf("no scene has all words of %q: the scenes are %s", strings.Join(texts, "\" or \""), strings.Join(names, "; "))
	}
	m.Scenes = kept
	return m, nil
}

func hasWords(name, text string) bool {
	words := strings.Fields(name)
	return !slices.ContainsFunc(strings.Fields(text), func(want string) bool { return !slices.Contains(words, want) })
}

// heading names the scene of a case.
func (c Case) heading() string {
	text := c.Scene
	if text == "" {
		text = fmt.Sprintf("%s, workload %s", c.App, c.Workload)
	}
	if c.Perturbation != none {
		text += ", perturbation " + c.Perturbation
	}
	return text
}

// scaledApp is an embedded application for a multiple of its usual load.
func scaledApp(name string, scale float64) (App, error) {
	a, err := LoadApp(name)
	if err != nil {
		return a, err
	}
	model, err := apps.Scale(a.Model, scale)
	if err != nil {
		return a, err
	}
	return App{Name: model.Name, Model: model}, nil
}
