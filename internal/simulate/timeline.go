package simulate

import (
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// Timeline is a run over time, as exporters show it: no lag, no loss. It is for
// plots and reports.
type Timeline struct {
	Step    time.Duration
	At      []time.Duration // end of each step
	Load    []float64       // requests that arrived, per second
	Failed  []float64       // requests that failed, per second
	Used    []float64       // cores
	Asked   []float64       // cores requested by pods that are placed
	Ready   [][]float64     // pods that serve: by service, then step
	Latency [][]float64     // seconds at the SLO's percentile: by kind, then step; NaN = nothing ended
	Changes []time.Duration // when plans were applied

	app   *loadline.App
	next  time.Duration
	first bool
	last  before
}

// before is the counters at the end of the last step.
type before struct {
	at                  time.Duration
	arrived, failed     float64
	cpu                 float64
	histograms          []*sim.Histogram // by kind
	count               []float64        // by kind, at the last scrape
	weighted, weightSum []float64        // by kind, of interval quantiles
}

// timelinePoints is the approximate number of steps of a figure.
const timelinePoints = 720

func newTimeline(app *loadline.App, duration time.Duration) *Timeline {
	step := min(max(duration/timelinePoints, 15*time.Second), time.Minute).Truncate(15 * time.Second)
	if duration < 15*time.Minute {
		step = 5 * time.Second
	}
	kinds := len(app.Kinds)
	return &Timeline{
		Step: step, app: app, first: true,
		Ready: make([][]float64, len(app.Services)), Latency: make([][]float64, kinds),
		last: before{
			histograms: make([]*sim.Histogram, kinds), count: make([]float64, kinds),
			weighted: make([]float64, kinds), weightSum: make([]float64, kinds),
		},
	}
}

// watch adds a reading and closes a step when it is over.
func (s *Timeline) watch(r *sim.Reading, cp *sim.ControlPlane) {
	for k := range r.Kinds {
		l := &r.Kinds[k].Latency
		if ended := l.Count - s.last.count[k]; ended > 0 && !math.IsNaN(l.AtSLO) {
			s.last.weighted[k] += ended * l.AtSLO
			s.last.weightSum[k] += ended
		}
		s.last.count[k] = l.Count
	}
	if r.At < s.next {
		return
	}
	s.next = (r.At/s.Step + 1) * s.Step
	if s.first {
		s.first = false
	} else {
		s.close(r, cp)
	}
	s.remember(r)
}

func (s *Timeline) close(r *sim.Reading, cp *sim.ControlPlane) {
	seconds := (r.At - s.last.at).Seconds()
	arrived, failed := requests(r)
	s.At = append(s.At, r.At)
	s.Load = append(s.Load, (arrived-s.last.arrived)/seconds)
	s.Failed = append(s.Failed, (failed-s.last.failed)/seconds)
	s.Used = append(s.Used, (cores(r)-s.last.cpu)/seconds)
	asked := 0.0
	for i := range s.Ready {
		s.Ready[i] = append(s.Ready[i], float64(cp.Ready(i)))
		for _, slot := range cp.Slots(i) {
			if p := cp.Pod(slot); p.Phase != loadline.PodPending {
				asked += p.Size.CPURequest
			}
		}
	}
	s.Asked = append(s.Asked, asked)
	for k := range s.Latency {
		s.Latency[k] = append(s.Latency[k], s.latency(r, k))
	}
}

func (s *Timeline) latency(r *sim.Reading, k int) float64 {
	if h := r.Kinds[k].Latency.Histogram; h != nil {
		since := sim.NewHistogram(sim.ExporterBits)
		since.CopyFrom(h)
		since.Sub(s.last.histograms[k])
		return since.Quantile(s.app.Kinds[k].SLO.Percentile/100) / 1e9
	}
	return s.last.weighted[k] / s.last.weightSum[k]
}

func (s *Timeline) remember(r *sim.Reading) {
	s.last.at = r.At
	s.last.arrived, s.last.failed = requests(r)
	s.last.cpu = cores(r)
	for k := range r.Kinds {
		s.last.weighted[k], s.last.weightSum[k] = 0, 0
		if h := r.Kinds[k].Latency.Histogram; h != nil {
			if s.last.histograms[k] == nil {
				s.last.histograms[k] = sim.NewHistogram(sim.ExporterBits)
			}
			s.last.histograms[k].CopyFrom(h)
		}
	}
}

func requests(r *sim.Reading) (arrived, failed float64) {
	for k := range r.Kinds {
		arrived += r.Kinds[k].Arrived
		failed += r.Kinds[k].Failed
	}
	return arrived, failed
}

func cores(r *sim.Reading) (seconds float64) {
	for i := range r.Services {
		seconds += r.Services[i].Of[loadline.ServiceCPU]
	}
	return seconds
}
