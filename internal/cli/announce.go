package cli

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// parseEvents reads the values of --announce, and reports every fault. The events are in order of
// their starts.
func parseEvents(texts []string) ([]loadline.Event, error) {
	var all []loadline.Event
	var faults []error
	for _, text := range texts {
		e := loadline.Event{Name: "announced"}
		seen := map[string]bool{}
		for _, field := range strings.Split(text, ",") {
			key, value, _ := strings.Cut(field, "=")
			var err error
			switch key {
			case "start", "end":
				var at time.Duration
				if at, err = time.ParseDuration(value); err == nil && at < 0 {
					err = errors.New("is before the start of the run")
				}
				if key == "start" {
					e.Start = sim.Time(at)
				} else {
					e.End = sim.Time(at)
				}
			case "factor":
				e.Factor, err = strconv.ParseFloat(value, 64)
			case "name":
				e.Name = value
			default:
				err = errors.New("must be start, end, factor or name")
			}
			if err == nil && seen[key] {
				err = errors.New("is given twice")
			}
			if err != nil {
				faults = append(faults, Usagef("--announce %s: %s: %v", text, field, err))
			}
			seen[key] = true
		}
		for _, key := range []string{"start", "end", "factor"} {
			if !seen[key] {
				faults = append(faults, Usagef("--announce %s: %s is missing: write start=2h,end=3h,factor=3", text, key))
			}
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b loadline.Event) int { return cmp.Compare(a.Start.UnixNano(), b.Start.UnixNano()) })
	return all, errors.Join(faults...)
}
