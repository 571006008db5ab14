package learned

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/nn"
)

// TestContextStaysZeroInTraining: a trained model has no context, an adapted one has, and its
// file keeps it.
func TestContextStaysZeroInTraining(t *testing.T) {
	m := untrained(t, "meta", Whole)
	if m.Settings.Context != nil || m.Settings.Traits != 17 {
		t.Fatalf("%+v", m.Settings)
	}
	c := queueChain(3)
	adapted, err := m.Adapt(Around(&c, AroundSamples, rand.New(rand.NewPCG(1, 1))), 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(adapted.Settings.Context) != 3*17 || m.Settings.Context != nil {
		t.Fatalf("a context of %d numbers; the model's own has %d", len(adapted.Settings.Context), len(m.Settings.Context))
	}
	plain := newModel("meta", m.Settings, m.scales, adapted.net) // the same weights
	path := filepath.Join(t.TempDir(), "adapted")
	if err := adapted.Write(path); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := adapted.Split(&c)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Split(&c); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := plain.Split(&c); err != nil || slices.Equal(got, want) {
		t.Errorf("the context does nothing: %v, %v", got, err)
	}
	// Another chain does not use it.
	other := queueChain(4)
	with, err := adapted.Split(&other)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := plain.Split(&other); err != nil || !slices.Equal(got, with) {
		t.Errorf("a chain of another length is split by the context: %v, %v, want %v", got, err, with)
	}
}

// TestAdaptingNeverHarms: rates that diverge on the samples are lowered, and a model that
// cannot improve is unchanged.
func TestAdaptingNeverHarms(t *testing.T) {
	c := queueChain(12) // far from the training data
	samples := Around(&c, AroundSamples, rand.New(rand.NewPCG(1, 1)))
	for _, factor := range []float64{1, 100, 1e30} {
		m := untrained(t, "meta", Whole)
		for i := range m.Settings.Rates {
			m.Settings.Rates[i] *= factor
		}
		adapted, err := m.Adapt(samples, 0)
		if err != nil {
			t.Fatal(err)
		}
		on, err := m.Prepare(samples)
		if err != nil {
			t.Fatal(err)
		}
		loss := func(m *Model) float64 {
			p := m.OnlineLearner(Optimiser{})
			p.start(on)
			return p.learner.forward(on.of, on.of.train)
		}
		if before, after := loss(m), loss(adapted); !(after <= before) || factor == 1 && !(after < 0.9*before) {
			t.Errorf("rates times %v: the loss is %v, after adapting %v", factor, before, after)
		}
	}
}

// TestLearnerStartsAnotherChain: on another chain the context is reset, and the weights are kept.
func TestLearnerStartsAnotherChain(t *testing.T) {
	m := untrained(t, "meta", Whole)
	prepare := func(name string) *PreparedSamples {
		c := proportionalChain(rand.New(rand.NewPCG(1, 2)), 3)
		for i := range c.Steps {
			c.Steps[i].Name, c.Steps[i].Max = name+c.Steps[i].Name, 40
		}
		p, err := m.Prepare(Around(&c, AroundSamples, rand.New(rand.NewPCG(1, 1))))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first, second := prepare("a"), prepare("b")
	for _, pace := range []Optimiser{{Own: true, Rate: 1}, {Adam: true, Rate: 0.01}, {Adam: true, Rate: 0.01, Context: 0.05, Ease: 2},
		{Rate: 0.1}} {
		p := m.OnlineLearner(pace)
		before := p.Misplaced(first)
		for range 20 {
			p.Step(first, 0, first.Len())
		}
		if after := p.Misplaced(first); after > 0.9*before {
			t.Errorf("%v: %v misplaced, after 20 steps %v", pace, before, after)
		}
		if len(p.Model().Settings.Context) != 3*17 {
			t.Errorf("%v: its model has a context of %d", pace, len(p.Model().Settings.Context))
		}
		p.Misplaced(second)
		if slices.ContainsFunc(p.learner.context, func(v float32) bool { return v != 0 }) || slices.Equal(p.learner.net.Params(),
			m.net.Params()) {
			t.Errorf("%v: another chain begins with a context of %v", pace, p.learner.context)
		}
		p.Reset()
		if p.Misplaced(first) != before {
			t.Errorf("%v: it does not go back", pace)
		}
	}
	// With eased rates, later steps are shorter.
	moved := func(pace Optimiser) float64 {
		p := m.OnlineLearner(pace)
		p.start(first)
		p.steps = 100
		p.Step(first, 0, first.Len())
		return float64(p.learner.net.Params()[0] - m.net.Params()[0])
	}
	whole, eased := moved(Optimiser{Adam: true, Rate: 0.01}), moved(Optimiser{Adam: true, Rate: 0.01, Ease: 25})
	if ratio := eased / whole; ratio < 0.19 || ratio > 0.21 {
		t.Errorf("after 100 steps it moves %v, eased %v", whole, eased)
	}
}

// TestModelsFromBefore: files of models without a context still work, and inconsistent ones are
// rejected.
func TestModelsFromBefore(t *testing.T) {
	m := untrained(t, "gcn", Whole)
	file, err := m.File()
	if err != nil {
		t.Fatal(err)
	}
	file.Card.Kind = kind("meta")
	file.Card.Settings = []byte(`{"sight":"whole","hidden":8,"steps":5,"rate":0.5}`)
	old, err := FromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := queueChain(4)
	plain, err := old.Split(&c)
	if err != nil {
		t.Fatal(err)
	}
	samples := Around(&c, AroundSamples, rand.New(rand.NewPCG(1, 1)))
	adapted, err := old.Adapt(samples, 0)
	if err != nil {
		t.Fatal(err)
	}
	if shares, err := adapted.Split(&c); err != nil || slices.Equal(shares, plain) {
		t.Errorf("it does not adapt: %v, %v", shares, err)
	}
	// Plain descent at one rate, as before.
	of, err := old.scales.prepareTask("", samples, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := newLearner("meta", 0, old.net.Clone())
	for range 5 {
		_, g := l.gradient(of, of.train)
		nn.AddScaled(l.net.Params(), -0.5, g)
	}
	for i, w := range l.net.Params() {
		if d := w - adapted.net.Params()[i]; d > 1e-6 || d < -1e-6 {
			t.Fatalf("weight %d is %v, want %v", i, adapted.net.Params()[i], w)
		}
	}
	now, err := untrained(t, "meta", Whole).File()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		name   string
		change func(*Settings)
		want   string
	}{
		{"too few rates", func(s *Settings) { s.Rates = s.Rates[1:] }, "rates of adapting"},
		{"a rate below 0", func(s *Settings) { s.Rates[0] = -1 }, "must be from 0 on"},
		{"a context that does not fit", func(s *Settings) { s.Context = make([]float32, 5) }, "context has 5"},
		{"more momentum than there is", func(s *Settings) { s.Keep = 1 }, "keep"},
		{"another number of traits", func(s *Settings) { s.Traits = 3 }, "network"},
	} {
		var s Settings
		if err := json.Unmarshal(now.Card.Settings, &s); err != nil {
			t.Fatal(err)
		}
		bad.change(&s)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		changed := *now
		changed.Card.Settings = text
		if _, err := FromFile(&changed); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v", bad.name, err)
		}
	}
}
