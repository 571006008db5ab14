package policy

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// LoadPoint is one point of a service's load-latency profile.
type LoadPoint struct {
	PerReplica float64       // requests per second
	Latency    time.Duration // of the service itself, at the given percentile
}

// MeasureLoad measures the latency of one service, without the time spent in its calls, at a
// load per replica. It is all that exploring needs of a simulator or a cluster.
type MeasureLoad func(service int, perReplica, percentile float64) (time.Duration, error)

// ExploreThresholds finds the thresholds of all services for an expected load of
// each, in requests per second. Services are explored one by one.
func ExploreThresholds(app *loadline.App, load []float64, measure MeasureLoad) ([]float64, error) {
	profiles := make([][]LoadPoint, len(app.Services))
	var faults []error
	for i := range app.Services {
		percentile, slo := strictest(app, i)
		if slo == 0 {
			continue // no request waits for it: any load is acceptable
		}
		profile, err := exploreService(i, percentile, slo, measure)
		if err != nil {
			faults = append(faults, fmt.Errorf("explore %s: %w", app.Services[i].Name, err))
		}
		profiles[i] = profile
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return chooseThresholds(app, load, profiles)
}

const (
	exploreFrom = 1.0 // requests per second and replica
	exploreStep = 1.2
)

// exploreService raises the load until the service alone would violate the SLO.
func exploreService(service int, percentile float64, slo time.Duration, measure MeasureLoad) ([]LoadPoint, error) {
	var profile []LoadPoint
	highest := time.Duration(0)
	for load := exploreFrom; load < 1e6; load *= exploreStep {
		latency, err := measure(service, load, percentile)
		if err != nil {
			return nil, err
		}
		if latency > slo {
			break
		}
		// More load never makes it faster: a decrease is noise.
		highest = max(highest, latency)
		profile = append(profile, LoadPoint{load, highest})
	}
	if profile == nil {
		return nil, fmt.Errorf("takes longer than the SLO of %v at %v requests/s already", slo, exploreFrom)
	}
	return profile, nil
}

// chooseThresholds spends the SLO where it saves most: from the lightest loads on, the service
// that saves most cores per millisecond goes one step up, as long as no kind's chain violates
// its SLO. The original solves this as a mixed integer program.
func chooseThresholds(app *loadline.App, load []float64, profiles [][]LoadPoint) ([]float64, error) {
	chosen := make([]int, len(profiles))
	if kind, took := overSLO(app, profiles, chosen); kind >= 0 {
		return nil, fmt.Errorf("%s takes %v with hardly any load, over its SLO of %v", app.Kinds[kind].Name, took,
			app.Kinds[kind].SLO.Latency)
	}
	for {
		best, bestGain := -1, 0.0
		for i := range profiles {
			if chosen[i]+1 >= len(profiles[i]) {
				continue
			}
			now, next := profiles[i][chosen[i]], profiles[i][chosen[i]+1]
			saved := app.Services[i].Size.CPURequest * load[i] * (1/now.PerReplica - 1/next.PerReplica)
			gain := saved / (float64(next.Latency-now.Latency)/float64(time.Millisecond) + 1e-3)
			chosen[i]++
			kind, _ := overSLO(app, profiles, chosen)
			chosen[i]--
			if kind < 0 && gain > bestGain {
				best, bestGain = i, gain
			}
		}
		if best < 0 {
			break
		}
		chosen[best]++
	}
	thresholds := make([]float64, len(profiles))
	for i := range profiles {
		if len(profiles[i]) > 0 {
			thresholds[i] = profiles[i][chosen[i]].PerReplica
		}
	}
	return thresholds, nil
}

// overSLO finds a kind whose chain takes longer than its SLO, or -1. Latencies at percentiles
// whose remainders sum to that of the SLO bound the latency of the chain at the SLO's
// percentile.
func overSLO(app *loadline.App, profiles [][]LoadPoint, chosen []int) (kind int, took time.Duration) {
	for k := range app.Kinds {
		visits := make([]int, len(app.Services))
		countVisits(&app.Kinds[k].Root, 1, visits)
		took := time.Duration(0)
		for i, n := range visits {
			if len(profiles[i]) > 0 {
				took += time.Duration(n) * profiles[i][chosen[i]].Latency
			}
		}
		if slo := app.Kinds[k].SLO.Latency; slo > 0 && took > slo {
			return k, took
		}
	}
	return -1, 0
}

// strictest is the strictest requirement of the kinds that visit a service: the highest
// percentile, its remainder divided among a chain's visits, and the shortest SLO.
func strictest(app *loadline.App, service int) (percentile float64, slo time.Duration) {
	for k := range app.Kinds {
		visits := make([]int, len(app.Services))
		total := countVisits(&app.Kinds[k].Root, 1, visits)
		if of := app.Kinds[k].SLO; visits[service] > 0 && of.Latency > 0 {
			percentile = max(percentile, 100-(100-of.Percentile)/float64(total))
			if slo == 0 || of.Latency < slo {
				slo = of.Latency
			}
		}
	}
	return percentile, slo
}

// countVisits of one request, as if parallel calls were sequential: a bound, not an
// expectation.
func countVisits(c *loadline.Call, times int, into []int) int {
	times *= max(c.Times, 1)
	into[c.Service] += times
	total := times
	for _, stage := range c.Stages {
		for i := range stage {
			total += countVisits(&stage[i], times, into)
		}
	}
	return total
}

// UrsaSpec is the spec of the policy with these thresholds.
func UrsaSpec(app *loadline.App, thresholds []float64) string {
	var parts []string
	for i, n := range thresholds {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s=%.4g", app.Services[i].Name, n))
		}
	}
	return "ursa:" + strings.Join(parts, ",")
}
