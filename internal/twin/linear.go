package twin

import (
	"math"

	"github.com/loadline/loadline/internal/history"
)

// Linear is Scaling-Ops' regressor (eq. 3, Algorithm 1, phase 1): ordinary least squares delay
// ~ 1 + CPU + requests, over every row of the history.
//
// The intercept is fitted and then dropped, as Algorithm 1 does; KeepIntercept
// adds it. The means over the history are what equations 6 to 8 (ENV2) need.
type Linear struct {
	Service string `json:"service"`
	Metric  string `json:"delay"` // the dependent variable

	CPUSlope     float64 `json:"cpu_slope"`     // b0, seconds per utilisation of the request
	RequestSlope float64 `json:"request_slope"` // b1, seconds per request per second
	Intercept    float64 `json:"intercept"`     // seconds

	MeanCPU      float64 `json:"mean_cpu"` // utilisation of a replica's request, 0..1 and above
	MeanRequests float64 `json:"mean_requests"`
	MeanReplicas float64 `json:"mean_replicas"`

	Rows          int  `json:"rows"`
	KeepIntercept bool `json:"keep_intercept"`
}

// LinearRow is one row of the history for the regressor.
type LinearRow struct {
	CPU      float64 // utilisation of the pods' requests
	Requests float64 // per second
	Replicas float64
	Delay    float64 // seconds
}

// FitLinear fits the regressor. Rows with a NaN are left out.
func FitLinear(rows []LinearRow) Linear {
	var l Linear
	var one, cpu, requests, delay []float64
	for _, r := range rows {
		if math.IsNaN(r.CPU + r.Requests + r.Replicas + r.Delay) {
			continue
		}
		one, cpu, requests, delay = append(one, 1), append(cpu, r.CPU), append(requests, r.Requests), append(delay, r.Delay)
		l.MeanCPU += r.CPU
		l.MeanRequests += r.Requests
		l.MeanReplicas += r.Replicas
	}
	if l.Rows = len(one); l.Rows == 0 {
		return l
	}
	n := float64(l.Rows)
	l.MeanCPU, l.MeanRequests, l.MeanReplicas = l.MeanCPU/n, l.MeanRequests/n, l.MeanReplicas/n
	f := leastSquares([][]float64{one, cpu, requests}, delay, nil)
	l.Intercept, l.CPUSlope, l.RequestSlope = f[0], f[1], f[2]
	return l
}

// Delay is the predicted delay in seconds. The paper's ENV1 multiplies it by alpha; the
// environment does that.
func (l *Linear) Delay(cpu, requests float64) float64 {
	d := l.CPUSlope*cpu + l.RequestSlope*requests
	if l.KeepIntercept {
		d += l.Intercept
	}
	return d
}

// CPUAt is the utilisation that ENV2 predicts from requests and replicas alone
// (eq. 6 and 7, in the reading that keeps the units): N = requests *
// mean(replicas)/mean(requests), CPU' = mean(CPU) * N / replicas'.
func (l *Linear) CPUAt(requests, replicas float64) float64 {
	return l.MeanCPU * requests * l.MeanReplicas / (l.MeanRequests * replicas)
}

// LinearRows are a service's rows from one step up to another.
func LinearRows(s *history.Service, delay history.ServiceMetric, from, to int) []LinearRow {
	rows := make([]LinearRow, 0, to-from)
	for i := from; i < to; i++ {
		ready := value(s.Series[history.Ready], i)
		rows = append(rows, LinearRow{
			CPU:      value(s.Series[history.CPU], i) / (ready * value(s.Series[history.CPURequest], i)),
			Requests: value(s.Series[history.Rate], i),
			Replicas: ready,
			Delay:    value(s.Series[delay], i),
		})
		if r := &rows[len(rows)-1]; math.IsInf(r.CPU, 0) {
			r.CPU = math.NaN()
		}
	}
	return rows
}

func (t *track) service() *history.Service {
	s := &history.Service{Name: t.name, Series: t.series}
	s.Series[history.Ready] = t.ready
	return s
}

// fitLinear fits the regressor of every service to the fitted part.
func (t *Twin) fitLinear(p *past) {
	for _, tr := range p.tracks {
		fit := func(delay history.ServiceMetric) Linear {
			l := FitLinear(p.linearRows(tr, delay))
			l.Service, l.Metric = tr.name, delay.String()
			return l
		}
		t.Linear = append(t.Linear, fit(p.options.Delay))
		t.LinearP99 = append(t.LinearP99, fit(history.LatencyP99))
		if t.Linear[len(t.Linear)-1].Rows == 0 {
			t.Report.Warnings = append(t.Report.Warnings, "service "+tr.name+
				": the linear model has no row with CPU, requests, replicas and delay together")
		}
	}
}

// linearRows are all rows before the cut. If no CPU request was measured, the twin's size is
// used: a constant factor on CPU that changes no prediction.
func (p *past) linearRows(t *track, delay history.ServiceMetric) []LinearRow {
	s := t.service()
	if s.Series[history.CPURequest].Present() == 0 {
		one := make(history.Series, p.h.Steps)
		for i := range one {
			one[i] = 1
		}
		s.Series[history.CPURequest] = one
	}
	return LinearRows(s, delay, 0, p.cut)
}
