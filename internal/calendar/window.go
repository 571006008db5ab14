package calendar

import (
	"errors"
	"fmt"
	"time"
)

// Window is the time from each occurrence of one expression to the next occurrence of another.
type Window struct {
	start, end Cron
	zone       *time.Location
}

// ParseWindow reads the two expressions and the name of a time zone, such as Europe/Berlin; "" is UTC.
// The error has every fault.
func ParseWindow(start, end, zone string) (Window, error) {
	var w Window
	var errs [3]error
	if w.start, errs[0] = Parse(start); errs[0] != nil {
		errs[0] = fmt.Errorf("start: %w", errs[0])
	}
	if w.end, errs[1] = Parse(end); errs[1] != nil {
		errs[1] = fmt.Errorf("end: %w", errs[1])
	}
	if zone == "Local" { // would be the machine's
		errs[2] = errors.New("timeZone: \"Local\" differs between machines: name one, such as Europe/Berlin")
	} else if w.zone, errs[2] = time.LoadLocation(zone); errs[2] != nil {
		errs[2] = fmt.Errorf("timeZone: %q is no time zone: use a name such as Europe/Berlin or UTC", zone)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return Window{}, err
	}
	if start == end {
		return Window{}, fmt.Errorf("start and end are both %q: the window would have no length", start)
	}
	return w, nil
}

// Open reports whether an instant is in the window, and until when that stays so: the next end is
// before the next start. The instant of a start is in it, that of an end is not.
func (w *Window) Open(now time.Time) (open bool, until time.Time) {
	start, _ := w.start.Next(now, w.zone)
	end, _ := w.end.Next(now, w.zone)
	if end.Before(start) {
		return true, end
	}
	return false, start
}
