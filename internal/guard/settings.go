package guard

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/suggest"
)

// Settings of the ladder and of every guard. Defaults are those for an
// application of which nothing is known; docs/guard.md gives their reasons.
type Settings struct {
	// Off names guards that are left out. The ladder, sense, bounds, absent and
	// clamp cannot be.
	Off []string

	Data         DataSettings
	Bounds       BoundsSettings
	Floor        map[string]Safe // by service; one that is not named has the replicas of the application's model
	Faults       FaultSettings
	Burn         BurnSettings
	Step         StepLimit
	CoolDown     CoolDownSettings
	Calendar     map[string][]Scheduled // by the names of services
	Observed     ObservedSettings
	Starting     StartingSettings
	Disagreement DisagreementSettings
	Gray         GraySettings
	Brownout     BrownoutSettings
}

// DataSettings define when data is late, and the reaction.
type DataSettings struct {
	MaxAge     time.Duration // older samples are absent
	HoldFor    time.Duration // without data for the model, before the rule takes over
	Recovery   time.Duration // with data again, before the model does
	FloorAfter time.Duration // without a policy that can decide, before services are raised to their floors
}

// BoundsSettings are about the user's bounds.
type BoundsSettings struct {
	AtOnce bool // a lowered maximum is reached in one step, past the guards
}

// FaultSettings define when a model is faulty.
type FaultSettings struct {
	Most     int           // failures in a row that hand the application to the rule
	Recovery time.Duration // of sound answers, unfollowed, before the model takes over again
}

// BurnSettings define when an error budget burns.
type BurnSettings struct {
	Windows         []BurnWindows // any of them hands the application to the rule
	Recovered       float64       // burn over every short window that counts as recovered
	MinOver         float64       // requests over the SLO below which nothing burns
	Recovery        time.Duration // of the SLO before the model is followed again; doubles if it burns again
	LongestRecovery time.Duration // at most; and followed for so long without a burn, it is the first again

	ScaleInWindow time.Duration // over which the burn must be low for anything to be reduced
	ScaleInRate   float64       // at which nothing is reduced, and a step down is taken back
	Unmeasured    bool          // services may be reduced although no SLO is measured
}

// CoolDownSettings are times between changes of a service.
type CoolDownSettings struct {
	Up   time.Duration // from raise to raise
	Down time.Duration // from any change to a reduction
}

// ObservedSettings define the load that a reduction must leave room for.
type ObservedSettings struct {
	Window                                  time.Duration
	OfLimit, OfRequest, OfWorkers, OfMemory float64 // shares that may be in use
}

// StartingSettings are about pods that are starting.
type StartingSettings struct {
	Patience time.Duration // after which a pod that is not ready is stuck, and no longer waited for
	Settle   time.Duration // after becoming ready, for which a pod's CPU is start-up and not load
}

// DisagreementSettings bound the distance from the rule.
type DisagreementSettings struct {
	Low, High float64
	Slack     int
}

// GraySettings are about reductions in two steps.
type GraySettings struct {
	Part    float64
	Span    time.Duration
	Retreat time.Duration
}

// BrownoutSettings are about turning optional services off.
type BrownoutSettings struct {
	Services []string      // that may be done without; none = nothing is
	Window   time.Duration // over which the burn is measured
	Rate     float64       // of the burn from which one of them is done without
	Recovery time.Duration // of the SLO before one is taken back
}

