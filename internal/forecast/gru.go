package forecast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/nn"
)

// GRU is a gated recurrent network after esDNN (Xu et al., 2022), the forecaster that DRPC
// uses: several series are divided into sliding windows, which makes forecasting supervised
// learning; a GRU reads the window, a dense layer outputs all horizons at once.
//
// Deviations, each because it was more accurate or gives more information:
//   - It forecasts the change from the last sample, relative to the usual change of
//     the load over that horizon. An untrained network is then persistence, not noise.
//   - It predicts quantiles by the pinball loss instead of one value by squares.
//   - Further inputs are the time within the season and the change of the load a
//     season ago over the same horizon.
//   - Several small networks are averaged. Each holds out another part of history
//     to decide when to stop, so that together they use all of it.
//
// A missing sample is bridged by the last one, and an input marks it; windows whose outcome is
// missing do not train that horizon. Scaling is fitted on the history given to Fit, which is
// all in the past.
type GRU struct {
	task   Task
	config GRUConfig
	names  []string // of the series
	series int
	step   time.Duration
	scale  scaling
	nets   []*nn.Net
	report GRUReport

	contexts []*nn.Context
	tape     tape
	sequence []float32
	static   []float32
}

// GRUConfig are the settings of the GRU. Zero values mean the defaults in
// brackets.
type GRUConfig struct {
	Window   int     `json:"window"`    // steps that it looks back [60]
	Hidden   int     `json:"hidden"`    // width of the GRU [24]
	Members  int     `json:"members"`   // networks that are averaged [5]
	Batch    int     `json:"batch"`     // windows per step of the optimiser [64]
	Epochs   int     `json:"epochs"`    // passes over the windows, maximum [40]
	Patience int     `json:"patience"`  // passes without improvement before it stops [6]
	Rate     float64 `json:"rate"`      // of learning, falling to a tenth [0.005]
	Decay    float64 `json:"decay"`     // of weights [0.01]
	HoldBack float64 `json:"hold_back"` // share of history held out for early stopping of a member [0.2]
	Seed     uint64  `json:"seed"`

	// Workers is how many members train in parallel [1]. It does not change the result.
	Workers int `json:"-"`

	// Progress, if set, receives the completed share of the training and the latest held-out
	// loss, by one member at a time.
	Progress func(share, loss float64) `json:"-"`
}

// Defaulted replaces zero fields by defaults.
func (c GRUConfig) Defaulted() GRUConfig {
	number := func(v *int, or int) {
		if *v == 0 {
			*v = or
		}
	}
	decimal := func(v *float64, or float64) {
		if *v == 0 {
			*v = or
		}
	}
	number(&c.Window, 60)
	number(&c.Hidden, 24)
	number(&c.Members, 5)
	number(&c.Batch, 64)
	number(&c.Epochs, 40)
	number(&c.Patience, 6)
	number(&c.Workers, 1)
	decimal(&c.Rate, 0.005)
	decimal(&c.Decay, 0.01)
	decimal(&c.HoldBack, 0.2)
	return c
}

// Validate reports every fault at once.
func (c GRUConfig) Validate() error {
	var faults []error
	for _, n := range []struct {
		name        string
		value, most int
	}{
		{"window", c.Window, 10_000}, {"hidden", c.Hidden, 1024}, {"members", c.Members, 64},
		{"batch", c.Batch, 4096}, {"epochs", c.Epochs, 100_000}, {"patience", c.Patience, 100_000},
		{"workers", c.Workers, 1024},
	} {
		if n.value < 1 || n.value > n.most {
			faults = append(faults, fmt.Errorf("forecast: gru %s is %d, must be from 1 to %d", n.name, n.value, n.most))
		}
	}
	if !(c.Rate > 0 && c.Rate < 1) || !(c.Decay >= 0 && c.Decay < 1) {
		faults = append(faults, fmt.Errorf("forecast: gru rate and decay are %v and %v, must be above 0 (decay: at "+
			"least 0) and below 1", c.Rate, c.Decay))
	}
	if !(c.HoldBack > 0 && c.HoldBack < 1) {
		faults = append(faults, fmt.Errorf("forecast: gru holds back %v of history, must be between 0 and 1", c.HoldBack))
	}
	return errors.Join(faults...)
}

// GRUReport is the result of a training.
type GRUReport struct {
	Windows int       `json:"windows"` // of history
	Epochs  []int     `json:"epochs"`  // until the best, by member
	Loss    []float64 `json:"loss"`    // pinball loss on held-out windows, by member
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`

	Curves [][]GRUEpoch `json:"-"` // pass by pass, by member
}

// GRUEpoch is the mean pinball loss of one pass over the windows.
type GRUEpoch struct {
	Trained float64 // on the training windows, during the pass
	Held    float64 // on the held-out windows, after it
}

// NewGRU makes an untrained GRU.
func NewGRU(task Task, config GRUConfig) (*GRU, error) {
	config = config.Defaulted()
	if err := errors.Join(task.Validate(), config.Validate()); err != nil {
		return nil, err
	}
	return &GRU{task: task, config: config}, nil
}

func (m *GRU) Name() string { return "gru" }

// Report is the report of the last training.
func (m *GRU) Report() GRUReport { return m.report }

// design is one member's network.
func (m *GRU) design() nn.Design {
	var d nn.Design
	hidden := d.Last(d.GRU(m.config.Hidden, d.Sequence("window", m.sequenceWidth())))
	joined := d.Dense(m.config.Hidden, nn.Tanh, hidden, d.Input("season", m.staticWidth()))
	d.Dense(len(m.task.Horizons)*len(m.task.Levels), nn.Identity, joined)
	return d
}

func (m *GRU) Observe(ordinal int64, row []float64) { m.tape.add(ordinal, row) }

func (m *GRU) Forget() {
	m.tape = tape{keep: m.config.Window + m.task.Season + 1, before: slices.Clone(m.scale.Mean)}
	m.contexts = nil
	for _, net := range m.nets {
		m.contexts = append(m.contexts, net.NewContext())
	}
	m.sequence = make([]float32, m.config.Window*m.sequenceWidth())
	m.static = make([]float32, m.staticWidth())
}

func (m *GRU) Predict(out [][]float64) error {
	now := len(m.tape.rows) - 1
	if now+1 < m.config.Window || !m.tape.seen || len(m.nets) == 0 {
		return ErrNoData
	}
	m.features(&m.tape, now, m.sequence, m.static, 1)
	for h := range out {
		fill(out[h], 0)
	}
	levels := len(m.task.Levels)
	for _, c := range m.contexts {
		y := c.Forward(1, m.sequence, m.static)
		for h := range out {
			for l := range levels {
				out[h][l] += float64(y[h*levels+l]) / float64(len(m.nets))
			}
		}
	}
	last := m.tape.target(now)
	for h := range out {
		for l := range out[h] {
			out[h][l] = last + m.scale.Change[h]*out[h][l]
		}
		slices.Sort(out[h])
	}
	return nil
}

func (m *GRU) Fit(ctx context.Context, history Frame) error {
	m.names, m.series, m.step = slices.Clone(history.Names), len(history.Names), history.Step
	windows, err := m.cut(history)
	if err != nil {
		return err
	}
	nets, report, err := m.train(ctx, windows)
	if err != nil {
		return err
	}
	report.From, report.To = history.At(0), history.At(history.Bins())
	m.nets, m.report = nets, report
	return nil
}
