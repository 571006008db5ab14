package guard

import (
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/loop"
)

// Memory is what the guards of an application must not forget when the process that
// runs them ends: what was changed when, which reductions are being watched, and for
// how long the SLO has been met during a brownout. Ages are before At, the last pass,
// on a clock that does not run backwards.
//
// Windows of measurements are not in it: after a restart nothing is reduced until they
// have filled again. A memory that is handed on within one process has them too.
type Memory struct {
	At       time.Time
	Services map[string]ServiceMemory // those of which there is something to remember
	Kinds    []string                 // kinds of requests whose share over the SLO was measured
	Brownout BrownoutMemory

	app  *loadline.App // of the guards below
	kept []loop.Guard  // of the process that hands it on
	burn *Burn         // of its ladder
}

// ServiceMemory is one service's part of a Memory.
type ServiceMemory struct {
	Raised, Reduced loadline.Opt[time.Duration] // the age of the last change
	Watch           *Watch                      // nil = no reduction is being watched
}

// Watch is a reduction in two steps that is under way or was taken back.
type Watch struct {
	Stage          string        // first, approved, second, reverted or unwatched
	Age            time.Duration // of the stage
	Interrupted    bool          // it was not measured all the time, and the second step does not follow
	Before, Target loadline.Allocation
	Last           loadline.Allocation // before the last step
	Low            int                 // replicas after it
}

// BrownoutMemory is which services are to be off, how long ago the last one was
// switched, and for how long the SLO has been met since.
type BrownoutMemory struct {
	Off           []string // in the order in which they were switched
	Switched, Met loadline.Opt[time.Duration]
}

// keeper is a guard with something to remember.
type keeper interface {
	save(app *loadline.App, m *Memory)
	// resume takes over from a memory. Windows begin at an instant, timers go on from
	// the memory.
	resume(app *loadline.App, m *Memory, begin time.Time)
	// adopt takes over everything from the guard of the same name in this process, or
	// reports that it was set differently.
	adopt(old loop.Guard, same mapping) bool
}

// Memory of the guards after a pass.
func (g *Guarded) Memory(at time.Time) Memory {
	m := Memory{At: at, Services: map[string]ServiceMemory{}, app: g.Ladder.app, kept: g.Guards, burn: g.Ladder.burn}
	for _, k := range keepers(g.Guards) {
		k.save(g.Ladder.app, &m)
	}
	return m
}

// Resume takes over what an earlier process, or earlier settings in this process, have
// left. Replay may follow, with observations from begin on.
func (g *Guarded) Resume(m Memory, begin, now time.Time) {
	if m.At.IsZero() {
		return
	}
	if m.At.Before(begin) {
		begin = m.At
	}
	if begin.After(now) {
		begin = now // the clock was set back
	}
	same := mapNames(m.app, g.Ladder.app)
	g.resumed = m.At
	if !g.Ladder.burn.adopt(m.burn, same) {
		g.Ladder.burn.resume(g.Ladder.app, &m, begin)
	}
	for _, k := range keepers(g.Guards) {
		if old := named(m.kept, k.(loop.Guard).Name()); old == nil || !k.adopt(old, same) {
			k.resume(g.Ladder.app, &m, begin)
		}
	}
}

// Replay shows the guards a pass of which they know nothing, as the metrics remember
// it: one that the earlier process made, or one that did not take place. The
// observation is filtered as in a pass; AsOf has its pods as they were.
func (g *Guarded) Replay(at time.Time, o *loadline.Observation, is []loadline.Allocation) {
	g.Filter(at, o)
	s := loadline.Situation{App: g.Ladder.app, Window: []loadline.Observation{*o}, Allocation: is, InFlight: is}
	known := !at.After(g.resumed) // it fills windows; what was done then is in the memory
	for _, guard := range g.Guards {
		if f, ok := guard.(filler); ok && known {
			f.fill(at, s)
			continue
		}
		_, counts := guard.(*Starting) // how many pods were desired then is not known
		if w, ok := guard.(loop.Watcher); ok && !known && !counts {
			w.Watch(at, s)
		}
	}
	g.Ladder.burn.See(at, s)
}

// filler is a guard with a window of measurements.
type filler interface {
	// fill adds a situation to the window, and does nothing else.
	fill(now time.Time, s loadline.Situation)
}

func (g *Observed) fill(now time.Time, s loadline.Situation) { g.Watch(now, s) }
func (g *Burning) fill(now time.Time, s loadline.Situation)  { g.burn.See(now, s) }
func (g *Gray) fill(now time.Time, s loadline.Situation)     { g.burn.See(now, s) }
func (g *Brownout) fill(now time.Time, s loadline.Situation) { g.burn.See(now, s) }

