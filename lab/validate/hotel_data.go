package validate

import (
	"strings"
)

const hotelFolder = "cilantro_hotelres_eks"

// The measured runs: wrk2 offers 3,000 requests per second for 30 s over 32 connections, each
// with one request at a time, and excludes the first 10 s, its calibration.
const (
	hotelSeconds     = 30.0
	hotelCalibration = 10.0
	hotelConnections = 32
	// hotelOffered is slightly below 3,000: what wrk2 sends when nothing is slow, as the
	// fullest windows of all policies show.
	hotelOffered = 2977.6
)

// hotelPolicies: the parameters are fitted on the first ones and evaluated on the others.
var hotelFitted = []string{"mssile", "propfair"}
var hotelHeld = []string{"ucbopt", "msevoopt"}

// hotelWindow is one run of wrk2 under one allocation.
type hotelWindow struct {
	Policy    string
	Completed float64 // per second: "load" in the data is the throughput, not the offered load
	MeanMs    float64
	P99Ms     float64
	StdMs     float64
	Replicas  []float64 // by service, mean over the window
}

// missing is the share of the offered load that was not completed.
func (w *hotelWindow) missing() float64 { return max(0, 1-w.Completed/hotelOffered) }

// Latencies at both ends of the data do not appear to be measured: means below 70 ms are spread
// evenly over 50-70 and p99s below 120 ms over 100-120, whatever their standard deviation, and
// the same happens above about 5 and 6 s. Only those in between are compared with the model.
func (w *hotelWindow) meanKnown() bool { return w.MeanMs >= 70 && w.MeanMs < 4500 }

func (w *hotelWindow) p99Known() bool {
	return w.meanKnown() && w.P99Ms >= 120 && w.P99Ms < 6000 && w.P99Ms > w.MeanMs
}

// impossible: by Cantelli's inequality at most 1/(1+k^2) of any distribution is k standard
// deviations above its mean; for a p99 that must be 1 %. And no p99 is below the mean of such a
// distribution.
func (w *hotelWindow) impossible() bool {
	if w.P99Ms < w.MeanMs {
		return true
	}
	k := (w.P99Ms - w.MeanMs) / w.StdMs
	return w.StdMs > 0 && 1/(1+k*k) < 0.01
}

// readHotel returns the windows of all policies and the names of the services.
func readHotel(dir string) (windows []hotelWindow, services []string, err error) {
	for _, policy := range append(append([]string{}, hotelFitted...), hotelHeld...) {
		err := readGzip(dir, hotelFolder+"/"+policy+".csv.gz", func(t *table) error {
			names := t.starting("alloc_")
			if services == nil {
				for _, n := range names {
					services = append(services, strings.TrimPrefix(n, "alloc_"))
				}
			}
			for t.next() {
				w := hotelWindow{
					Policy: policy, Completed: t.number("load") / hotelSeconds,
					MeanMs: t.number("avg_latency_ms"), P99Ms: t.number("p99_ms"), StdMs: t.number("stddev_latency_ms"),
				}
				for _, n := range names {
					w.Replicas = append(w.Replicas, t.number(n))
				}
				windows = append(windows, w)
			}
			return t.err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return windows, services, nil
}
