package learned

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nearest"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/slosplit"
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

// Settings of a network and of how it adapts, kept with it.
type Settings struct {
	Sight  Sight   `json:"sight"`
	Hidden int     `json:"hidden"` // width of its layers
	Steps  int     `json:"steps"`  // of gradient descent to adapt; of meta, as it was trained for
	Rate   float64 `json:"rate"`   // of them
}

// splitWork is the memory of one split.
type splitWork struct {
	view  view
	one   example
	batch batch
	list  []*example
	parts []float32
	wide  []float64
	ctx   *nn.Context
}

func newModel(way string, settings Settings, s scales, net *nn.Net) *Model {
	m := &Model{Way: way, Settings: settings, scales: s, net: net}
	m.work.New = func() any { return &splitWork{view: view{sight: settings.Sight}, ctx: net.NewContext()} }
	return m
}

// Split the chain: one pass through the network.
func (m *Model) Split(c *slosplit.Chain) (slosplit.Shares, error) {
	w := m.work.Get().(*splitWork)
	defer m.work.Put(w)
	if err := w.view.look(c); err != nil {
		return nil, err
	}
	n := len(c.Steps)
	if m.Way == "fnn" && n > fnnMost {
		return nil, fmt.Errorf("chain of %s has %d services, an FNN takes %d at most; split it by gcn or meta", c.Kind, n, fnnMost)
	}
	graph, err := nn.NewGraph(n, calls(c))
	if err != nil {
		return nil, fmt.Errorf("chain of %s: %w", c.Kind, err)
	}
	m.scales.apply(&w.view)
	w.one = example{nodes: w.view.nodes, global: w.view.global, labels: sized(w.one.labels, n)}
	w.list = append(w.list[:0], &w.one)
	w.batch.lay(m.Way == "fnn", graph, w.list)
	w.parts, w.wide = sized(w.parts, n), sized(w.wide, n)
	w.batch.softmax(w.parts, w.batch.forward(w.ctx), 0)
	sum := 0.0
	for _, p := range w.parts {
		sum += float64(p)
	}
	for i, p := range w.parts {
		w.wide[i] = float64(p) / sum
	}
	return w.view.shares(c, w.wide), nil
}

// Adapt is the model after some steps of gradient descent on samples of one chain; 0
// steps are as many as its settings say. The model itself stays as it is.
func (m *Model) Adapt(samples []Sample, steps int) (*Model, error) {
	if steps == 0 {
		steps = m.Settings.Steps
	}
	of, err := m.scales.lesson("", samples, nil)
	if err != nil {
		return nil, fmt.Errorf("adapt: %w", err)
	}
	if len(of.train) == 0 {
		return m, nil // nothing to divide, nothing to learn
	}
	l := newLearner(m.Way, m.net.Clone())
	for range steps {
		_, g := l.gradient(of, of.train)
		nn.AddScaled(l.net.Params(), -float32(m.Settings.Rate), g)
	}
	if !nn.Finite(l.net.Params()) {
		return nil, fmt.Errorf("adapt: %d steps at a rate of %v lead to weights that are not finite; lower the rate", steps, m.Settings.Rate)
	}
	adapted := newModel(m.Way, m.Settings, m.scales, l.net)
	adapted.Training, adapted.Results = m.Training, m.Results
	return adapted, nil
}

// kind of a model file.
func kind(way string) string { return "slosplit/" + way }

// File is the model as it is kept.
func (m *Model) File() (*modelfile.File, error) {
	settings, err := json.Marshal(m.Settings)
	if err != nil {
		return nil, fmt.Errorf("settings of %s: %w", m.Way, err)
	}
	file := modelfile.New(modelfile.Card{Kind: kind(m.Way), Features: m.scales.each, Settings: settings, Training: m.Training, Results: m.Results})
	file.Add("split", m.net)
	return file, nil
}

// FromFile takes a model out of its file.
func FromFile(file *modelfile.File) (*Model, error) {
	i := slices.IndexFunc(Ways(), func(way string) bool { return kind(way) == file.Card.Kind })
	if i < 0 {
		return nil, fmt.Errorf("this is a model of kind %q, not one that splits; give a file that loadline slo train wrote", file.Card.Kind)
	}
	way := Ways()[i]
	var s Settings
	d := json.NewDecoder(bytes.NewReader(file.Card.Settings))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("its settings cannot be read: %w; train it again", err)
	}
	if s.Sight != Whole && s.Sight != Bare || s.Hidden < 2 || s.Steps < 0 || !(s.Rate >= 0) {
		return nil, fmt.Errorf("its settings are %+v, must be a sight of whole or bare, a width of at least 2, steps and rate from 0 on; train it again", s)
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
	if !reflect.DeepEqual(net.Design(), designOf(way, s.Sight, s.Hidden)) {
		return nil, fmt.Errorf("its network is not that of %s with a width of %d; train it again", way, s.Hidden)
	}
	m := newModel(way, s, scales{s.Sight, file.Card.Features}, net)
	m.Training, m.Results = file.Card.Training, file.Card.Results
	return m, nil
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

// Write keeps the model at a path: whole, or not at all.
func (m *Model) Write(path string) error {
	file, err := m.File()
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return file.Write(path)
}

// checkWay says whether there is one of this name.
func checkWay(way string) error {
	if !slices.Contains(Ways(), way) {
		return fmt.Errorf("unknown way to learn a split %q%s", way, nearest.Hint(way, Ways()))
	}
	return nil
}
