package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// Floor is the least replicas between two times of day, in UTC.
type Floor struct {
	Days     []time.Weekday // on which it begins; none = every day
	From, To time.Duration  // since midnight, whole minutes; From after To = over midnight
	Service  string         // "" = all
	Replicas int
}

func (f Floor) covers(now time.Time) bool {
	now = now.UTC()
	at, day := now.Sub(time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)), now.Weekday()
	if f.From <= f.To {
		return at >= f.From && at < f.To && f.on(day)
	}
	return at >= f.From && f.on(day) || at < f.To && f.on((day+6)%7) // it began the day before
}

func (f Floor) on(day time.Weekday) bool { return len(f.Days) == 0 || slices.Contains(f.Days, day) }

// floorSpec checks "08:00-20:00:5+Sat-Sun/22:00-02:00:web:3".
func floorSpec(s string) error {
	for _, part := range strings.Split(s, "+") {
		if _, err := parseFloor(part); err != nil {
			return err
		}
	}
	return nil
}

// FloorsOf are the floors of the setting floor.
func FloorsOf(s string) []Floor {
	if s == "off" || s == "" {
		return nil
	}
	var all []Floor
	for _, part := range strings.Split(s, "+") {
		f, _ := parseFloor(part)
		all = append(all, f)
	}
	return all
}

// FloorSetting is the value of the setting "floor"; "off" without any.
func FloorSetting(floors []Floor) string {
	var parts []string
	clock := func(t time.Duration) string { return fmt.Sprintf("%02d:%02d", int(t.Hours()), int(t.Minutes())%60) }
	for _, f := range floors {
		service := f.Service
		if service != "" {
			service += ":"
		}
		parts = append(parts, fmt.Sprintf("%s%s-%s:%s%d", daysText(f.Days), clock(f.From), clock(f.To), service, f.Replicas))
	}
	if parts == nil {
		return "off"
	}
	return strings.Join(parts, "+")
}

func parseFloor(s string) (Floor, error) {
	fault := fmt.Errorf("%q must be times of a day and replicas, like 08:00-20:00:5, 08:00-20:00:web:5 or Mon-Fri/08:00-20:00:web:5", s)
	var f Floor
	text := s
	if days, times, found := strings.Cut(s, "/"); found {
		if f.Days = parseDays(days); f.Days == nil {
			return Floor{}, fault
		}
		text = times
	}
	first, rest, found := strings.Cut(text, "-")
	if !found || len(rest) < 7 || rest[5] != ':' {
		return Floor{}, fault
	}
	var err, err2, err3 error
	f.From, err = timeOfDay(first)
	f.To, err2 = timeOfDay(rest[:5])
	count := rest[6:]
	if at := strings.LastIndex(count, ":"); at >= 0 {
		f.Service, count = count[:at], count[at+1:]
	}
	f.Replicas, err3 = strconv.Atoi(count)
	if err != nil || err2 != nil || err3 != nil || f.Replicas < 1 || f.From == f.To {
		return Floor{}, fault
	}
	return f, nil
}

// parseDays reads "Mon-Fri", which may go over the end of a week, or "Sat"; nil = neither.
func parseDays(s string) []time.Weekday {
	first, last, isRange := strings.Cut(s, "-")
	if !isRange {
		last = first
	}
	from, to := weekdayNamed(first), weekdayNamed(last)
	if from < 0 || to < 0 {
		return nil
	}
	days := []time.Weekday{from}
	for day := from; day != to; {
		day = (day + 1) % 7
		days = append(days, day)
	}
	return days
}

func weekdayNamed(short string) time.Weekday {
	for day := range time.Weekday(7) {
		if day.String()[:3] == short {
			return day
		}
	}
	return -1
}

// daysText is the inverse of parseDays, with the separator: days in a row.
func daysText(days []time.Weekday) string {
	switch len(days) {
	case 0:
		return ""
	case 1:
		return days[0].String()[:3] + "/"
	}
	return days[0].String()[:3] + "-" + days[len(days)-1].String()[:3] + "/"
}

// timeOfDay reads 00:00 to 24:00.
func timeOfDay(s string) (time.Duration, error) {
	if s == "24:00" {
		return 24 * time.Hour, nil
	}
	t, err := time.Parse("15:04", s)
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err
}

// limitSpec checks "keep", "lifted" and "web:1+cart:0.5".
func limitSpec(s string) error {
	if _, named := CoresOf(s); !named && s != "keep" && s != "lifted" {
		return errors.New("must be keep, lifted, or cores by service like web:1+cart:0.5")
	}
	return nil
}

// requestSpec checks "keep", "p95" and "web:0.3+cart:0.12".
func requestSpec(s string) error {
	if share, requests := parseRequest(s); s != "keep" && share == 0 && requests == nil {
		return errors.New("must be keep, a percentile from p1 to p100, or cores by service like web:0.3+cart:0.12")
	}
	return nil
}

// parseRequest returns the share of a percentile, or the cores by service; neither = keep, or
// not valid.
func parseRequest(s string) (share float64, requests map[string]float64) {
	if number, is := strings.CutPrefix(s, "p"); is {
		if p, err := strconv.ParseFloat(number, 64); err == nil && p >= 1 && p <= 100 {
			return p / 100, nil
		}
	}
	for _, part := range strings.Split(s, "+") {
		name, text, found := strings.Cut(part, ":")
		cores, err := strconv.ParseFloat(text, 64)
		if !found || name == "" || err != nil || !(cores > 0 && cores <= 1000) {
			return 0, nil
		}
		if requests == nil {
			requests = map[string]float64{}
		}
		requests[name] = cores
	}
	return 0, requests
}

// CoresOf are the cores by service that the setting request or limits names; false if it names none.
func CoresOf(setting string) (cores map[string]float64, named bool) {
	_, cores = parseRequest(setting)
	return cores, cores != nil
}

// CoresSetting is the value of the settings "request" and "limits" for given cores by service, those of 0
// left out; "keep" without any.
func CoresSetting(app *loadline.App, cores []float64) string {
	var parts []string
	for i, c := range cores {
		if c > 0 {
			parts = append(parts, app.Services[i].Name+":"+strconv.FormatFloat(c, 'g', -1, 64))
		}
	}
	if parts == nil {
		return "keep"
	}
	return strings.Join(parts, "+")
}

// SizeUnder is the size of a service's pods with the settings request and limits around a rule, as
// far as these name figures.
func SizeUnder(request, limits string, s *loadline.Service) loadline.Size {
	size := s.Size
	if cores, named := CoresOf(limits); named && cores[s.Name] > 0 {
		size.CPULimit = cores[s.Name]
	} else if limits == "lifted" {
		size.CPULimit = max(s.Bounds.MaxCPU, 0)
	}
	if cores, named := CoresOf(request); named && cores[s.Name] > 0 {
		size.CPURequest = cores[s.Name]
	}
	return size
}
