package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
)

// Some settings are figures from earlier data: requests by a percentile of what pods used, floors
// by how many replicas there were. A calibration takes them from its first validation load, run
// under HPA at its defaults in the event engine, and writes them into the setting, so that what it
// finds can be deployed as it is; floors may be given (CalibrationTask.Floors). A setting for several
// scenes has no such figures: its percentiles are measured during the run, and it has no floors.

// past is what a run on validation data showed.
type past struct {
	app      *loadline.App
	use      *policy.PodUse
	replicas [][][]int // by service and window of the day, as observed
	window   time.Duration
	begin    time.Duration // since midnight
}

// floorWindows is the number of windows that a run, or a day of it, is divided into.
const floorWindows = 6

// resolve replaces what stands for figures of the application in the space of a rule. A dimension
// of which one value is left is not searched.
func (s *search) resolve(ctx context.Context) error {
	if given, share := requestShare(s.space.policy); share > 0 && len(s.Also) == 0 {
		if err := s.lookBack(ctx); err != nil {
			return err
		}
		s.space.policy = strings.Replace(s.space.policy, given, "request="+s.seen.requests(share), 1)
	}
	var dimensions []dimension
	var origin []float64
	for i, d := range s.space.dimensions {
		if d.Words != nil {
			if err := s.resolveWords(ctx, &d); err != nil {
				return err
			}
			if len(d.Only) == 1 {
				continue
			}
		}
		dimensions, origin = append(dimensions, d), append(origin, s.space.origin[i])
	}
	s.space.dimensions, s.space.origin = dimensions, origin
	return nil
}

// resolveWords replaces values; one that the application does not have, or that is there twice, is
// left out. The default is the first, and stays.
func (s *search) resolveWords(ctx context.Context, d *dimension) error {
	d.Words = slices.Clone(d.Words)
	var only, coarse []float64
	for w := range d.Words {
		word, known, err := s.resolved(ctx, d.Key, d.Words[w])
		if err != nil {
			return err
		}
		if !known || slices.Contains(d.Words[:w], word) {
			continue
		}
		d.Words[w], only = word, append(only, float64(w))
		if slices.Contains(d.Coarse, float64(w)) {
			coarse = append(coarse, float64(w))
		}
	}
	d.Only, d.Coarse = only, coarse
	return nil
}

// resolved is what a word of a dimension stands for. A setting for several scenes has no figures of
// one application.
func (s *search) resolved(ctx context.Context, key, word string) (text string, known bool, err error) {
	_, share := requestShare(key + "=" + word)
	alone := len(s.Also) == 0
	switch {
	case key == "limits" && word == policy.LimitsRaised:
		return raisedLimits(s.App), alone && raisedLimits(s.App) != "keep", nil
	case key == "floor" && word == policy.FloorFromPast:
		if !alone || s.Floors != "" {
			return s.Floors, alone, nil
		}
		err = s.lookBack(ctx)
		return s.seen.floors(), true, err
	case key == "reserve" && word == policy.ReserveFromPast:
		// Only where nodes come and go is room on them worth anything.
		if !alone || !slices.ContainsFunc(s.scenes()[0].clusters(), func(c pool.Cluster) bool { return len(c.Pools) > 0 }) {
			return "", false, nil
		}
		err = s.lookBack(ctx)
		return s.seen.reserve(), true, err
	case share > 0 && alone:
		err = s.lookBack(ctx)
		return s.seen.requests(share), true, err
	}
	return word, true, nil
}

// raisedLimits are the value of the setting "limits" with twice the limits, within the bounds;
// "keep" without a limit that could be raised.
func raisedLimits(app *loadline.App) string {
	cores := make([]float64, len(app.Services))
	for i := range cores {
		s := &app.Services[i]
		limit := 2 * s.Size.CPULimit
		if s.Bounds.MaxCPU > 0 {
			limit = min(limit, s.Bounds.MaxCPU)
		}
		if limit > s.Size.CPULimit {
			cores[i] = limit
		}
	}
	return policy.CoresSetting(app, cores)
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

// lookBack runs HPA on the first validation load, once.
func (s *search) lookBack(ctx context.Context) error {
	if s.seen != nil {
		return nil
	}
	task, load := s.CalibrationTask, s.Loads[0]
	p := &past{
		app: task.App, use: policy.NewPodUse(len(task.App.Services)), replicas: make([][][]int, len(task.App.Services)),
		window: max(min(load.Duration, 24*time.Hour)/floorWindows, time.Minute).Truncate(time.Minute),
		begin:  sinceMidnight(load.Begin),
	}
	spec := task.spec("hpa", "event", task.App, load, task.scenes()[0].clusters()[0])
	spec.Hooks = simulate.Hooks{Decided: func(_ *loadline.Decision, s loadline.Situation) { p.watch(s) }}
	_, err := simulate.Run(ctx, spec)
	s.seen = p
	return describe(err, "hpa")
}

func sinceMidnight(t time.Time) time.Duration { return t.UTC().Sub(t.UTC().Truncate(24 * time.Hour)) }

func (p *past) watch(s loadline.Situation) {
	p.use.Watch(s.Now())
	at := int(((p.begin + sim.Since(s.Now().At)) % (24 * time.Hour)) / p.window)
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
	return policy.CoresSetting(p.app, cores)
}

// reserve is a tenth of the cores that were requested on the mean, in whole tenths of a core.
func (p *past) reserve() string {
	cores := 0.0
	for i, windows := range p.replicas {
		sum, n := 0.0, 0.0
		for _, seen := range windows {
			for _, replicas := range seen {
				sum, n = sum+float64(replicas), n+1
			}
		}
		cores += sum / max(n, 1) * p.app.Services[i].Size.CPURequest
	}
	return strconv.FormatFloat(math.Ceil(cores)/10, 'g', -1, 64)
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
