package resource

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/calendar"
	"github.com/loadline/loadline/internal/guard"
)

// settings are those of the guards: the defaults, overridden by the resource.
func settings(l *v1alpha1.LoadLine, app *loadline.App, f *faults) guard.Settings {
	set := guard.Defaults()
	for i := range l.Spec.Services {
		if s := &l.Spec.Services[i]; s.Selected && app.ServiceIndex(s.Name) < 0 {
			continue // the twin does not have it
		}
		if s := &l.Spec.Services[i]; s.Floor != nil {
			if set.Floor == nil {
				set.Floor = map[string]guard.Safe{}
			}
			set.Floor[s.Name] = floor(s.Floor, app, app.ServiceIndex(s.Name))
		}
		schedule(&set, &l.Spec.Services[i], i, f)
		if s := &l.Spec.Services[i]; s.Optional != nil {
			set.Brownout.Services = append(set.Brownout.Services, s.Name)
		}
	}
	g := l.Spec.Guard
	if g == nil {
		return set
	}
	for _, name := range g.Without {
		set.Off = append(set.Off, string(name))
	}
	if d := g.Data; d != nil {
		setSpan(&set.Data.MaxAge, d.MaxAge)
		setSpan(&set.Data.HoldFor, d.HoldFor)
		setSpan(&set.Data.Recovery, d.Recovery)
		setSpan(&set.Data.FloorAfter, d.FloorAfter)
	}
	if d := g.Bounds; d != nil {
		set.Bounds.AtOnce = d.AtOnce
	}
	if d := g.Faults; d != nil {
		setCount(&set.Faults.Most, d.Most)
		setSpan(&set.Faults.Recovery, d.Recovery)
	}
	if d := g.Burn; d != nil {
		burn(&set.Burn, d, f)
	}
	if d := g.Step; d != nil {
		setCount(&set.Step.UpPods, d.UpPods)
		f.replace("spec.guard.step.upPercent", &set.Step.UpPercent, d.UpPercent)
		setCount(&set.Step.DownPods, d.DownPods)
		f.replace("spec.guard.step.downPercent", &set.Step.DownPercent, d.DownPercent)
		f.replace("spec.guard.step.sizeUp", &set.Step.SizeUp, d.SizeUp)
		f.replace("spec.guard.step.sizeDown", &set.Step.SizeDown, d.SizeDown)
	}
	if d := g.CoolDown; d != nil {
		setSpan(&set.CoolDown.Up, d.Up)
		setSpan(&set.CoolDown.Down, d.Down)
	}
	if d := g.Observed; d != nil {
		setSpan(&set.Observed.Window, d.Window)
		f.replace("spec.guard.observed.ofLimit", &set.Observed.OfLimit, d.OfLimit)
		f.replace("spec.guard.observed.ofRequest", &set.Observed.OfRequest, d.OfRequest)
		f.replace("spec.guard.observed.ofWorkers", &set.Observed.OfWorkers, d.OfWorkers)
		f.replace("spec.guard.observed.ofMemory", &set.Observed.OfMemory, d.OfMemory)
	}
	if d := g.Starting; d != nil {
		setSpan(&set.Starting.Patience, d.Patience)
		setSpan(&set.Starting.Settle, d.Settle)
	}
	if d := g.Disagreement; d != nil {
		f.replace("spec.guard.disagreement.low", &set.Disagreement.Low, d.Low)
		f.replace("spec.guard.disagreement.high", &set.Disagreement.High, d.High)
		setCount(&set.Disagreement.Slack, d.Slack)
	}
	if d := g.Gray; d != nil {
		f.replace("spec.guard.gray.part", &set.Gray.Part, d.Part)
		setSpan(&set.Gray.Span, d.Span)
		setSpan(&set.Gray.Retreat, d.Retreat)
	}
	if d := g.Brownout; d != nil {
		setSpan(&set.Brownout.Window, d.Window)
		f.replace("spec.guard.brownout.rate", &set.Brownout.Rate, d.Rate)
		setSpan(&set.Brownout.Recovery, d.Recovery)
	}
	return set
}

// schedule sets the least replicas of a service by the calendar.
func schedule(set *guard.Settings, s *v1alpha1.Service, index int, f *faults) {
	for j := range s.Schedule {
		d, field := &s.Schedule[j], fmt.Sprintf("spec.services[%d].schedule[%d]", index, j)
		w, err := calendar.ParseWindow(d.Start, d.End, d.TimeZone)
		if err != nil {
			f.wrap(field, err)
			continue
		}
		if set.Calendar == nil {
			set.Calendar = map[string][]guard.Scheduled{}
		}
		set.Calendar[s.Name] = append(set.Calendar[s.Name], guard.Scheduled{Name: d.Name, Window: w, Replicas: int(d.Replicas)})
	}
}

func burn(set *guard.BurnSettings, d *v1alpha1.BurnSettings, f *faults) {
	if len(d.Windows) > 0 {
		set.Windows = nil
		for i := range d.Windows {
			w := &d.Windows[i]
			rate := f.number(fmt.Sprintf("spec.guard.burn.windows[%d].rate", i), &w.Rate, 0)
			set.Windows = append(set.Windows, guard.BurnWindows{Short: w.Short.Span(), Long: w.Long.Span(), Rate: rate})
		}
	}
	f.replace("spec.guard.burn.recovered", &set.Recovered, d.Recovered)
	f.replace("spec.guard.burn.minOver", &set.MinOver, d.MinOver)
	setSpan(&set.Recovery, d.Recovery)
	setSpan(&set.LongestRecovery, d.LongestRecovery)
	setSpan(&set.ScaleInWindow, d.ScaleInWindow)
	f.replace("spec.guard.burn.scaleInRate", &set.ScaleInRate, d.ScaleInRate)
	set.Unmeasured = d.Unmeasured
}

// floor returns the floor of a service. Without replicas it has those that the
// application declares, as a service without any floor has.
func floor(d *v1alpha1.Floor, app *loadline.App, service int) guard.Safe {
	var safe guard.Safe
	if service >= 0 {
		safe.Replicas = app.Services[service].Replicas
	}
	setCount(&safe.Replicas, d.Replicas)
	if d.CPU != nil {
		safe.CPU = cores(*d.CPU)
	}
	if d.Memory != nil {
		safe.Memory = d.Memory.Value()
	}
	return safe
}

func setSpan(to *time.Duration, from *v1alpha1.Duration) { *to = span(from, *to) }

func setCount(to *int, from *int32) {
	if from != nil {
		*to = int(*from)
	}
}

func (f *faults) replace(field string, to *float64, from *v1alpha1.Number) {
	*to = f.number(field, from, *to)
}
