package drpc

import (
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// Watcher makes scenes of what it is shown of a whole application. It is for one
// goroutine.
type Watcher struct {
	period time.Duration
	reward Reward
	eyes   *Eyes

	epoch, last uint64
	next        time.Time // when a scene is due
	locals      []Local
	seen        []time.Time // when each was
	view        View
}

// NewWatcher watches for the teacher of a model, which must have been taught on
// exactly the application's services. The epoch tells this process from the one
// before it, and must rise.
func NewWatcher(m *Model, app *loadline.App, epoch uint64) (*Watcher, error) {
	if err := m.IsOf(app); err != nil {
		return nil, err
	}
	eyes, err := NewEyes(app)
	if err != nil {
		return nil, err
	}
	eyes.Judge(m.Shares)
	n := len(app.Services)
	if size := sceneBytes(n, len(app.Nodes), len(app.Kinds)); size > MaxScene {
		return nil, fmt.Errorf("a scene of the %d services of %s has %d bytes, must be at most %d: divide the application", n, app.Name,
			size, MaxScene)
	}
	w := &Watcher{period: m.Period, reward: m.Reward, eyes: eyes, epoch: epoch, locals: make([]Local, n), seen: make([]time.Time, n)}
	return w, nil
}

// IsOf says whether an application has exactly the services of a model, in any
// order.
func (m *Model) IsOf(app *loadline.App) error {
	for i := range app.Services {
		if !slices.Contains(m.Services, app.Services[i].Name) {
			return fmt.Errorf("the teacher was not taught on service %q of %s: train one for it", app.Services[i].Name, app.Name)
		}
	}
	for _, service := range m.Services {
		if app.ServiceIndex(service) < 0 {
			return fmt.Errorf("the teacher was taught on service %q, which %s does not have: train one for it", service, app.Name)
		}
	}
	return nil
}

// outOfSight is for how many periods what was seen of a service stands while nothing
// is measured, as at school.
const outOfSight = 5

// See takes a look, at every beat. Once a period that is a scene; if one is due and
// cannot be made, it says what is missing.
func (w *Watcher) See(now time.Time, s loadline.Situation) (scene Scene, missing string, made bool) {
	if now.Before(w.next) {
		return Scene{}, "", false
	}
	if w.next = w.next.Add(w.period); w.next.Before(now) { // the first, or after a pause
		w.next = now.Add(w.period)
	}
	for i := range w.locals {
		var local Local
		absent := w.eyes.Local(s, i, &local)
		if absent == "" {
			w.locals[i], w.seen[i] = local, now
		} else if now.Sub(w.seen[i]) > outOfSight*w.period {
			missing = fmt.Sprintf("%s of %s", absent, s.App.Services[i].Name)
		}
	}
	if missing != "" {
		return Scene{}, missing, false
	}
	w.eyes.Look(s, w.locals, &w.view)
	scene = w.eyes.Show(now, &w.view, MixOf(s.Now()))
	scene.Worth, scene.Known = w.reward.Of(s.App, s.Now())
	w.last++
	scene.Sequence, scene.Epoch = w.last, w.epoch
	return scene, "", true
}
