package sandbox

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline/internal/workload"
)

// pattern is a load over time, which is repeated.
type pattern struct {
	name, about string
	load        *workload.Load
	most        float64 // requests per second
}

// Pattern is a load that can be chosen.
type Pattern struct {
	Name  string `json:"name"`
	About string `json:"about"`

	spec     func(usual float64) string // generators, by the usual requests per second
	duration time.Duration
}

// Patterns that can be chosen.
func Patterns() []Pattern {
	return []Pattern{
		{"day", "A day in half an hour, with noise", func(r float64) string {
			return fmt.Sprintf("diurnal:low=%g,high=%g,period=30m,peak=18m+noise:cv=0.04,corr=1m", r/2, 2*r)
		}, 4 * time.Hour},
		{"steady", "The same rate throughout", func(r float64) string { return fmt.Sprintf("constant:rps=%g", r) }, time.Hour},
		{"bursts", "A quiet load with busy minutes at random times", func(r float64) string {
			return fmt.Sprintf("bursty:low=%g,high=%g,calm=6m,burst=90s+noise:cv=0.05", r/2, 2*r)
		}, 4 * time.Hour},
		{"flash", "Four times the load within a minute, every half hour", func(r float64) string {
			return fmt.Sprintf("constant:rps=%g+flash:at=5m,factor=4,rise=1m,hold=8m,fall=4m+noise:cv=0.04,corr=1m", 0.7*r)
		}, 30 * time.Minute},
		{"steps", "One rate, and three times as much, in turn", func(r float64) string {
			return fmt.Sprintf("step:from=%g,to=%g,at=10m+noise:cv=0.03", 0.6*r, 1.8*r)
		}, 20 * time.Minute},
	}
}

// setPatterns makes the patterns for the application, and the one of the settings.
func (sc *scene) setPatterns() error {
	sc.first = -1
	for i, p := range Patterns() {
		w, err := workload.Parse(p.spec(sc.usual), p.duration, time.Second, sc.settings.Seed)
		if err != nil {
			return fmt.Errorf("pattern %s: %w", p.Name, err)
		}
		if err := sc.addPattern(p.Name, p.About, w); err != nil {
			return err
		}
		if p.Name == sc.settings.Load && sc.settings.Rates == nil {
			sc.first = i
		}
	}
	if sc.first >= 0 {
		return nil
	}
	w, err := sc.settings.ownLoad()
	if err != nil {
		return err
	}
	sc.first = len(sc.patterns)
	if most := w.Max(); most > 100*mostRequests {
		return fmt.Errorf("load %s: has %.0f requests/s at its peak, at most %d can be followed one by one: scale it down",
			sc.settings.Load, most, 100*mostRequests)
	}
	sc.usual = w.Mean()
	return sc.addPattern(sc.settings.Load, "As it was given", w)
}

func (sc *scene) addPattern(name, about string, w *workload.Workload) error {
	load, err := w.For(sc.app)
	if err != nil {
		return err
	}
	sc.patterns = append(sc.patterns, pattern{name, about, load, w.Max()})
	return nil
}

// Factors that the load can be dragged to.
const (
	minFactor = 0.1
	maxFactor = 4
)

// dial is a load whose pattern and level can be changed during a run. Changes apply from the next
// whole second on, so that everything that reads it at one instant reads the same.
type dial struct {
	patterns []pattern
	settings []dialled // by instant
}

type dialled struct {
	at      time.Duration
	pattern int
	begin   time.Duration // instant at which the pattern began
	factor  float64
}

func newDial(patterns []pattern, first int) *dial {
	return &dial{patterns: patterns, settings: []dialled{{pattern: first, factor: 1}}}
}

// Live implements sim.Live.
func (d *dial) Live() {}

// Rate implements sim.Arrivals.
func (d *dial) Rate(kind int, t time.Duration) (perSecond float64, until time.Duration) {
	now := d.settingAt(t)
	load := d.patterns[now.pattern].load
	in := (t - now.begin) % load.Duration()
	rate, until := load.Rate(kind, in)
	return rate * now.factor, min(t-in+until, t.Truncate(time.Second)+time.Second)
}

// total is the rate of all kinds.
func (d *dial) total(t time.Duration) float64 {
	now := d.settingAt(t)
	load := d.patterns[now.pattern].load
	rate, _ := load.Total((t - now.begin) % load.Duration())
	return rate * now.factor
}

func (d *dial) settingAt(t time.Duration) dialled {
	i := len(d.settings) - 1
	for i > 0 && d.settings[i].at > t {
		i--
	}
	return d.settings[i]
}

// last is what applies from the next second on.
func (d *dial) last() dialled { return d.settings[len(d.settings)-1] }

// set changes the load from the next whole second on. Nothing reads it before now any more.
func (d *dial) set(now time.Duration, to dialled) {
	to.at = now.Truncate(time.Second) + time.Second
	kept := d.settings[:0]
	for i, s := range d.settings {
		if over := i+1 < len(d.settings) && d.settings[i+1].at <= now; !over && s.at < to.at {
			kept = append(kept, s)
		}
	}
	d.settings = append(kept, to)
}

func (d *dial) setFactor(now time.Duration, factor float64) error {
	if !(factor >= minFactor && factor <= maxFactor) || math.IsNaN(factor) {
		return fmt.Errorf("load factor %v: must be from %v to %v", factor, minFactor, maxFactor)
	}
	to := d.last()
	to.factor = factor
	d.set(now, to)
	return nil
}

func (d *dial) setPattern(now time.Duration, name string) error {
	for i, p := range d.patterns {
		if p.name == name {
			to := d.last()
			to.pattern, to.begin = i, now.Truncate(time.Second)+time.Second
			d.set(now, to)
			return nil
		}
	}
	return fmt.Errorf("no pattern %q", name)
}