// Defaults are sound for most applications.
func Defaults() Settings {
	return Settings{
		Data:   DataSettings{MaxAge: 2 * time.Minute, HoldFor: time.Minute, Recovery: 2 * time.Minute, FloorAfter: 15 * time.Minute},
		Faults: FaultSettings{Most: 3, Recovery: 10 * time.Minute},
		Burn: BurnSettings{
			Windows: []BurnWindows{
				{Short: time.Minute, Long: 10 * time.Minute, Rate: 10},
				{Short: 10 * time.Minute, Long: time.Hour, Rate: 3},
			},
			Recovered: 1, MinOver: 10, Recovery: 10 * time.Minute, LongestRecovery: 4 * time.Hour,
			ScaleInWindow: 2 * time.Minute, ScaleInRate: 1,
		},
		Step:         StepLimit{UpPods: 4, UpPercent: 100, DownPods: 1, DownPercent: 25, SizeUp: 2, SizeDown: 0.7},
		CoolDown:     CoolDownSettings{Up: 0, Down: 2 * time.Minute},
		Observed:     ObservedSettings{Window: 3 * time.Minute, OfLimit: 0.85, OfRequest: 1, OfWorkers: 0.9, OfMemory: 0.85},
		Starting:     StartingSettings{Patience: 10 * time.Minute, Settle: 15 * time.Second},
		Disagreement: DisagreementSettings{Low: 0.5, High: 2, Slack: 2},
		Gray:         GraySettings{Part: 0.5, Span: 2 * time.Minute, Retreat: 15 * time.Minute},
		Brownout:     BrownoutSettings{Window: time.Minute, Rate: 10, Recovery: 10 * time.Minute},
	}
}

// span is the shortest and the longest window of the burn.
func (b *BurnSettings) span() (shortest, longest time.Duration) {
	for i, w := range b.Windows {
		if i == 0 || w.Short < shortest {
			shortest = w.Short
		}
		longest = max(longest, w.Long)
	}
	return shortest, longest
}

// optional are the guards that may be left out.
var optional = []string{"disagreement", "observed", "starting", "burning", "gray", "cool-down", "step", "startup-cpu", "brownout"}

func (s *Settings) has(guard string) bool { return !slices.Contains(s.Off, guard) }

// Validate reports everything that is wrong with the settings for an application.
func (s Settings) Validate(app *loadline.App) error {
	var f faults
	for _, name := range s.Off {
		if !slices.Contains(optional, name) {
			f.add("off: guard %q cannot be left out%s", name, suggest.Hint(name, optional))
		}
	}
	s.validateLadder(&f)
	s.validateBurn(&f)
	s.validateGuards(&f)
	s.validateNamed(app, &f)
	return errors.Join(f...)
}

type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (f *faults) positive(name string, d time.Duration) {
	if d <= 0 {
		f.add("%s %v must be longer than 0", name, d)
	}
}

func (f *faults) notNegative(name string, d time.Duration) {
	if d < 0 {
		f.add("%s %v must not be negative", name, d)
	}
}

// from checks a number; NaN is in no range.
func (f *faults) from(name string, v, low, high float64) {
	if !(v >= low && v <= high) {
		f.add("%s %v must be from %v to %v", name, v, low, high)
	}
}

func (s *Settings) validateLadder(f *faults) {
	f.positive("data.maxAge", s.Data.MaxAge)
	f.notNegative("data.holdFor", s.Data.HoldFor)
	f.notNegative("data.recovery", s.Data.Recovery)
	f.positive("data.floorAfter", s.Data.FloorAfter)
	if s.Data.FloorAfter <= s.Data.HoldFor {
		f.add("data.floorAfter %v must be longer than data.holdFor %v", s.Data.FloorAfter, s.Data.HoldFor)
	}
	f.from("faults.most", float64(s.Faults.Most), 1, 1000)
	f.notNegative("faults.recovery", s.Faults.Recovery)
}

func (s *Settings) validateBurn(f *faults) {
	b := &s.Burn
	if len(b.Windows) == 0 {
		f.add("burn.windows is empty: without one, nothing hands the application to the rule")
	}
	for i, w := range b.Windows {
		name := fmt.Sprintf("burn.windows[%d]", i)
		if w.Short < 10*time.Second || w.Long < w.Short || w.Long > 24*time.Hour {
			f.add("%s: short %v and long %v must be in this order, from 10s to 24h", name, w.Short, w.Long)
		}
		f.from(name+".rate", w.Rate, 1, 1e4)
		if w.Rate < b.Recovered {
			f.add("%s.rate %v must not be below burn.recovered %v: the application would be handed over and back without end", name,
				w.Rate,
				b.Recovered)
		}
	}
	f.from("burn.recovered", b.Recovered, 0, 1e4)
	f.from("burn.minOver", b.MinOver, 0, 1e9)
	f.positive("burn.recovery", b.Recovery)
	if b.LongestRecovery < b.Recovery {
		f.add("burn.longestRecovery %v must not be shorter than burn.recovery %v", b.LongestRecovery, b.Recovery)
	}
	if b.ScaleInWindow < 10*time.Second || b.ScaleInWindow > 24*time.Hour {
		f.add("burn.scaleInWindow %v must be from 10s to 24h", b.ScaleInWindow)
	}
	f.from("burn.scaleInRate", b.ScaleInRate, 0, 1e4)
}

