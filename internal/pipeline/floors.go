package pipeline

import (
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/policy"
)

// floorOver is the time over which the load of an hour is largest. Floors by the clock that a
// deployment may have are the replicas that it needed in the busiest ten minutes of the hour, on the
// median of the days of the training part, with pods at their CPU requests. Working days and weekends
// are told apart if there is a day of each.
const floorOver = 10 * time.Minute

// floors of the application, in the notation of policies; "off" = none needs more than one replica.
func (f *Folder) floors() string {
	load, err := f.Training.For(f.App)
	if err != nil {
		return "off" // it is reported where the load is run
	}
	begin := f.Subject.Training.From.UTC()
	kinds := daysOf(begin, f.Training.Duration())
	cpu := apps.CPUSeconds(f.App)
	var all []policy.Floor
	for i := range f.App.Services {
		s := &f.App.Services[i]
		if s.Size.CPURequest <= 0 {
			continue
		}
		cores := func(t time.Duration) float64 {
			sum := 0.0
			for k := range f.App.Kinds {
				rate, _ := load.Rate(k, t)
				sum += rate * cpu[k][i]
			}
			return sum
		}
		for _, days := range kinds {
			peaks := hourlyPeaks(begin, f.Training.Duration(), f.Training.Step, days, cores)
			for hour, needed := range peaks {
				n := int(math.Ceil(needed/s.Size.CPURequest - 1e-9))
				if s.Bounds.MaxReplicas > 0 {
					n = min(n, s.Bounds.MaxReplicas)
				}
				if n <= max(1, s.Bounds.MinReplicas) {
					continue
				}
				from := time.Duration(hour) * time.Hour
				if last := len(all) - 1; last >= 0 && all[last].Service == s.Name && all[last].To == from && all[last].Replicas == n &&
					slices.Equal(all[last].Days, days) {
					all[last].To += time.Hour
					continue
				}
				all = append(all, policy.Floor{Days: days, From: from, To: from + time.Hour, Service: s.Name, Replicas: n})
			}
		}
	}
	return policy.FloorSetting(all)
}

var (
	workingDays = []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday}
	weekend     = []time.Weekday{time.Saturday, time.Sunday}
)

// daysOf a time that are told apart; one nil = all alike.
func daysOf(begin time.Time, duration time.Duration) [][]time.Weekday {
	whole := map[bool]bool{} // a whole day of a weekend, or of the others
	for day := begin.Truncate(24 * time.Hour); day.Before(begin.Add(duration)); day = day.Add(24 * time.Hour) {
		if !day.Before(begin) && !day.Add(24*time.Hour).After(begin.Add(duration)) {
			whole[slices.Contains(weekend, day.Weekday())] = true
		}
	}
	if whole[true] && whole[false] {
		return [][]time.Weekday{workingDays, weekend}
	}
	return [][]time.Weekday{nil}
}

// hourlyPeaks is the largest mean of a figure over ten minutes in each hour of a day, the median over
// such days.
func hourlyPeaks(begin time.Time, duration, step time.Duration, days []time.Weekday, figure func(time.Duration) float64) [24]float64 {
	byHour := [24][]float64{}
	for t := begin.Truncate(time.Hour); t.Before(begin.Add(duration)); t = t.Add(time.Hour) {
		from, to := t.Sub(begin), t.Add(time.Hour).Sub(begin)
		if from < 0 || to > duration || days != nil && !slices.Contains(days, t.Weekday()) {
			continue
		}
		most := 0.0
		for at := from; at < to; at += floorOver {
			sum, n := 0.0, 0.0
			for u := at; u < min(at+floorOver, to); u += step {
				sum, n = sum+figure(u), n+1
			}
			most = max(most, sum/max(n, 1))
		}
		byHour[t.Hour()] = append(byHour[t.Hour()], most)
	}
	var peaks [24]float64
	for hour, seen := range byHour {
		if len(seen) > 0 {
			slices.Sort(seen)
			peaks[hour] = seen[len(seen)/2]
		}
	}
	return peaks
}
