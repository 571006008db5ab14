package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
)

// Sandbox is two clusters under one load.
type Sandbox struct {
	scene  *scene
	load   *dial
	sides  [2]*side
	now    time.Duration
	opened time.Duration // instant from which bills are counted
	faults Faults
}

// settle is how long both sides run before they are shown: the planner has learned what services need,
// and the rule has found its replicas.
const settle = 15 * time.Minute

// Open makes a sandbox and lets both sides settle.
func Open(ctx context.Context, s Settings) (*Sandbox, error) {
	sc, err := s.scene()
	if err != nil {
		return nil, err
	}
	box := &Sandbox{scene: sc, load: newDial(sc.patterns, sc.first)}
	for i, spec := range []simulate.Spec{
		{Policy: sc.settings.Rule},
		{Policy: planner, Guard: fallback, Interval: interval},
	} {
		spec.App, spec.Load, spec.Workload, spec.Engine = sc.app, box.load, sc.patterns[sc.first].name, simulate.Engines()[0]
		spec.Duration, spec.Seed, spec.Cluster = longest, sc.settings.Seed, sc.cluster
		if box.sides[i], err = openSide(sc, spec); err != nil {
			return nil, err
		}
	}
	for box.now < settle {
		if err := box.advance(ctx, min(box.now+time.Minute, settle)); err != nil {
			return nil, err
		}
	}
	box.opened = box.now
	for _, s := range box.sides {
		s.countFromNow()
	}
	return box, nil
}

// Close ends the runs.
func (b *Sandbox) Close() {
	for _, s := range b.sides {
		s.run.Close()
	}
}

// maxAdvance is the longest bit, so that one call does not take long.
const maxAdvance = 10 * time.Minute

// Advance simulates both sides for a while.
func (b *Sandbox) Advance(ctx context.Context, by time.Duration) error {
	if by < 0 || by > maxAdvance {
		return fmt.Errorf("advance by %v: must be from 0 to %v", by, maxAdvance)
	}
	return b.advance(ctx, min(b.now+by, longest))
}

func (b *Sandbox) advance(ctx context.Context, to time.Duration) error {
	for _, s := range b.sides {
		if err := s.advance(ctx, to); err != nil {
			return err
		}
	}
	b.now = to
	return nil
}

// Command changes the load or makes something go wrong, on both sides at once.
type Command struct {
	// Do is one of load, pattern, prometheus, node, neighbour, version and calm.
	Do      string  `json:"do"`
	Factor  float64 `json:"factor,omitempty"`  // of load
	Pattern string  `json:"pattern,omitempty"` // of pattern
	// On, of prometheus, neighbour and version: it is there, awake, shipped; or not.
	On bool `json:"on,omitempty"`
}

// Do applies a command now.
func (b *Sandbox) Do(c Command) error {
	switch c.Do {
	case "load":
		return b.load.setFactor(b.now, c.Factor)
	case "pattern":
		return b.load.setPattern(b.now, c.Pattern)
	case "prometheus":
		b.setBlind(!c.On)
	case "node":
		for _, s := range b.sides {
			s.loseNode()
		}
	case "neighbour":
		b.setNeighbour(c.On)
	case "version":
		b.setSlow(c.On)
	case "calm":
		b.setBlind(false)
		b.setNeighbour(false)
		b.setSlow(false)
		return b.load.setFactor(b.now, 1)
	default:
		return fmt.Errorf("no command %q: must be load, pattern, prometheus, node, neighbour, version or calm", c.Do)
	}
	return nil
}

func (b *Sandbox) setBlind(blind bool) {
	b.faults.Blind = blind
	for _, s := range b.sides {
		s.run.StopMetrics(blind)
	}
}

func (b *Sandbox) setNeighbour(up bool) {
	if up == b.faults.Neighbour {
		return
	}
	b.faults.Neighbour = up
	use := asleep
	if up {
		use = awake
	}
	for _, s := range b.sides {
		s.run.Disturb(sim.Disturbance{NeighbourUse: &use})
	}
}

func (b *Sandbox) setSlow(slow bool) {
	if slow == b.faults.Slow {
		return
	}
	b.faults.Slow = slow
	factor := float64(slowVersion)
	if !slow {
		factor = 1 / factor
	}
	for _, s := range b.sides {
		s.run.Disturb(sim.Disturbance{Version: &sim.VersionChange{Service: b.scene.busiest, CPUFactor: factor}})
	}
}

// About is what does not change.
func (b *Sandbox) About() About {
	sc := b.scene
	prices := sc.cluster.Prices.WithDefaults()
	nodes := sc.cluster.Pools[0].Types[0]
	a := About{
		App: sc.app.Name, Usual: sc.usual, Sides: []string{sc.settings.Rule, planner}, Currency: prices.Currency,
		Node: nodes.Name, Price: prices.Of(nodes), Slow: sc.app.Services[sc.busiest].Name, Factors: [2]float64{minFactor, maxFactor},
		Speed: sc.settings.Speed, Seed: sc.settings.Seed,
	}
	for _, s := range sc.app.Services {
		a.Services = append(a.Services, s.Name)
	}
	for _, k := range sc.app.Kinds {
		a.Kinds = append(a.Kinds, Kind{k.Name, k.SLO.Percentile, k.SLO.Latency.Seconds()})
	}
	for _, p := range sc.patterns {
		a.Patterns = append(a.Patterns, Pattern{Name: p.name, About: p.about})
	}
	return a
}

// State of both sides now. What has happened since the last state is included once.
func (b *Sandbox) State() State {
	dialled := b.load.last()
	s := State{
		At: b.now.Seconds(), Load: b.load.total(b.now), Factor: dialled.factor, Pattern: b.load.patterns[dialled.pattern].name,
		Faults: b.faults, Ended: b.now >= longest,
	}
	for i := range b.sides {
		s.Sides[i] = b.sides[i].state()
	}
	return s
}

// errNotOpen is the answer to a step without a sandbox.
var errNotOpen = errors.New("no sandbox is open: open one first")
