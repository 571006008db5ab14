package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// floor keeps replicas between two times of day.
type floor struct {
	from, to time.Duration // since midnight, UTC; from after to = over midnight
	service  string        // "" = all
	replicas int
}

func (f floor) covers(now time.Time) bool {
	now = now.UTC()
	at := now.Sub(time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC))
	if f.from <= f.to {
		return at >= f.from && at < f.to
	}
	return at >= f.from || at < f.to
}

// floorSpec checks "08:00-20:00:5+22:00-02:00:web:3".
func floorSpec(s string) error {
	for _, part := range strings.Split(s, "+") {
		if _, err := parseFloor(part); err != nil {
			return err
		}
	}
	return nil
}

func parseFloors(s string) []floor {
	if s == "off" {
		return nil
	}
	var all []floor
	for _, part := range strings.Split(s, "+") {
		f, _ := parseFloor(part)
		all = append(all, f)
	}
	return all
}

// FloorFromPast stands for floors from earlier data in a search, which replaces it by the value of
// FloorSetting.
const FloorFromPast = "past"

// Floor is the least replicas of one service between two instants of a day.
type Floor struct {
	From, To time.Duration // since midnight, whole minutes
	Service  string        // "" = all
	Replicas int
}

// FloorSetting is the value of the setting "floor"; "off" without any.
func FloorSetting(floors []Floor) string {
	var parts []string
	clock := func(t time.Duration) string { return fmt.Sprintf("%02d:%02d", int(t.Hours()), int(t.Minutes())%60) }
	for _, f := range floors {
		of := f.Service
		if of != "" {
			of += ":"
		}
		parts = append(parts, fmt.Sprintf("%s-%s:%s%d", clock(f.From), clock(f.To), of, f.Replicas))
	}
	if parts == nil {
		return "off"
	}
	return strings.Join(parts, "+")
}

// floorsIn a policy, also within by-service.
var floorsIn = regexp.MustCompile(`\bfloor=[0-9][^,;)]*`)

// BeginAt is a policy for a run whose simulated clock begins at midnight, and which stands for one
// that begins at a time of day: floors come so much earlier.
func BeginAt(spec string, clock time.Duration) string {
	if clock == 0 {
		return spec
	}
	return floorsIn.ReplaceAllStringFunc(spec, func(setting string) string {
		const day = 24 * time.Hour
		var shifted []Floor
		whole := ""
		for _, part := range strings.Split(strings.TrimPrefix(setting, "floor="), "+") {
			f, err := parseFloor(part)
			if err != nil {
				return setting // New says what is wrong with it
			}
			if f.to-f.from >= day {
				whole += "+" + part // all day
				continue
			}
			at := func(t time.Duration) time.Duration { return ((t-clock)%day + day).Round(time.Minute) % day }
			if from, to := at(f.from), at(f.to); from != to {
				shifted = append(shifted, Floor{from, to, f.service, f.replicas})
			}
		}
		all := strings.TrimPrefix(FloorSetting(shifted), "off") + whole
		return "floor=" + strings.TrimPrefix(all, "+")
	})
}

func parseFloor(s string) (floor, error) {
	fault := fmt.Errorf("%q must be times of a day and replicas, like 08:00-20:00:5 or 08:00-20:00:web:5", s)
	first, rest, found := strings.Cut(s, "-")
	if !found || len(rest) < 7 || rest[5] != ':' {
		return floor{}, fault
	}
	from, err := timeOfDay(first)
	to, err2 := timeOfDay(rest[:5])
	service, count := "", rest[6:]
	if at := strings.LastIndex(count, ":"); at >= 0 {
		service, count = count[:at], count[at+1:]
	}
	replicas, err3 := strconv.Atoi(count)
	if err != nil || err2 != nil || err3 != nil || replicas < 1 || from == to {
		return floor{}, fault
	}
	return floor{from, to, service, replicas}, nil
}

// timeOfDay reads 00:00 to 24:00.
func timeOfDay(s string) (time.Duration, error) {
	if s == "24:00" {
		return 24 * time.Hour, nil
	}
	t, err := time.Parse("15:04", s)
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err
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

// RequestsOf are the cores by service that the setting request names; false if it names none.
func RequestsOf(setting string) (cores map[string]float64, named bool) {
	_, cores = parseRequest(setting)
	return cores, cores != nil
}

// RequestSetting is the value of the setting "request" for given cores by service, those of 0
// left out; "keep" without any.
func RequestSetting(app *loadline.App, cores []float64) string {
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
