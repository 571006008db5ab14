package learned

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"

	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/slosplit"
	"github.com/loadline/loadline/internal/suggest"
)

// Ways lists the learned splitters by name.
func Ways() []string { return []string{"meta", "gcn", "fnn"} }

// Model is a trained splitter. It is safe for concurrent use.
type Model struct {
	Way      string
	Settings Settings
	Training modelfile.Training
	Results  []modelfile.Result

	scales scales
	net    *nn.Net
	work   sync.Pool // of *splitWork
}

// Settings of a network and of its adaptation, stored with it.
type Settings struct {
	Sight  Sight   `json:"sight"`
	Hidden int     `json:"hidden"` // width of its layers
	Steps  int     `json:"steps"`  // gradient steps to adapt; for meta, the number it was trained for
	Rate   float64 `json:"rate"`   // of them
	// Traits is how many numbers the context of a service has.
	Traits int `json:"traits,omitempty"`
	// Rates as learned, by block of weights and then by trait; empty = Rate for all.
	Rates []float64 `json:"rates,omitempty"`
	// Keep is the momentum.
	Keep float64 `json:"keep,omitempty"`
	// Context of the chain that the model has adapted to, service by service.
	Context []float32 `json:"context,omitempty"`
}

// splitWork is the memory of one split.
type splitWork struct {
	view  view
	one   example
	batch batch
	list  []*example
	parts []float32
	logit []float32
	wide  []float64
	ctx   *nn.Context
}

func newModel(way string, settings Settings, s scales, net *nn.Net) *Model {
	m := &Model{Way: way, Settings: settings, scales: s, net: net}
	m.work.New = func() any { return &splitWork{view: view{sight: settings.Sight}, ctx: net.NewContext()} }
	return m
}

// Split splits the chain: one pass through the network.
func (m *Model) Split(c *slosplit.Chain) (slosplit.Shares, error) {
	w := m.work.Get().(*splitWork)
	defer m.work.Put(w)
	if err := w.view.look(c); err != nil {
		return nil, err
	}
	n := len(c.Steps)
	if m.Way == "fnn" && n > fnnMost {
		return nil, fmt.Errorf("chain of %s has %d services, an FNN takes at most %d; split it by gcn or meta", c.Kind, n, fnnMost)
	}
	graph, err := nn.NewGraph(n, calls(c))
	if err != nil {
		return nil, fmt.Errorf("chain of %s: %w", c.Kind, err)
	}
	m.scales.apply(&w.view)
	w.one = example{nodes: w.view.nodes, global: w.view.global, labels: sized(w.one.labels, n)}
	w.list = append(w.list[:0], &w.one)
	w.batch.fill(m.Way == "fnn", m.Settings.Traits, graph, w.list)
	w.parts, w.logit, w.wide = sized(w.parts, n), sized(w.logit, n), sized(w.wide, n)
	w.batch.combine(w.logit, w.batch.forward(w.ctx), m.context(n))
	softmax(w.parts, w.logit)
	sum := 0.0
	for _, p := range w.parts {
		sum += float64(p)
	}
	for i, p := range w.parts {
		w.wide[i] = float64(p) / sum
	}
	return w.view.shares(c, w.wide), nil
}

// context for a chain of the given number of steps; nil if the model is not adapted to one.
func (m *Model) context(steps int) []float32 {
	if c := m.Settings.Context; len(c) > 0 && len(c) == steps*m.Settings.Traits {
		return c
	}
	return nil
}

// Adapt returns the model after some steps of gradient descent on samples of one chain; 0 steps
// means the number in its settings. Several rates are tried and the best on the samples is
// used; if none improves the loss, the result is the model itself. The receiver is not changed.
func (m *Model) Adapt(samples []Sample, steps int) (*Model, error) {
	if steps == 0 {
		steps = m.Settings.Steps
	}
	of, err := m.scales.prepareTask("", samples, nil)
	if err != nil {
		return nil, fmt.Errorf("adapt: %w", err)
	}
	if len(of.train) == 0 {
		return m, nil // no slack, nothing to learn
	}
	l := newLearner(m.Way, m.Settings.Traits, m.net.Clone())
	l.meet(of.graph.Nodes())
	best, least := m, l.forward(of, of.train)
	in := m.inner(of.graph.Nodes())
	batches := slices.Repeat([][]*example{of.train}, steps)
	for range adaptTries {
		l.descend(of, batches, in)
		if loss := l.forward(of, of.train); loss < least && nn.Finite(l.net.Params()) && nn.Finite(l.context) {
			best, least = m.after(l), loss
		}
		l.set(l.loop.path[0])
		for i := range in.rates {
			in.rates[i] /= 4
		}
	}
	return best, nil
}

