package twin

import (
	"math"
	"time"

	"github.com/loadline/loadline/internal/history"
)

// windowSpan is the interval over which measurements are averaged before they are fitted:
// within 15 s the rate of a small service varies by a tenth at random, which would count twice,
// as load and as queueing.
const windowSpan = time.Minute

// settleSpan is how long after a change of replicas a service is not considered stationary.
const settleSpan = 2 * time.Minute

// window is the measurements of a service in about a minute. NaN is absent.
type window struct {
	from, to  int // steps
	rate      float64
	errors    float64
	ready     float64
	cpu       float64 // cores, all replicas
	request   float64 // cores, per replica
	limit     float64 // cores, per replica
	memory    float64
	inside    float64 // requests in the service
	queue     float64
	mean      float64 // seconds
	quantiles [4]float64
	even      bool // constant replicas
	steady    bool // and for some time before
}

// tails are the percentiles of a history, in its order.
var tails = [4]history.ServiceMetric{history.LatencyP50, history.LatencyP90, history.LatencyP95, history.LatencyP99}

func (p *past) windowSteps() int { return max(1, int(math.Ceil(windowSpan.Seconds()/p.step))) }

// makeWindows averages the steps [from, to).
func (p *past) makeWindows(t *track, from, to int) []window {
	n := p.windowSteps()
	settle := int(math.Ceil(settleSpan.Seconds() / p.step))
	windows := make([]window, 0, (to-from)/n)
	for ; from+n <= to; from += n {
		w := p.average(t, from, from+n)
		w.steady = w.even && p.evenReplicas(t, max(0, from-settle), from)
		windows = append(windows, w)
	}
	return windows
}

// average of the steps [from, to). Less than half of them do not make a window.
func (p *past) average(t *track, from, to int) window {
	w := window{from: from, to: to}
	mean := func(s history.Series) float64 {
		sum, n := 0.0, 0
		for i := from; i < to; i++ {
			if v := value(s, i); !math.IsNaN(v) {
				sum += v
				n++
			}
		}
		if 2*n < to-from || n == 0 {
			return math.NaN()
		}
		return sum / float64(n)
	}
	// Delays are of requests, so steps are weighted by their requests.
	byRequests := func(s history.Series) float64 {
		sum, weight := 0.0, 0.0
		for i := from; i < to; i++ {
			v, r := value(s, i), t.at(history.Rate, i)
			if !math.IsNaN(v) && r > 0 {
				sum += r * v
				weight += r
			}
		}
		if weight == 0 {
			return math.NaN()
		}
		return sum / weight
	}
	w.rate = mean(t.series[history.Rate])
	w.errors = mean(t.series[history.Errors])
	w.ready = mean(t.ready)
	w.cpu = mean(t.series[history.CPU])
	w.request = mean(t.series[history.CPURequest])
	w.limit = mean(t.series[history.CPULimit])
	w.memory = mean(t.series[history.Memory])
	w.inside = mean(t.series[history.Concurrency])
	w.queue = mean(t.series[history.Queue])
	w.mean = byRequests(t.series[history.LatencyMean])
	for k, m := range tails {
		w.quantiles[k] = byRequests(t.series[m])
	}
	w.even = w.ready >= 1 && p.evenReplicas(t, from, to)
	return w
}

// evenReplicas reports whether the replicas were constant and equal to the desired number.
// Absent values are ignored.
func (p *past) evenReplicas(t *track, from, to int) bool {
	first := math.NaN()
	for i := from; i < to; i++ {
		v, want := value(t.ready, i), t.at(history.Desired, i)
		if math.IsNaN(v) {
			continue
		}
		if math.IsNaN(first) {
			first = v
		}
		if v != first || (!math.IsNaN(want) && want != v) {
			return false
		}
	}
	return true
}

// sound windows are those whose requests were served: many failures distort CPU and time.
func (w *window) sound() bool {
	return w.rate > 0 && w.ready >= 1 && !(w.errors > 0.02*w.rate)
}
