package profile

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Window is the observation of a service in one time window. Windows must not
// overlap: of an observation over one minute every fifteen seconds, one in four
// is a window.
type Window struct {
	At      time.Time // its end
	Load    float64   // visits per second and ready instance
	Latency float64   // seconds at the profile's percentile; with calls if the profile's are
	Visits  float64   // that ended in it: determine the certainty of the latency
	Size    Size      // of an instance; the zero Size is the one before
}

// Seen extracts a window from an observation. It is false where something was not
// measured, where nothing was served, and while instances of several sizes serve.
func Seen(o *loadline.ServiceObservation, at time.Time, window time.Duration, percentile float64) (Window, bool) {
	w := Window{At: at}
	latency, known := quantile(&o.Own, percentile)
	ready := 0
	for i := range o.Pods {
		if p := &o.Pods[i]; p.Phase == loadline.PodReady {
			if ready > 0 && Size(p.Size) != w.Size {
				return w, false
			}
			w.Size = Size(p.Size)
			ready++
		}
	}
	if !known || !latency.Present() || !o.Rate.Present() || ready == 0 {
		return w, false
	}
	w.Latency, w.Load, w.Visits = latency.Value, o.Rate.Value/float64(ready), o.Rate.Value*window.Seconds()
	return w, w.usable()
}

// quantile at exactly this percentile; false if no such one is measured.
func quantile(l *loadline.Latency, percentile float64) (loadline.Sample, bool) {
	switch percentile {
	case 50:
		return l.P50, true
	case 90:
		return l.P90, true
	case 95:
		return l.P95, true
	case 99:
		return l.P99, true
	}
	return loadline.Sample{}, false
}

func (w *Window) usable() bool {
	return w.Load > 0 && w.Latency > 0 && w.Visits > 0 && !math.IsInf(w.Load+w.Latency+w.Visits, 0)
}

// blur is the minimum relative deviation of a latency, from histogram buckets and
// window edges.
const blur = 0.01

// bunching is how much more the latency varies where the curve is steep. There
// the visits beyond the percentile are clustered, one queue at a time. It was
// found in the event engine over eleven services at six loads each: from a half
// to three times of this; a monitor estimates the rest.
const bunching = 0.5

// noise is the variance of a window's stretch (see stretch.go), as its logarithm.
// It depends on the number of visits beyond the percentile; a steep curve makes
// latencies vary more, and is more informative of the stretch.
func noise(percentile, visits, slope float64) float64 {
	beyond := 1 - percentile/100
	log := math.Log(beyond)
	sum := ((1-beyond)/(log*log) + bunching*slope) / max(beyond*visits, 1e-9)
	return (sum + blur*blur) / ((1 + slope) * (1 + slope))
}
