// Package result is the result of a run: the object that commands print as JSON and the table.
package result

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
)

// Run identifies the run of a result.
type Run struct {
	Policy, App, Workload, Engine string
	Seed                          uint64
	Duration                      time.Duration
	Cluster                       string      // "" = the application's own nodes
	Currency                      string      // of the bill
	Prices                        pool.Prices // by which the bill is allocated to several applications
}

// Result of a run. Ratios are shares of 1, and null if the denominator is zero. Requests include
// those that users would have sent, had they not left. Requests, failures, the SLO and latencies exclude
// the warm-up; cost and changes include it. Of several applications on the cluster, OverSLORatio is
// that of the one in which it is highest.
type Result struct {
	Policy   string `json:"policy"`
	App      string `json:"app"`
	Workload string `json:"workload"`
	Engine   string `json:"engine"`
	Seed     uint64 `json:"seed"`
	Cluster  string `json:"cluster,omitempty"` // pools, neighbours and prices, as their flags are written; none = the app's own nodes

	DurationSeconds      Number  `json:"duration_s"`
	Requests             Number  `json:"requests"`
	FailedRatio          Number  `json:"failed_ratio"`
	OverSLORatio         Number  `json:"over_slo_ratio"`
	LeftRatio            Number  `json:"left_ratio"` // not sent, because their users had left; over the SLO
	WindowsViolatedRatio Number  `json:"windows_violated_ratio"`
	Latency              Latency `json:"latency_ms"`
	Bill                 Number  `json:"bill"` // money for the whole run
	Currency             string  `json:"currency"`
	NodeHours            Number  `json:"node_hours"` // paid for
	NodeCoreHours        Number  `json:"node_core_hours"`
	AllocatedCoreHours   Number  `json:"allocated_core_hours"` // requested by pods
	UsedCoreHours        Number  `json:"used_core_hours"`
	CoreHours            Number  `json:"core_hours"` // the larger of requested and used, each 15 s
	GiBHours             Number  `json:"gib_hours"`
	MeanReplicas         Number  `json:"mean_replicas"`
	Changes              Number  `json:"changes"`
	OptionalDroppedRatio Number  `json:"optional_dropped_ratio"`
	// DegradedRatio is OverSLORatio and the dropped optional calls at their price, which is in units of
	// one request over its SLO: it decides whether the SLO was met, so that brownout is never free.
	DegradedRatio Number `json:"degraded_ratio"`

	Kinds    []Kind    `json:"kinds"`
	Services []Service `json:"services"`

	Applications []Application `json:"applications,omitempty"` // if there are several on the cluster
}

// Application is one of several on a cluster.
type Application struct {
	Name         string  `json:"name"`
	Requests     Number  `json:"requests"`
	FailedRatio  Number  `json:"failed_ratio"`
	OverSLORatio Number  `json:"over_slo_ratio"`
	LeftRatio    Number  `json:"left_ratio"`
	Latency      Latency `json:"latency_ms"`
	CoreHours    Number  `json:"core_hours"`
	GiBHours     Number  `json:"gib_hours"`
	MeanReplicas Number  `json:"mean_replicas"`
	Changes      Number  `json:"changes"`
	// Bill is its share of the cluster's: by the larger of requested and used cores and GiB of its
	// pods, at their prices. Idle nodes and the reserve are shared in proportion.
	Bill Number `json:"bill"`
}

// Latency in milliseconds, of requests that completed.
type Latency struct {
	Mean  Number `json:"mean"`
	P50   Number `json:"p50"`
	P66   Number `json:"p66"`
	P75   Number `json:"p75"`
	P80   Number `json:"p80"`
	P90   Number `json:"p90"`
	P95   Number `json:"p95"`
	P99   Number `json:"p99"`
	P999  Number `json:"p99_9"`
	P9999 Number `json:"p99_99"`
}

// Kind of request.
type Kind struct {
	Name         string  `json:"name"`
	SLO          SLO     `json:"slo"`
	Requests     Number  `json:"requests"`
	FailedRatio  Number  `json:"failed_ratio"`
	OverSLORatio Number  `json:"over_slo_ratio"`
	LeftRatio    Number  `json:"left_ratio"`
	AtSLO        Number  `json:"at_slo_ms"` // latency at the SLO's percentile
	Latency      Latency `json:"latency_ms"`
}

// SLO of a kind.
type SLO struct {
	Percentile Number `json:"percentile"`
	Latency    Number `json:"latency_ms"`
}

// Service of the application; requests are visits, from the start of the run.
type Service struct {
	Name                 string  `json:"name"`
	Requests             Number  `json:"requests"`
	FailedRatio          Number  `json:"failed_ratio"`
	Latency              Latency `json:"latency_ms"`
	CoreHours            Number  `json:"core_hours"`
	GiBHours             Number  `json:"gib_hours"`
	MeanReplicas         Number  `json:"mean_replicas"`
	Changes              Number  `json:"changes"`
	OptionalDroppedRatio Number  `json:"optional_dropped_ratio"`
	UsedCoreHours        Number  `json:"used_core_hours"`
	ThrottledRatio       Number  `json:"throttled_ratio"` // of CPU quota periods
	Restarts             Number  `json:"restarts"`
}

