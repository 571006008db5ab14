package chaos

import (
	"fmt"
	"slices"
	"time"
)

// Allowed growth of what a process uses, from the second quarter of its life to the last: a
// factor, and an amount for what is small.
var growth = []struct {
	name   string
	value  func(*Usage) float64
	factor float64
	slack  float64
}{
	{"heap bytes", func(u *Usage) float64 { return u.Heap }, 1.5, 24 << 20},
	{"goroutines", func(u *Usage) float64 { return u.Goroutines }, 1.25, 60},
	{"series", func(u *Usage) float64 { return u.Series }, 1.1, 40},
}

// samplesOfALife are needed to compare its quarters.
const samplesOfALife = 40

// checkFlat: heap, goroutines and series of a process do not grow after the first quarter of the
// time in which it leads, or stands by, and decision logs stay below their limit.
func checkFlat(r *Record) []Violation {
	var all []Violation
	lives := map[string][]Usage{}
	var names []string
	for _, u := range r.Usage {
		name := u.Process
		if !r.leads(u.Process, u.At) {
			name += " on standby"
		}
		if len(lives[name]) == 0 {
			names = append(names, name)
		}
		lives[name] = append(lives[name], u)
		if u.Disk > r.Settings.Disk {
			all = append(all, Violation{At: u.At, What: fmt.Sprintf("the decision logs of %s take %d bytes, and may take %d", u.Process,
				u.Disk, r.Settings.Disk)})
		}
	}
	for _, name := range names {
		life := lives[name]
		if len(life) < samplesOfALife {
			continue
		}
		n := len(life) / 4
		for _, g := range growth {
			early, late := middle(life[n:2*n], g.value), middle(life[3*n:], g.value)
			if limit := g.factor*early + g.slack; late > limit {
				all = append(all, Violation{At: life[len(life)-1].At, What: fmt.Sprintf("%s of %s grew from %.0f to %.0f, beyond %.0f", g.name,
					name, early, late, limit)})
			}
		}
	}
	return all
}

// leads reports whether a process has held the lease by an instant: from then on it decides, and
// needs more than before.
func (r *Record) leads(process string, at time.Time) bool {
	return slices.ContainsFunc(r.Holders, func(h Holder) bool { return h.Process == process && !h.At.After(at) })
}

// middle is the median.
func middle(list []Usage, value func(*Usage) float64) float64 {
	var values []float64
	for i := range list {
		values = append(values, value(&list[i]))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
