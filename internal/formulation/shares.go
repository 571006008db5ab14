package formulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/suggest"
)

// Shares is how the users' SLO was divided among the services of an application:
// loadline slo split --out writes it as a file. Given to a topology, they take the place
// of budgets in proportion. A model that was trained with them holds them too, since
// its features mean something else with others.
type Shares struct {
	App      string  `json:"app"`
	Way      string  `json:"way"`  // how it was divided
	Rate     float64 `json:"rate"` // requests per second that it was divided for
	Services []Share `json:"services"`
}

// Share is one service's part.
type Share struct {
	Service    string  `json:"service"`
	Percentile float64 `json:"percentile"`
	Latency    float64 `json:"with_calls_seconds"` // that a visit may take, its calls included
}

// Write the shares as JSON.
func (s *Shares) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(s)
}

// ReadShares reads what Write wrote, and checks it. The name is for errors.
func ReadShares(r io.Reader, name string) (*Shares, error) {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	var s Shares
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("%s holds no shares as loadline slo split --out writes them: %w", name, err)
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &s, nil
}

// Validate says what is wrong, all of it.
func (s *Shares) Validate() error {
	var faults []error
	if len(s.Services) == 0 {
		faults = append(faults, errors.New("services is empty: there are no shares"))
	}
	for i, of := range s.Services {
		if !(of.Percentile > 0 && of.Percentile < 100) || !(of.Latency > 0) || math.IsInf(of.Latency, 0) {
			faults = append(faults, fmt.Errorf("services[%d], %s: p%v within %v s: the percentile must be between 0 and 100, the "+
				"time above 0", i, of.Service, of.Percentile, of.Latency))
		}
		if slices.ContainsFunc(s.Services[:i], func(other Share) bool { return other.Service == of.Service }) {
			faults = append(faults, fmt.Errorf("services[%d], %s, has a share already", i, of.Service))
		}
	}
	return errors.Join(faults...)
}

// For says which services of an application have shares of these, and refuses shares of
// services that it does not have: they are another application's.
func (s *Shares) For(app *loadline.App) error {
	names := make([]string, len(app.Services))
	for i := range app.Services {
		names[i] = app.Services[i].Name
	}
	var faults []error
	for _, of := range s.Services {
		if !slices.Contains(names, of.Service) {
			faults = append(faults, fmt.Errorf("the shares are for %s: %s has no service %q%s", s.App, app.Name, of.Service,
				suggest.Hint(of.Service, names)))
		}
	}
	return errors.Join(faults...)
}

// With is the topology with budgets by shares; services without one keep theirs. Without
// shares it is the topology itself. Shares of services that the application lacks are
// left alone: it may be one service taken out of its application.
func (g *Topology) With(s *Shares) *Topology {
	if s == nil {
		return g
	}
	with := &Topology{App: g.App, Services: slices.Clone(g.Services)}
	for _, of := range s.Services {
		if i := g.App.ServiceIndex(of.Service); i >= 0 {
			with.Services[i].Budget = loadline.SLO{Percentile: of.Percentile, Latency: time.Duration(of.Latency * float64(time.Second))}
		}
	}
	return with
}

// Partial is each service's budget, as a situation carries them.
func (g *Topology) Partial() []loadline.SLO {
	list := make([]loadline.SLO, len(g.Services))
	for i := range list {
		list[i] = g.Services[i].Budget
	}
	return list
}
