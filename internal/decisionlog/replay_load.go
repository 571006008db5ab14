package decisionlog

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/loadline/loadline"
)

// RecordedLoad is the recorded rate of users' requests, as a load for a simulated cluster that starts
// with the record.
type RecordedLoad struct {
	app   *loadline.App
	start time.Time
	end   time.Time
	kinds [][]rateReading

	over, weight float64
	desired      []loadline.Allocation
}

// rateReading is a rate that was measured up to an instant.
type rateReading struct {
	until time.Duration // since the start
	rate  float64
}

// NewRecordedLoad of an application's kinds of requests.
func NewRecordedLoad(app *loadline.App) *RecordedLoad {
	return &RecordedLoad{app: app, kinds: make([][]rateReading, len(app.Kinds))}
}

// Add a record, in the order of the instants.
func (l *RecordedLoad) Add(r *Record) {
	if !r.Seen() {
		return
	}
	if l.start.IsZero() {
		l.start = r.At
		l.desired = r.Situation(l.app, nil).Allocation
	}
	l.end = r.At
	for i := range r.Kinds {
		k := &r.Kinds[i]
		at := l.app.KindIndex(k.Name)
		rate, overSLO := k.Samples.Of(loadline.KindRate), k.Samples.Of(loadline.KindOverSLO)
		if at < 0 || !rate.Present {
			continue
		}
		if overSLO.Present {
			l.over += overSLO.Value * rate.Value
			l.weight += rate.Value
		}
		until := r.At.Add(-rate.Age).Sub(l.start)
		if known := l.kinds[at]; until > 0 && (len(known) == 0 || until > known[len(known)-1].until) && rate.Value >= 0 {
			l.kinds[at] = append(known, rateReading{until, rate.Value})
		}
	}
}

// Check reports whether there is a load to run.
func (l *RecordedLoad) Check() error {
	if l.Duration() <= 0 {
		return fmt.Errorf("replay: the stretch holds fewer than two observations, which is no load to run")
	}
	for i, k := range l.kinds {
		if len(k) == 0 {
			return fmt.Errorf("replay: the rate of %s was never measured in this stretch, so there is no load to run", l.app.Kinds[i].Name)
		}
	}
	return nil
}

// Duration of the load.
func (l *RecordedLoad) Duration() time.Duration { return l.end.Sub(l.start) }

// OverSLO is the recorded share of requests over their SLO; NaN = not measured.
func (l *RecordedLoad) OverSLO() float64 { return l.over / l.weight }

// Onto applies the load to another model of the same application, such as a twin. It must have
// the same services and kinds of requests, in any order.
func (l *RecordedLoad) Onto(app *loadline.App) error {
	if len(app.Services) != len(l.app.Services) || len(app.Kinds) != len(l.app.Kinds) {
		return fmt.Errorf("%s has %d services and %d kinds of requests, and the recorded %s has %d and %d",
			app.Name, len(app.Services), len(app.Kinds), l.app.Name, len(l.app.Services), len(l.app.Kinds))
	}
	desired, kinds := make([]loadline.Allocation, len(l.desired)), make([][]rateReading, len(l.kinds))
	for i := range l.app.Services {
		at := app.ServiceIndex(l.app.Services[i].Name)
		if at < 0 {
			return fmt.Errorf("%s has no service %s, which the recorded one has", app.Name, l.app.Services[i].Name)
		}
		desired[at] = l.desired[i]
	}
	for i := range l.app.Kinds {
		at := app.KindIndex(l.app.Kinds[i].Name)
		if at < 0 {
			return fmt.Errorf("%s has no kind of requests %s, which the recorded one has", app.Name, l.app.Kinds[i].Name)
		}
		kinds[at] = l.kinds[i]
	}
	l.app, l.desired, l.kinds = app, desired, kinds
	return nil
}

// Rate implements the simulator's arrivals. A reading applies from the one before it up to its
// own instant; the last one continues.
func (l *RecordedLoad) Rate(kind int, t time.Duration) (float64, time.Duration) {
	k := l.kinds[kind]
	i := sort.Search(len(k), func(i int) bool { return k[i].until > t })
	if i >= len(k)-1 {
		return k[len(k)-1].rate, never
	}
	return k[i].rate, k[i].until
}

const never = time.Duration(1<<63 - 1)

// Start is the application in its desired state at the start of the record.
func (l *RecordedLoad) Start() *loadline.App {
	app := *l.app
	app.Services = slices.Clone(l.app.Services)
	for i := range l.desired {
		app.Services[i].Replicas, app.Services[i].Size = l.desired[i].Replicas, l.desired[i].Size
	}
	return &app
}