// AsOf turns a service's pods of now into those of an earlier instant, as far as that
// is known. A pod that was created since has replaced one of which nothing is known, as
// has a change of replicas; these count as missing, so that such an instant fills no
// window.
func AsOf(o *loadline.ServiceObservation, at time.Time, changedSince bool) {
	for i := range o.Pods {
		p := &o.Pods[i]
		switch {
		case p.Created.After(at):
			*p = loadline.PodObservation{Phase: loadline.PodReady, Size: p.Size}
		case p.Phase == loadline.PodReady && p.Ready.After(at):
			p.Phase = loadline.PodStarting
		}
	}
	if changedSince {
		o.Pods = append(o.Pods, loadline.PodObservation{Phase: loadline.PodReady})
	}
}

func keepers(guards []loop.Guard) []keeper {
	var list []keeper
	for _, g := range guards {
		if k, ok := g.(keeper); ok {
			list = append(list, k)
		}
	}
	return list
}

func named(guards []loop.Guard, name string) loop.Guard {
	for _, g := range guards {
		if g.Name() == name {
			return g
		}
	}
	return nil
}

// mapping is, by service and kind of request of one application, the index of the same
// one in another, or -1.
type mapping struct{ services, kinds []int }

func mapNames(from, to *loadline.App) mapping {
	m := mapping{make([]int, len(to.Services)), make([]int, len(to.Kinds))}
	for i := range m.services {
		m.services[i] = -1
		if from != nil {
			m.services[i] = from.ServiceIndex(to.Services[i].Name)
		}
	}
	for i := range m.kinds {
		m.kinds[i] = -1
		for j := 0; from != nil && j < len(from.Kinds); j++ {
			if from.Kinds[j].Name == to.Kinds[i].Name && from.Kinds[j].SLO == to.Kinds[i].SLO {
				m.kinds[i] = j
			}
		}
	}
	return m
}

// adoptAll gives each service what the same service had.
func adoptAll[T any](to, from []T, same []int) {
	for i, j := range same {
		if j >= 0 {
			to[i] = from[j]
		}
	}
}

// aged is an instant as an age.
func aged(i instant, at time.Duration) loadline.Opt[time.Duration] {
	if !i.set {
		return loadline.Opt[time.Duration]{}
	}
	return loadline.Some(at - i.at)
}

// ago is an age as an instant on a clock that begins now.
func ago(age loadline.Opt[time.Duration]) instant { return instant{-age.Value, age.Set} }

// update changes one service's memory.
func (m *Memory) update(name string, change func(*ServiceMemory)) {
	s := m.Services[name]
	change(&s)
	m.Services[name] = s
}

// remembered is how long a change is: longer than any window.
const remembered = time.Hour

func (g *CoolDown) save(app *loadline.App, m *Memory) {
	for i := range g.last {
		up, down := g.last[i].up, g.last[i].down
		if up.within(g.clock.at, remembered) || down.within(g.clock.at, remembered) {
			m.update(app.Services[i].Name, func(s *ServiceMemory) {
				s.Raised, s.Reduced = aged(up, g.clock.at), aged(down, g.clock.at)
			})
		}
	}
}

func (g *CoolDown) resume(app *loadline.App, m *Memory, _ time.Time) {
	g.clock.begin(m.At)
	for i := range g.last {
		s := m.Services[app.Services[i].Name]
		g.last[i] = lastChange{up: ago(s.Raised), down: ago(s.Reduced), elapsed: true}
	}
}

func (g *CoolDown) adopt(old loop.Guard, same mapping) bool {
	from := old.(*CoolDown)
	g.clock.adopt(from.clock)
	adoptAll(g.last, from.last, same.services)
	return true
}

var stageNames = map[stage]string{watchingFirst: "first", approved: "approved", watchingSecond: "second", reverted: "reverted",
	unwatched: "unwatched"}

func (g *Gray) save(app *loadline.App, m *Memory) {
	for i := range g.of {
		if d := &g.of[i]; d.stage != idle {
			m.update(app.Services[i].Name, func(s *ServiceMemory) {
				s.Watch = &Watch{Stage: stageNames[d.stage], Age: g.clock.at - d.since, Interrupted: d.broken, Before: d.before,
					Target: d.target, Last: d.last, Low: d.low}
			})
		}
	}
}

func (g *Gray) resume(app *loadline.App, m *Memory, begin time.Time) {
	g.clock.begin(m.At)
	g.burn.resume(app, m, begin)
	for i := range g.of {
		w := m.Services[app.Services[i].Name].Watch
		if w == nil {
			continue
		}
		for s, name := range stageNames {
			if name == w.Stage {
				g.of[i] = descent{stage: s, since: -w.Age, broken: w.Interrupted, before: w.Before, target: w.Target, last: w.Last,
					low: w.Low}
			}
		}
	}
}

