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
	perVisit float64 // milliseconds; 0 = the data do not tell it from idle
	how      string
}

// fit explains a pod's CPU by its request rate.
//
// Where the pod has quiet spells, idle is the median of their minutes, and a
// visit costs what is left over the visits. Elsewhere the slope is Theil and
// Sen's over means of ten minutes, made good for this: the rate is counted
// over 15 s (it comes in multiples of 1/15) and the CPU over 60 s, so that
// three quarters of the rate's chance variation are not in the CPU and flatten
// the slope. The mean CPU at the mean rate is met in any case.
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

// quietCPU gives the CPU of minutes without visits for three minutes around:
// a single one without may have had visits outside the 15 s that were counted.
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

// tenMinuteMeans leaves the highest 2 % of the CPU out, as calm does.
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

// reliability is the share of the variation of the ten-minute rates that the
// CPU has seen too. Chance alone would leave a tenth of the minutes' variance,
// of which the CPU shares a quarter; what is beyond it is shared in full.
func reliability(minutes []minute) float64 {
	rates := make([]float64, len(minutes))
	for i, m := range minutes {
		rates[i] = m.rate
	}
	blocks, _ := tenMinuteMeans(minutes)
	chance := variance(rates) / 10
	return min(max(1-0.75*chance/variance(blocks), 0.25), 1)
}

// TestFitPrintsTheDemands makes the measured figures of boutique.yaml and
// trainticket.yaml again, from the first day alone:
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