// Of makes the result of a finished run.
func Of(run Run, app *loadline.App, m *sim.Meter) Result {
	seconds := run.Duration.Seconds()
	r := Result{
		Policy: run.Policy, App: run.App, Workload: run.Workload, Engine: run.Engine, Seed: run.Seed,
		Cluster: run.Cluster, Currency: run.Currency,
		DurationSeconds:      Number(seconds),
		WindowsViolatedRatio: ratio(m.WindowsViolated, m.Windows),
		MeanReplicas:         ratio(m.ReplicaSeconds, seconds),
		Changes:              Number(m.Changes),
		Bill:                 Number(m.Bill),
		NodeHours:            Number(m.NodeSeconds / 3600),
		NodeCoreHours:        Number(m.NodeCoreSeconds / 3600),
		AllocatedCoreHours:   Number(m.AllocatedCoreSeconds / 3600),
		UsedCoreHours:        Number(m.UsedCoreSeconds / 3600),
	}
	var ended, failed, over, left, asked, dropped, price float64
	for i := range m.Kinds {
		k := &m.Kinds[i]
		ended += k.Ended
		failed += failures(k)
		over += k.Over
		left += k.Left
		r.Kinds = append(r.Kinds, kindOf(&app.Kinds[i], k))
	}
	r.Requests = Number(ended)
	r.FailedRatio = ratio(failed, ended)
	r.OverSLORatio = ratio(over, ended)
	r.LeftRatio = ratio(left, ended)
	r.Latency = latencyOf(m.Latency())
	for i := range m.Services {
		s := &m.Services[i]
		r.CoreHours += Number(s.CoreSeconds / 3600)
		r.GiBHours += Number(s.ByteSeconds / (1 << 30) / 3600)
		asked += s.OptionalAsked
		dropped += s.OptionalDropped
		price += s.OptionalDropped * app.Services[i].OptionalPrice
		r.Services = append(r.Services, serviceOf(&app.Services[i], s, seconds))
	}
	r.OptionalDroppedRatio = ratio(dropped, asked)
	if len(app.Tenants) > 0 {
		r.addApplications(app, m, run.Prices)
	}
	r.DegradedRatio = r.OverSLORatio + ratio(price, ended)
	return r
}

// failures after warm-up: requests that were sent and ended without a latency. Sums of fractions of requests
// differ by rounding, which is not a failure.
func failures(k *sim.KindMeter) float64 {
	if f := k.Ended - k.Left - k.Latency.Count(); f > 1e-9*k.Ended {
		return f
	}
	return 0
}

func kindOf(kind *loadline.Kind, k *sim.KindMeter) Kind {
	return Kind{
		Name:         kind.Name,
		SLO:          SLO{Number(kind.SLO.Percentile), Number(kind.SLO.Latency.Seconds() * 1e3)},
		Requests:     Number(k.Ended),
		FailedRatio:  ratio(failures(k), k.Ended),
		OverSLORatio: ratio(k.Over, k.Ended),
		LeftRatio:    ratio(k.Left, k.Ended),
		AtSLO:        Number(k.Latency.Quantile(kind.SLO.Percentile/100) / 1e6),
		Latency:      latencyOf(k.Latency),
	}
}

func serviceOf(service *loadline.Service, s *sim.ServiceMeter, seconds float64) Service {
	return Service{
		Name:                 service.Name,
		Requests:             Number(s.Arrived),
		FailedRatio:          ratio(s.Failed, s.Ended),
		Latency:              latencyOf(s.Latency),
		CoreHours:            Number(s.CoreSeconds / 3600),
		GiBHours:             Number(s.ByteSeconds / (1 << 30) / 3600),
		MeanReplicas:         ratio(s.ReplicaSeconds, seconds),
		Changes:              Number(s.Changes),
		OptionalDroppedRatio: ratio(s.OptionalDropped, s.OptionalAsked),
		UsedCoreHours:        Number(s.CPUSeconds / 3600),
		ThrottledRatio:       ratio(s.ThrottledPeriods, s.Periods),
		Restarts:             Number(s.Restarts),
	}
}

func latencyOf(h *sim.Histogram) Latency {
	q := func(q float64) Number { return Number(h.Quantile(q) / 1e6) }
	return Latency{
		Mean: Number(h.Mean() / 1e6),
		P50:  q(0.50), P66: q(0.66), P75: q(0.75), P80: q(0.80), P90: q(0.90),
		P95: q(0.95), P99: q(0.99), P999: q(0.999), P9999: q(0.9999),
	}
}

func ratio(part, whole float64) Number { return Number(part / whole) }
