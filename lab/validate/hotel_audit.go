package validate

import (
	"fmt"
	"slices"
)

// HotelAudit lists what the data can support.
type HotelAudit struct {
	Windows    int `json:"windows"`
	MeanKnown  int `json:"mean_known"` // latencies that appear to be measured
	P99Known   int `json:"p99_known"`
	Impossible int `json:"impossible"`  // mean, p99 and deviation contradict each other
	Full       int `json:"full"`        // completed at least 99 % of what was offered
	Overloaded int `json:"overloaded"`  // less than 97 %
	Explicable int `json:"explicable"`  // overloaded, and some service has fewer replicas than are known to suffice
	Same       int `json:"same"`        // windows with the one allocation that all policies used
	SameLow    int `json:"same_lowest"` // the lowest and the highest median throughput
	SameHigh   int `json:"same_highest"`
	// Between is the share of the variance of throughput between allocations of the first
	// policy: no model of allocations can explain the rest.
	Between float64 `json:"between_allocations"`
}

// knownAfter: a replica count is known to suffice for a service after this many full windows,
// so that a single lucky window does not decide.
const knownAfter = 5

func auditHotel(windows []hotelWindow) HotelAudit {
	a := HotelAudit{Windows: len(windows)}
	var full, over []hotelWindow
	for _, w := range windows {
		if w.meanKnown() {
			a.MeanKnown++
		}
		if w.p99Known() {
			a.P99Known++
		}
		if w.impossible() {
			a.Impossible++
		}
		switch missing := w.missing(); {
		case missing <= 0.01:
			full = append(full, w)
		case missing > 0.03:
			over = append(over, w)
		}
	}
	a.Full, a.Overloaded = len(full), len(over)
	enough := make([]float64, len(windows[0].Replicas))
	for i := range enough {
		var counts []float64
		for _, w := range full {
			counts = append(counts, w.Replicas[i])
		}
		slices.Sort(counts)
		enough[i] = counts[min(knownAfter, len(counts))-1]
	}
	for _, w := range over {
		for i, r := range w.Replicas {
			if r < enough[i] {
				a.Explicable++
				break
			}
		}
	}
	a.sameAllocation(windows)
	a.Between = betweenAllocations(windows, hotelFitted[0])
	return a
}

// sameAllocation compares the policies where all have 8 replicas of everything.
func (a *HotelAudit) sameAllocation(windows []hotelWindow) {
	byPolicy := map[string][]float64{}
	for _, w := range windows {
		if !slices.ContainsFunc(w.Replicas, func(r float64) bool { return r != 8 }) {
			byPolicy[w.Policy] = append(byPolicy[w.Policy], w.Completed)
			a.Same++
		}
	}
	var medians []float64
	for _, v := range byPolicy {
		medians = append(medians, median(v))
	}
	if len(medians) > 0 {
		a.SameLow, a.SameHigh = int(slices.Min(medians)), int(slices.Max(medians))
	}
}

// betweenAllocations is the share of the variance of throughput between groups
// of at least four windows with one allocation.
func betweenAllocations(windows []hotelWindow, policy string) float64 {
	groups := map[string][]float64{}
	for _, w := range windows {
		if w.Policy == policy {
			key := fmt.Sprint(w.Replicas)
			groups[key] = append(groups[key], w.Completed)
		}
	}
	var all []float64
	for _, key := range sortedKeys(groups) {
		if len(groups[key]) >= 4 {
			all = append(all, groups[key]...)
		}
	}
	middle, between, total := mean(all), 0.0, 0.0
	for _, key := range sortedKeys(groups) {
		g := groups[key]
		if len(g) < 4 {
			continue
		}
		m := mean(g)
		between += float64(len(g)) * (m - middle) * (m - middle)
		for _, x := range g {
			total += (x - middle) * (x - middle)
		}
	}
	return between / total
}
