package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
)

// Some settings are figures from earlier data: requests by a percentile of what pods used, floors
// by how many replicas there were. A calibration takes them from its first validation load, run
// under HPA at its defaults in the event engine, and writes them into the setting, so that what it
// finds can be deployed as it is. A setting for several scenes has no such figures: its percentiles
// are measured during the run, and it has no floors.

// past is what a run on validation data showed.
type past struct {
	app      *loadline.App
	use      *policy.PodUse
	replicas [][][]int // by service and window of the day, as observed
	window   time.Duration
}

// floorWindows is the number of windows that a run, or a day of it, is divided into.
const floorWindows = 6

// resolve replaces what stands for figures from the past.
func (s *search) resolve(ctx context.Context) error {
	var seen *past
	look := func() (err error) {
		if seen == nil {
			seen, err = lookBack(ctx, s.CalibrationTask)
		}
		return err
	}
	if given, share := requestShare(s.space.policy); share > 0 && len(s.Also) == 0 {
		if err := look(); err != nil {
			return err
		}
		s.space.policy = strings.Replace(s.space.policy, given, "request="+seen.requests(share), 1)
	}
	for i := range s.space.dimensions {
		d := &s.space.dimensions[i]
		d.Words = slices.Clone(d.Words)
		for w, word := range d.Words {
			_, share := requestShare(d.Key + "=" + word)
			floors := d.Key == "floor" && word == policy.FloorFromPast
			switch {
			case share == 0 && !floors:
				continue
			case len(s.Also) > 0 && floors:
				d.Words[w] = "off"
				continue
			case len(s.Also) > 0:
				continue
			}
			if err := look(); err != nil {
				return err
			}
			if floors {
				d.Words[w] = seen.floors()
			} else {
				d.Words[w] = seen.requests(share)
			}
		}
	}
	return nil
}

// requestShare finds "request=p95" among settings.
func requestShare(settings string) (text string, share float64) {
	_, after, named := strings.Cut(settings, ":")
	if !named {
		after = settings
	}
	for _, field := range strings.Split(after, ",") {
		var percentile float64
		if n, _ := fmt.Sscanf(field, "request=p%g", &percentile); n == 1 {
			return field, percentile / 100
		}
	}
	return "", 0
}

// lookBack runs HPA on the first validation load.
func lookBack(ctx context.Context, task CalibrationTask) (*past, error) {
	load := task.Loads[0]
	p := &past{
		app: task.App, use: policy.NewPodUse(len(task.App.Services)), replicas: make([][][]int, len(task.App.Services)),
		window: max(min(load.Duration, 24*time.Hour)/floorWindows, time.Minute).Truncate(time.Minute),
	}
	spec := task.spec("hpa", "event", task.App, load, task.scenes()[0].clusters()[0])
	spec.Hooks = simulate.Hooks{Decided: func(_ *loadline.Decision, s loadline.Situation) { p.watch(s) }}
	_, err := simulate.Run(ctx, spec)
	return p, describe(err, "hpa")
}

func (p *past) watch(s loadline.Situation) {
	p.use.Watch(s.Now())
	at := int((sim.Since(s.Now().At) % (24 * time.Hour)) / p.window)
	for i := range s.Allocation {
		for len(p.replicas[i]) <= at {
			p.replicas[i] = append(p.replicas[i], nil)
		}
		p.replicas[i][at] = append(p.replicas[i][at], s.Allocation[i].Replicas)
	}
}

// requests are the value of the setting "request" that covers a share of what pods used.
func (p *past) requests(share float64) string {
	cores := make([]float64, len(p.app.Services))
	for i := range cores {
		cores[i], _ = p.use.Request(i, share)
	}
	return policy.RequestSetting(p.app, cores)
}

// floors are the value of the setting "floor": in each window of the day the median of the
// replicas, where that is more than one. Windows with the same floor are joined.
func (p *past) floors() string {
	var all []policy.Floor
	for i, windows := range p.replicas {
		for w, seen := range windows {
			if len(seen) == 0 {
				continue
			}
			slices.Sort(seen)
			from := time.Duration(w) * p.window
			f := policy.Floor{From: from, To: min(from+p.window, 24*time.Hour), Service: p.app.Services[i].Name, Replicas: seen[len(seen)/2]}
			if f.Replicas <= 1 {
				continue
			}
			if n := len(all); n > 0 && all[n-1].Service == f.Service && all[n-1].To == f.From && all[n-1].Replicas == f.Replicas {
				all[n-1].To = f.To
				continue
			}
			all = append(all, f)
		}
	}
	return policy.FloorSetting(all)
}