func (s *Settings) validateGuards(f *faults) {
	f.from("step.upPods", float64(s.Step.UpPods), 1, 1e6)
	f.from("step.upPercent", s.Step.UpPercent, 0, 1e6)
	f.from("step.downPods", float64(s.Step.DownPods), 1, 1e6)
	f.from("step.downPercent", s.Step.DownPercent, 0, 100)
	f.from("step.sizeUp", s.Step.SizeUp, 1.01, 1000)
	f.from("step.sizeDown", s.Step.SizeDown, 0.001, 0.99)
	f.notNegative("coolDown.up", s.CoolDown.Up)
	f.notNegative("coolDown.down", s.CoolDown.Down)
	f.positive("observed.window", s.Observed.Window)
	f.from("observed.ofLimit", s.Observed.OfLimit, 0.01, 1)
	f.from("observed.ofRequest", s.Observed.OfRequest, 0.01, 100)
	f.from("observed.ofWorkers", s.Observed.OfWorkers, 0.01, 1)
	f.from("observed.ofMemory", s.Observed.OfMemory, 0.01, 1)
	f.notNegative("starting.patience", s.Starting.Patience)
	f.notNegative("starting.settle", s.Starting.Settle)
	f.from("disagreement.low", s.Disagreement.Low, 0, 1)
	f.from("disagreement.high", s.Disagreement.High, 1, 1e6)
	f.from("disagreement.slack", float64(s.Disagreement.Slack), 0, 1e6)
	f.from("gray.part", s.Gray.Part, 0.01, 1)
	f.positive("gray.span", s.Gray.Span)
	f.notNegative("gray.retreat", s.Gray.Retreat)
	b := &s.Brownout
	if b.Window < 10*time.Second || b.Window > 24*time.Hour {
		f.add("brownout.window %v must be from 10s to 24h", b.Window)
	}
	f.from("brownout.rate", b.Rate, 1, 1e4)
	f.positive("brownout.recovery", b.Recovery)
}

func (s *Settings) validateNamed(app *loadline.App, f *faults) {
	var names []string
	for i := range app.Services {
		names = append(names, app.Services[i].Name)
	}
	for _, name := range s.Brownout.Services {
		if app.ServiceIndex(name) < 0 {
			f.add("brownout.services: unknown service %q%s", name, suggest.Hint(name, names))
		}
	}
	for name, windows := range s.Calendar {
		i := app.ServiceIndex(name)
		if i < 0 {
			f.add("calendar: unknown service %q%s", name, suggest.Hint(name, names))
			continue
		}
		for j, w := range windows {
			field := fmt.Sprintf("calendar.%s[%d].replicas", name, j)
			f.from(field, float64(w.Replicas), 1, 1e6)
			f.under(field, replicas, float64(w.Replicas), float64(app.Services[i].Bounds.MaxReplicas))
		}
	}
	for name, safe := range s.Floor {
		i := app.ServiceIndex(name)
		if i < 0 {
			f.add("floor: unknown service %q%s", name, suggest.Hint(name, names))
			continue
		}
		b := app.Services[i].Bounds
		f.under("floor."+name+".replicas", replicas, float64(safe.Replicas), float64(b.MaxReplicas))
		f.under("floor."+name+".cpu", cpuLimit, safe.CPU, b.MaxCPU)
		f.under("floor."+name+".memory", memoryLimit, float64(safe.Memory), float64(b.MaxMemory))
	}
}

// under checks a floor against an upper bound; 0 is none.
func (f *faults) under(name string, a axis, v, most float64) {
	switch {
	case a.implausible(v):
		f.add("%s %v must be a number from 0, and a real one", name, v)
	case most > 0 && v > most:
		f.add("%s %v is above the service's upper bound %v", name, v, most)
	}
}
