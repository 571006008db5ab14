package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/kube"
)

// Metrics are Loadline's own metrics.
type Metrics struct {
	passes      *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	last        *prometheus.GaugeVec
	rung        *prometheus.GaugeVec
	steps       *prometheus.CounterVec
	met         *prometheus.GaugeVec
	overSLO     *prometheus.GaugeVec
	age         *prometheus.GaugeVec
	wanted      *prometheus.GaugeVec
	replicas    *prometheus.GaugeVec
	oldReplicas *prometheus.GaugeVec // under the former name
	moved       *prometheus.GaugeVec
	changes     *prometheus.CounterVec
	guards      *prometheus.CounterVec
	resizes     *prometheus.CounterVec
	records     *prometheus.CounterVec
	fleet       fleetMetrics
	drift       *prometheus.GaugeVec
	driftRatio  *prometheus.GaugeVec
	estimated   *prometheus.GaugeVec
	estimatedSL *prometheus.GaugeVec
	cores       *prometheus.GaugeVec // of reserves
	memory      *prometheus.GaugeVec
	cost        *prometheus.GaugeVec
}

var (
	ofApp     = []string{"namespace", "loadline"}
	ofService = []string{"namespace", "loadline", "service"}
	ofClass   = []string{"class"}
)

// NewMetrics registers them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels []string, more ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append(labels[:len(labels):len(labels)], more...))
		r.MustRegister(v)
		return v
	}
	gauge := func(name, help string, labels []string, more ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, append(labels[:len(labels):len(labels)], more...))
		r.MustRegister(v)
		return v
	}
	m := &Metrics{
		passes: counter("loadline_decisions_total",
			"Passes of the loop, by outcome: changed, kept, held (no data to decide on), failed, "+
				"or stale (another process holds the lease or has written the status).", ofApp, "outcome"),
		last:  gauge("loadline_last_decision_timestamp_seconds", "When the last decision was made.", ofApp),
		rung:  gauge("loadline_rung", "1 for the rung of the guard's ladder that is in force.", ofApp, "rung"),
		steps: counter("loadline_rung_changes_total", "Changes of the rung of the guard's ladder, by the new rung.", ofApp, "rung"),
		met: gauge("loadline_objective_met",
			"1 if the objective was met at the last decision, 0 if not; absent if it was not measured.", ofApp, "kind"),
		overSLO: gauge("loadline_objective_latency_ratio", "Latency at the objective's percentile divided by the objective.",
			ofApp, "kind"),
		age:      gauge("loadline_metrics_age_seconds", "Age of the newest sample that the last decision used.", ofApp),
		wanted:   gauge("loadline_wanted_replicas", "Replicas that the policy proposed, before the guards.", ofService),
		replicas: gauge("loadline_desired_replicas", "Desired replicas of the service, after the guards.", ofService),
		oldReplicas: gauge("loadline_told_replicas",
			"Deprecated: the former name of loadline_desired_replicas, exported for one more release.", ofService),
		moved:   gauge("loadline_service_moved", "1 if nothing blocks changes to the service.", ofService),
		changes: counter("loadline_changes_total", "Applied changes of a service, by axis.", ofService, "axis"),
		guards:  counter("loadline_guard_corrections_total", "Corrections by guards.", ofApp, "guard"),
		resizes: counter("loadline_pod_resizes_total", "Pod resizes, by outcome.", ofApp, "outcome"),
		records: counter("loadline_record_faults_total", "Decisions that could not be written to the log.", ofApp),
		drift: gauge("loadline_drift",
			"1 if a measure of the application (cpu, visits, latency, load) deviates from the twin's, 0 if it does not; absent if it is not "+
				"compared.", ofApp, "measure"),
		driftRatio: gauge("loadline_drift_ratio",
			"A measure of a service (cpu, visits, latency) divided by the twin's; absent if it is not compared.", ofService, "measure"),
		estimated: gauge("loadline_estimated_cost_per_month",
			"Cost per month of what runs (role current) and of other judged deployments (role other), estimated on the twin.", ofApp,
			"role", "deployment"),
		estimatedSL: gauge("loadline_estimated_over_slo_ratio",
			"Share of the requests over the SLO with a deployment, estimated on the twin.", ofApp, "role", "deployment"),
		cores:  gauge("loadline_reserve_cores", "Cores of the reserve of a class: wanted, or held.", ofClass, "state"),
		memory: gauge("loadline_reserve_memory_bytes", "Memory of the reserve of a class: wanted, or held.", ofClass, "state"),
		cost:   gauge("loadline_reserve_cost_per_hour", "Cost of the held reserve per hour, in the currency of the class.", ofClass),
	}
	m.fleet = newFleetMetrics(counter, gauge)
	m.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "loadline_pass_seconds", Help: "Time that one pass took: observe, decide, guard, apply.",
		Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
	}, ofApp)
	r.MustRegister(m.seconds)
	return m
}