// adaptTries is how many rates are tried, from those of the training down: on a chain unlike
// the training data these may diverge.
const adaptTries = 4

// after is the model with a learner's parameters.
func (m *Model) after(l *learner) *Model {
	settings := m.Settings
	settings.Context = slices.Clone(l.context)
	adapted := newModel(m.Way, settings, m.scales, l.net.Clone())
	adapted.Training, adapted.Results = m.Training, m.Results
	return adapted
}

// inner loop for adapting to a chain of the given number of steps.
func (m *Model) inner(steps int) inner {
	blocks := blocksOf(m.net.Design())
	rates := m.Settings.Rates
	if len(rates) == 0 {
		rates = slices.Repeat([]float64{m.Settings.Rate}, len(blocks)+m.Settings.Traits)
	}
	return inner{spread(blocks, rates, steps), float32(m.Settings.Keep)}
}

// kind of a model file.
func kind(way string) string { return "slosplit/" + way }

// File is the model's file.
func (m *Model) File() (*modelfile.File, error) {
	settings, err := json.Marshal(m.Settings)
	if err != nil {
		return nil, fmt.Errorf("settings of %s: %w", m.Way, err)
	}
	file := modelfile.New(modelfile.Card{Kind: kind(m.Way), Features: m.scales.each, Settings: settings, Training: m.Training,
		Results: m.Results})
	file.Add("split", m.net)
	return file, nil
}

// FromFile reads a model from its file.
func FromFile(file *modelfile.File) (*Model, error) {
	i := slices.IndexFunc(Ways(), func(way string) bool { return kind(way) == file.Card.Kind })
	if i < 0 {
		return nil, fmt.Errorf("this is a model of kind %q, not one that splits SLOs; use a file written by loadline slo train",
			file.Card.Kind)
	}
	way := Ways()[i]
	var s Settings
	d := json.NewDecoder(bytes.NewReader(file.Card.Settings))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("its settings cannot be read: %w; train it again", err)
	}
	if s.Sight != Whole && s.Sight != Bare || s.Hidden < 2 || s.Steps < 0 || !(s.Rate >= 0) || s.Traits < 0 ||
		!(s.Keep >= 0 && s.Keep < 1) {
		return nil, fmt.Errorf("its settings are %+v, must be a sight of whole or bare, a width of at least 2, steps, rate and "+
			"traits from 0 on, and keep from 0 to below 1; train it again", s)
	}
	var names []string
	for _, f := range file.Card.Features {
		names = append(names, f.Name)
		if !(f.Spread > 0) {
			return nil, fmt.Errorf("its feature %s has a spread of %v, must be above 0; train it again", f.Name, f.Spread)
		}
	}
	if !slices.Equal(names, s.Sight.features()) {
		return nil, fmt.Errorf("it was trained on the features %v, there are %v now; train it again", names, s.Sight.features())
	}
	net, err := file.Net("split")
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(net.Design(), designOf(way, s.Sight, s.Hidden, s.Traits)) {
		return nil, fmt.Errorf("its network is not that of %s with a width of %d; train it again", way, s.Hidden)
	}
	if err := s.checkRates(len(blocksOf(net.Design()))); err != nil {
		return nil, err
	}
	m := newModel(way, s, scales{s.Sight, file.Card.Features}, net)
	m.Training, m.Results = file.Card.Training, file.Card.Results
	return m, nil
}

// checkRates checks the rates for the given number of blocks of weights, and a context if there
// is one.
func (s *Settings) checkRates(blocks int) error {
	if n := len(s.Rates); n > 0 && n != blocks+s.Traits {
		return fmt.Errorf("it has %d rates of adapting, must be %d for its weights and %d for its traits; train it again", n, blocks,
			s.Traits)
	}
	for _, r := range s.Rates {
		if !(r >= 0) || math.IsInf(r, 1) {
			return fmt.Errorf("a rate of adapting is %v, must be from 0 on; train it again", r)
		}
	}
	if n := len(s.Context); n > 0 && (s.Traits == 0 || n%s.Traits != 0) {
		return fmt.Errorf("its context has %d numbers, must be %d for each service; train it again", n, s.Traits)
	}
	return nil
}

// Open reads a model from a path.
func Open(path string) (*Model, error) { return modelfile.Load(path, FromFile) }

// Write writes the model to a path atomically.
func (m *Model) Write(path string) error { return modelfile.Save(path, m.File) }

// checkWay reports an unknown name.
func checkWay(way string) error {
	if !slices.Contains(Ways(), way) {
		return fmt.Errorf("unknown method to learn a split %q%s", way, suggest.Hint(way, Ways()))
	}
	return nil
}
