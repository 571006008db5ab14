package apps

import (
	"maps"
	"math"
	"slices"
	"testing"
)

// demand is a service's CPU as fitted: idle + perVisit * visits per second.
type demand struct {
	idle     float64 // millicores
	perVisit float64 // milliseconds; 0 = the data do not separate it from idle
	how      string
}

// fit explains a pod's CPU by its request rate.
//
// Where the pod has idle times, idle is the median of their minutes, and the cost of a visit is
// the rest divided by the visits. Elsewhere the slope is Theil and Sen's over means of ten
// minutes, corrected for this: the rate is counted over 15 s (it comes in multiples of 1/15)
// and the CPU over 60 s, so that three quarters of the rate's random variation are not in the
// CPU and flatten the slope. The mean CPU at the mean rate is always exact.
func fit(minutes []minute) demand {
	cpu, rate := calm(minutes), meanRate(minutes)
	if rate == 0 {
		return demand{idle: cpu, how: "never visited"}
	}
	if quiet := quietCPU(minutes); len(quiet) >= 30 {
		idle := min(median(quiet), cpu)
		return demand{idle: idle, perVisit: (cpu - idle) / rate, how: "quiet spells"}
	}
	slope := theilSen(tenMinuteMeans(minutes)) / reliability(minutes)
	slope = min(max(slope, 0), cpu/rate)
	how := "slope"
	if slope == 0 {
		how = "no slope"
	}
	return demand{idle: cpu - slope*rate, perVisit: slope, how: how}
}

// quietCPU is the CPU of minutes without visits in the three minutes around them: a single one
// may have had visits outside the counted 15 s.
func quietCPU(minutes []minute) []float64 {
	const around = 3
	var quiet []float64
	for i := around; i < len(minutes)-around; i++ {
		if !slices.ContainsFunc(minutes[i-around:i+around+1], func(m minute) bool { return m.rate > 0 }) {
			quiet = append(quiet, minutes[i].milliCPU)
		}
	}
	return quiet
}

// tenMinuteMeans excludes the highest 2 % of the CPU, as calm does.
func tenMinuteMeans(minutes []minute) (rate, cpu []float64) {
	all := make([]float64, len(minutes))
	for i, m := range minutes {
		all[i] = m.milliCPU
	}
	slices.Sort(all)
	most := all[len(all)-1-len(all)/50]
	calmOnes := slices.DeleteFunc(slices.Clone(minutes), func(m minute) bool { return m.milliCPU > most })
	for block := range slices.Chunk(calmOnes, 10) {
		if len(block) == 10 {
			rate, cpu = append(rate, meanRate(block)), append(cpu, mean(cpuOf(block)))
		}
	}
	return rate, cpu
}

func cpuOf(minutes []minute) []float64 {
	cpu := make([]float64, len(minutes))
	for i, m := range minutes {
		cpu[i] = m.milliCPU
	}
	return cpu
}

func theilSen(x, y []float64) float64 {
	var slopes []float64
	for i := range x {
		for j := range i {
			if d := x[i] - x[j]; math.Abs(d) > 1e-9 {
				slopes = append(slopes, (y[i]-y[j])/d)
			}
		}
	}
	return median(slopes)
}

// reliability is the share of the variation of the ten-minute rates that is also in the CPU.
// Randomness alone would leave a tenth of the minutes' variance, of which the CPU shares a
// quarter; the rest is shared in full.
func reliability(minutes []minute) float64 {
	rates := make([]float64, len(minutes))
	for i, m := range minutes {
		rates[i] = m.rate
	}
	blocks, _ := tenMinuteMeans(minutes)
	chance := variance(rates) / 10
	return min(max(1-0.75*chance/variance(blocks), 0.25), 1)
}

// TestFitPrintsTheDemands computes the measured figures of boutique.yaml and trainticket.yaml
// again, from the first day alone:
//
//	go test ./internal/apps -run TestFitPrintsTheDemands -v
func TestFitPrintsTheDemands(t *testing.T) {
	for _, app := range []struct {
		file         string
		milliPerUnit float64
	}{{"onlineboutique", 10}, {"trainticket", 1}} {
		data := nezha(t, app.file, app.milliPerUnit)
		for _, name := range slices.Sorted(maps.Keys(data.first)) {
			d := fit(data.first[name])
			t.Logf("%-14s %-26s idle %6.2fm  visit %7.2f ms  at %6.3f/s  %s", app.file, name, d.idle, d.perVisit,
				meanRate(data.first[name]), d.how)
		}
	}
}