func (g *Gray) adopt(old loop.Guard, same mapping) bool {
	from := old.(*Gray)
	g.clock.adopt(from.clock)
	g.burn.adopt(from.burn, same)
	adoptAll(g.of, from.of, same.services)
	return true
}

func (*Observed) save(*loadline.App, *Memory) {}

func (g *Observed) resume(_ *loadline.App, _ *Memory, begin time.Time) {
	g.clock.begin(begin)
}

func (g *Observed) adopt(old loop.Guard, same mapping) bool {
	from := old.(*Observed)
	if from.Window != g.Window {
		return false
	}
	g.clock.adopt(from.clock)
	adoptAll(g.peaks, from.peaks, same.services)
	return true
}

func (g *Burning) save(app *loadline.App, m *Memory) {
	for i := range g.burn.kinds {
		if g.burn.kinds[i].measured.set {
			m.Kinds = append(m.Kinds, app.Kinds[i].Name)
		}
	}
}

func (g *Burning) resume(app *loadline.App, m *Memory, begin time.Time) {
	g.burn.resume(app, m, begin)
}

func (g *Burning) adopt(old loop.Guard, same mapping) bool {
	return g.burn.adopt(old.(*Burning).burn, same)
}

func (*Starting) save(*loadline.App, *Memory) {}

func (*Starting) resume(*loadline.App, *Memory, time.Time) {}

func (g *Starting) adopt(old loop.Guard, same mapping) bool {
	g.clock.adopt(old.(*Starting).clock)
	adoptAll(g.missing, old.(*Starting).missing, same.services)
	return true
}

func (g *Brownout) save(app *loadline.App, m *Memory) {
	m.Brownout = BrownoutMemory{Switched: aged(g.step, g.clock.at), Met: aged(g.calm, g.clock.at)}
	for _, service := range g.optional[:g.off] {
		m.Brownout.Off = append(m.Brownout.Off, app.Services[service].Name)
	}
}

func (g *Brownout) resume(app *loadline.App, m *Memory, begin time.Time) {
	g.clock.begin(m.At)
	g.burn.resume(app, m, begin)
	g.step, g.calm = ago(m.Brownout.Switched), ago(m.Brownout.Met)
	g.begun = true
	g.takeOver(func(service int) bool { return slices.Contains(m.Brownout.Off, app.Services[service].Name) })
}

func (g *Brownout) adopt(old loop.Guard, same mapping) bool {
	from := old.(*Brownout)
	g.clock.adopt(from.clock)
	g.step, g.calm = from.step, from.calm
	off := map[int]bool{}
	for _, service := range from.optional[:from.off] {
		off[service] = true
	}
	g.begun = from.begun
	g.takeOver(func(service int) bool { return same.services[service] >= 0 && off[same.services[service]] })
	g.burn.adopt(from.burn, same)
	return true
}

// resume notes which kinds have been measured, so that their absence is noticed.
func (b *Burn) resume(app *loadline.App, m *Memory, begin time.Time) {
	b.clock.begin(begin)
	for i := range b.kinds {
		for _, name := range m.Kinds {
			if app.Kinds[i].Name == name {
				b.kinds[i].measured = instant{at: -farthest, set: true}
			}
		}
	}
}

// adopt takes over the measurements of the kinds whose SLO is the same.
func (b *Burn) adopt(old *Burn, same mapping) bool {
	if old == nil || old.width != b.width || old.maxAge != b.maxAge {
		return false
	}
	b.clock.adopt(old.clock)
	for i, j := range same.kinds {
		if j >= 0 && len(old.kinds[j].ring) == len(b.kinds[i].ring) {
			b.kinds[i] = old.kinds[j]
		}
	}
	return true
}

// longestReplay bounds what is asked of the metrics after a long downtime.
const longestReplay = 5 * time.Minute

// ReplayFrom is the time from which passes should be replayed before the first one, so
// that the windows are filled and nothing is missed that happened since the memory was
// saved.
func (g *Guarded) ReplayFrom(m Memory, now time.Time) time.Time {
	set := &g.Ladder.set
	window := max(set.Observed.Window, set.Burn.ScaleInWindow) + g.Ladder.needs.Period
	from := now.Add(-window)
	if m.At.IsZero() {
		return from
	}
	if since := m.At.Add(-window); since.Before(from) {
		from = since
	}
	if earliest := now.Add(-longestReplay); from.Before(earliest) {
		from = earliest
	}
	return from
}

// ReducedSince reports whether a service was reduced at an instant or later.
func (m *Memory) ReducedSince(service string, at time.Time) bool {
	s := m.Services[service]
	return s.Reduced.Set && !m.At.Add(-s.Reduced.Value).Before(at)
}
