package advice

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// perPod is the use of a mean pod at every step where it is known.
func perPod(total, pods history.Series) []float64 {
	var all []float64
	for i := range min(len(total), len(pods)) {
		v, ok := total.Get(i)
		n, known := pods.Get(i)
		if ok && known && n >= 1 {
			all = append(all, v/n)
		}
	}
	return all
}

// quantile of values, the least one that covers the share.
func quantile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(math.Ceil(share*float64(len(sorted)))), len(sorted))-1]
}

// busyMean is the mean of the upper half of the values: a limit matters while pods are busy.
func busyMean(s history.Series) (mean float64, known bool) {
	var all []float64
	for i := range s {
		if v, ok := s.Get(i); ok {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	busy := all[len(all)/2:]
	for _, v := range busy {
		mean += v / float64(len(busy))
	}
	return mean, true
}

func sum(s history.Series) float64 {
	total := 0.0
	for i := range s {
		if v, ok := s.Get(i); ok {
			total += v
		}
	}
	return total
}

// peakReplicas are the most pods that each service had ready.
func peakReplicas(app *loadline.App, h *history.History) []int {
	peak := make([]int, len(app.Services))
	for i := range app.Services {
		of := h.Service(app.Services[i].Name)
		if of == nil {
			continue
		}
		for step := range of.Series[history.Ready] {
			if n, ok := of.Series[history.Ready].Get(step); ok {
				peak[i] = max(peak[i], int(math.Ceil(n)))
			}
		}
	}
	return peak
}

// lacks names the metrics that were never measured of a service.
func lacks(of *history.Service, metrics ...history.ServiceMetric) string {
	var missing []string
	for _, m := range metrics {
		if of.Series[m].Present() == 0 {
			missing = append(missing, m.String())
		}
	}
	if missing == nil {
		return ""
	}
	return fmt.Sprintf("not measured: %s", strings.Join(missing, ", "))
}
