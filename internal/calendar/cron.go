// Package calendar reads cron expressions with a time zone, and windows between two of them. It has
// no clock.
//
// An expression has five fields: minute, hour, day of the month, month and day of the week. A field
// is *, a number, a range (1-5), either with a step (*/15, 8-18/2), or a comma-separated list of
// these. Months and days of the week may be names of three letters; Sunday is 0 or 7. If both the
// day of the month and the day of the week are restricted, either suffices, as in cron.
//
// In a time zone with daylight saving time, an instant that a day does not have is taken an hour
// off, and one that it has twice is taken once.
package calendar

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // images have no zones of their own
)

// Cron is a parsed expression. The zero value never occurs.
type Cron struct {
	minutes, hours, days, months, weekdays uint64 // sets of bits
	anyDay, anyWeekday                     bool
}

// field of an expression.
type field struct {
	name      string
	low, high int
	names     []string // from low
}

var fields = [5]field{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of the week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// mostText is the longest expression that is read.
const mostText = 256

// Parse reads an expression. One that never occurs, such as the 30th of February, is refused.
func Parse(text string) (Cron, error) {
	if len(text) > mostText {
		return Cron{}, fmt.Errorf("the cron expression has %d characters, at most %d are read", len(text), mostText)
	}
	parts := strings.Fields(text)
	if len(parts) != len(fields) {
		return Cron{}, fmt.Errorf("cron expression %q has %d fields, must have five: minute, hour, day of the month, month, day of the week, "+
			"such as \"0 8 * * 1-5\"", text, len(parts))
	}
	var sets [5]uint64
	var faults []error
	for i, part := range parts {
		set, err := fields[i].parse(part)
		if err != nil {
			faults = append(faults, fmt.Errorf("cron expression %q: %s: %w", text, fields[i].name, err))
		}
		sets[i] = set
	}
	if err := errors.Join(faults...); err != nil {
		return Cron{}, err
	}
	if sets[4]&(1<<7) != 0 { // Sunday
		sets[4] |= 1
	}
	c := Cron{minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4],
		anyDay: strings.HasPrefix(parts[2], "*"), anyWeekday: strings.HasPrefix(parts[4], "*")}
	if _, occurs := c.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC); !occurs {
		return Cron{}, fmt.Errorf("cron expression %q never occurs: no such day exists", text)
	}
	return c, nil
}

// parse a list of ranges.
func (f *field) parse(text string) (uint64, error) {
	var set uint64
	for _, part := range strings.Split(text, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			var err error
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 || step > f.high {
				return 0, fmt.Errorf("the step of %q must be a number from 1 to %d", part, f.high)
			}
		}
		low, high := f.low, f.high
		if span != "*" {
			from, to, ranged := strings.Cut(span, "-")
			var err error
			if low, err = f.number(from); err != nil {
				return 0, err
			}
			switch {
			case ranged:
				if high, err = f.number(to); err != nil {
					return 0, err
				}
			case !stepped: // 8/2 goes to the end
				high = low
			}
			if high < low {
				return 0, fmt.Errorf("%q must be in ascending order", part)
			}
		}
		for v := low; v <= high; v += step {
			set |= 1 << v
		}
	}
	return set, nil
}

func (f *field) number(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.low + i, nil
		}
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < f.low || v > f.high || text[0] == '+' || text[0] == '-' {
		return 0, fmt.Errorf("%q must be a number from %d to %d", text, f.low, f.high)
	}
	return v, nil
}

// longest is how many days are looked at: a 29th of February is at most eight years away.
const longest = 9 * 366

// Next is the first occurrence after an instant, in a time zone.
func (c Cron) Next(after time.Time, zone *time.Location) (at time.Time, occurs bool) {
	year, month, day := after.In(zone).Date()
	for n := range longest {
		date := time.Date(year, month, day+n, 12, 0, 0, 0, time.UTC) // noon: the date, without daylight saving time
		if !c.onDay(date) {
			continue
		}
		for h := range 24 {
			if c.hours&(1<<h) == 0 {
				continue
			}
			for m := range 60 {
				if c.minutes&(1<<m) == 0 {
					continue
				}
				if t := time.Date(date.Year(), date.Month(), date.Day(), h, m, 0, 0, zone); t.After(after) {
					return t, true
				}
			}
		}
	}
	return time.Time{}, false
}

func (c Cron) onDay(date time.Time) bool {
	if c.months&(1<<date.Month()) == 0 {
		return false
	}
	day, weekday := c.days&(1<<date.Day()) != 0, c.weekdays&(1<<date.Weekday()) != 0
	if c.anyDay || c.anyWeekday {
		return day && weekday
	}
	return day || weekday
}