// of one application.
func (m *Metrics) of(namespace, name string) *applicationMetrics {
	return &applicationMetrics{all: m, labels: prometheus.Labels{"namespace": namespace, "loadline": name}}
}

// applicationMetrics are those of one LoadLine; nil keeps none.
type applicationMetrics struct {
	all    *Metrics
	labels prometheus.Labels
}

func (m *applicationMetrics) with(key, value string) prometheus.Labels {
	return prometheus.Labels{"namespace": m.labels["namespace"], "loadline": m.labels["loadline"], key: value}
}

// forget deletes all series of an application that no longer exists.
func (m *applicationMetrics) forget() {
	if m == nil {
		return
	}
	for _, v := range append(m.all.fleet.all(),
		m.all.passes, m.all.seconds, m.all.last, m.all.rung, m.all.steps, m.all.met, m.all.overSLO, m.all.age,
		m.all.wanted, m.all.replicas, m.all.oldReplicas, m.all.moved, m.all.changes, m.all.guards, m.all.resizes, m.all.records,
		m.all.drift, m.all.driftRatio, m.all.estimated, m.all.estimatedSL,
	) {
		v.DeletePartialMatch(m.labels)
	}
}

// pass counts a pass that has ended.
func (m *applicationMetrics) pass(v *view, took time.Duration) {
	if m == nil {
		return
	}
	m.all.seconds.With(m.labels).Observe(took.Seconds())
	m.all.passes.With(m.with("outcome", v.outcome())).Inc()
	m.all.last.With(m.labels).Set(float64(v.at.UnixMilli()) / 1000)
	for r := guard.Primary; r <= guard.Floor; r++ {
		on := 0.0
		if r == v.ladder.Rung {
			on = 1
		}
		m.all.rung.With(m.with("rung", r.String())).Set(on)
	}
	if newest := v.newest(); !newest.IsZero() {
		m.all.age.With(m.labels).Set(v.at.Sub(newest).Seconds())
	}
	for i, k := range v.kinds {
		labels := m.with("kind", v.app.App.Kinds[i].Name)
		if met, known := v.met(i); known {
			m.all.met.With(labels).Set(map[bool]float64{true: 1}[met])
		} else {
			m.all.met.Delete(labels)
		}
		if k.AtSLO.Present() {
			m.all.overSLO.With(labels).Set(k.AtSLO.Value / v.app.App.Kinds[i].SLO.Latency.Seconds())
		} else {
			m.all.overSLO.Delete(labels)
		}
	}
	for i := range v.services {
		s := &v.services[i]
		labels := m.with("service", v.app.App.Services[i].Name)
		if s.wanted.Replicas.Set {
			m.all.wanted.With(labels).Set(float64(s.wanted.Replicas.Value))
		}
		m.all.replicas.With(labels).Set(float64(s.desired.Replicas))
		m.all.oldReplicas.With(labels).Set(float64(s.desired.Replicas))
		m.all.moved.With(labels).Set(map[bool]float64{true: 1}[!s.hold.held()])
	}
	for _, c := range v.changed {
		m.all.guards.With(m.with("guard", c.Guard)).Inc()
	}
}

// change counts a change that was applied.
func (m *applicationMetrics) change(service string, set loadline.Setting) {
	if m == nil {
		return
	}
	count := func(axis string, is bool) {
		if is {
			labels := m.with("service", service)
			labels["axis"] = axis
			m.all.changes.With(labels).Inc()
		}
	}
	count("replicas", set.Replicas.Set)
	count("cpu", set.CPURequest.Set || set.CPULimit.Set)
	count("memory", set.MemoryRequest.Set || set.MemoryLimit.Set)
	count("brownout", set.Brownout.Set)
}

func (m *applicationMetrics) resized(outcomes []kube.Outcome) {
	if m == nil {
		return
	}
	for _, o := range outcomes {
		m.all.resizes.With(m.with("outcome", string(o.Result))).Inc()
	}
}

func (m *applicationMetrics) rung(r guard.Rung) {
	if m != nil {
		m.all.steps.With(m.with("rung", r.String())).Inc()
	}
}

func (m *applicationMetrics) recordFault() {
	if m != nil {
		m.all.records.With(m.labels).Inc()
	}
}

// reserve of a class.
func (m *Metrics) reserve(class string, wanted, held loadline.Room, cost float64) {
	if m == nil {
		return
	}
	for state, room := range map[string]loadline.Room{"wanted": wanted, "held": held} {
		m.cores.WithLabelValues(class, state).Set(room.Cores)
		m.memory.WithLabelValues(class, state).Set(float64(room.Memory))
	}
	m.cost.WithLabelValues(class).Set(cost)
}

// forgetReserve deletes the series of a class that no longer exists.
func (m *Metrics) forgetReserve(class string) {
	if m == nil {
		return
	}
	for _, v := range []*prometheus.GaugeVec{m.cores, m.memory, m.cost} {
		v.DeletePartialMatch(prometheus.Labels{"class": class})
	}
}
