package chaos

import (
	"fmt"
	"time"
)

// blinding faults leave Loadline without data of all applications.
var blinding = map[Kind]bool{
	KillPrometheus: true, PausePrometheus: true,
	ExportersDown: true, ExportersEmpty: true, ExportersNaN: true, ClocksBehind: true, ClocksAhead: true,
}

// checkAbsent: nothing is reduced while data is absent, by the faults that were injected and by
// the record itself, nor before the window is filled again, nor while pods are missing.
//
// A sample is usable for MaxAge, so that what was measured before the fault counts that long. A
// brownout needs data of the pass only, and not of all pods: it begins because the SLO burns.
func checkAbsent(r *Record) []Violation {
	var all []Violation
	add := func(d *Decision, format string, a ...any) {
		all = append(all, Violation{At: d.At, What: fmt.Sprintf("%s/%s was reduced from %d to %d (%s): ", d.App, d.Service, d.From, d.To,
			d.Why) + fmt.Sprintf(format, a...)})
	}
	for i := range r.Decisions {
		d := &r.Decisions[i]
		if !d.reduces() {
			continue
		}
		if !d.Visible {
			add(d, "by its own record neither the rate nor the CPU was measured")
		}
		for j := range r.Faults {
			switch f := &r.Faults[j]; {
			case blinding[f.Kind] && f.blinds(d.At, r.Settings):
				add(d, "%s since %s", f.Kind, clockTime(f.Begin))
			case blinding[f.Kind] && !d.Brownout && f.unfilled(d.At, r.Settings):
				add(d, "%s until %s, and the window of %v is not filled yet", f.Kind, clockTime(f.End), r.Settings.Window)
			case f.Kind == HalfOfExporters && !d.Brownout && f.blinds(d.At, r.Settings):
				if missing, of := r.missing(d, f); 10*missing > of {
					add(d, "%d of %d ready pods were not measured", missing, of)
				}
			}
		}
	}
	return all
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// blinds reports whether all samples were too old at an instant.
func (f *Happened) blinds(at time.Time, s Settings) bool {
	return at.After(f.Begin.Add(s.MaxAge)) && !at.After(f.End)
}

// unfilled reports whether the window reaches into a fault that was long enough to be noticed by
// passes, or to make them missing.
func (f *Happened) unfilled(at time.Time, s Settings) bool {
	return f.End.Sub(f.Begin) > s.MaxAge+3*s.Interval && at.After(f.End) && at.Before(f.End.Add(s.Window))
}

// scrapedWithin is how long a pod may take from becoming ready to its first sample, as
// docs/guard.md has it.
const scrapedWithin = time.Minute

// missing are the ready pods of a service that were hidden and are not new, of all ready ones.
func (r *Record) missing(d *Decision, f *Happened) (missing, of int) {
	hidden := map[string]bool{}
	for _, name := range f.Pods {
		hidden[name] = true
	}
	for i := range r.Pods {
		p := &r.Pods[i]
		if p.App != d.App || p.Service != d.Service || p.Ready.IsZero() || p.Ready.After(d.At) ||
			!p.Gone.IsZero() && !p.Gone.After(d.At) {
			continue
		}
		switch {
		case !hidden[p.App+"/"+p.Name]:
			of++
		case d.At.Sub(p.Ready) >= r.Settings.Settle+scrapedWithin:
			missing++
			of++
		}
	}
	return missing, of
}
