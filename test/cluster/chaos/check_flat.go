package chaos

import (
	"fmt"
	"slices"
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

// checkFlat: heap, goroutines and series of a process do not grow after its first quarter, and
// decision logs stay below their limit.
func checkFlat(r *Record) []Violation {
	var all []Violation
	lives := map[string][]Usage{}
	var names []string
	for _, u := range r.Usage {
		if len(lives[u.Process]) == 0 {
			names = append(names, u.Process)
		}
		lives[u.Process] = append(lives[u.Process], u)
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

// middle is the median.
func middle(list []Usage, value func(*Usage) float64) float64 {
	var values []float64
	for i := range list {
		values = append(values, value(&list[i]))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
