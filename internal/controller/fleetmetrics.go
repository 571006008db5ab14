package controller

import "github.com/prometheus/client_golang/prometheus"

// fleetMetrics describe students and teachers.
type fleetMetrics struct {
	decisions *prometheus.CounterVec
	refused   *prometheus.CounterVec
	lost      *prometheus.CounterVec
	bytes     *prometheus.CounterVec
	waiting   *prometheus.GaugeVec
	reach     *prometheus.GaugeVec
	version   *prometheus.GaugeVec
	counted   *prometheus.GaugeVec
	learned   *prometheus.GaugeVec
	published *prometheus.GaugeVec
	events    *prometheus.GaugeVec
	restarts  *prometheus.GaugeVec
}

// newFleetMetrics makes the metrics with the constructors of all others.
func newFleetMetrics(counter func(name, help string, labels []string, more ...string) *prometheus.CounterVec,
	gauge func(name, help string, labels []string, more ...string) *prometheus.GaugeVec) fleetMetrics {
	return fleetMetrics{
		decisions: counter("loadline_fleet_decisions_total", "Decisions of students that the fleet's servers have acknowledged.", ofApp),
		refused: counter("loadline_fleet_refused_total",
			"Attempts to publish that were refused because the stream was full; they are repeated.", ofApp),
		lost: counter("loadline_fleet_lost_total", "Decisions that were dropped because no server acknowledged them for long.",
			ofApp),
		bytes: counter("loadline_fleet_bytes_total", "Bytes sent to and received from the fleet's servers, including the protocol.",
			ofApp, "direction"),
		waiting: gauge("loadline_fleet_waiting_decisions", "Decisions that no server has acknowledged yet.", ofApp),
		reach:   gauge("loadline_fleet_in_reach", "1 if the fleet can be used, 0 if not; students keep deciding without it.", ofApp),
		version: gauge("loadline_fleet_weights_version", "Version of the weights in use by a service's student.", ofService),
		counted: gauge("loadline_fleet_teacher_counted", "Decisions that the embedded teacher has counted.", ofApp),
		learned: gauge("loadline_fleet_teacher_learned", "Periods that the embedded teacher has learned from.", ofApp),
		events: gauge("loadline_fleet_teacher_events",
			"Events of the embedded teacher since the process started, such as a training.", ofApp),
		published: gauge("loadline_fleet_teacher_version", "Version of the weights that the embedded teacher published last.", ofApp),
		restarts: gauge("loadline_fleet_teacher_restarts",
			"Failures of the embedded teacher since the process started, each followed by a restart.", ofApp),
	}
}

// series that are dropped with their application.
type series interface {
	DeletePartialMatch(prometheus.Labels) int
}

func (m *fleetMetrics) all() []series {
	return []series{m.decisions, m.refused, m.lost, m.bytes, m.waiting, m.reach, m.version, m.counted, m.learned, m.published, m.events,
		m.restarts}
}

// fleet updates the metrics of an application's students; nil = it has none.
func (m *applicationMetrics) fleet(students *member) {
	if m == nil || students == nil {
		return
	}
	to, traffic := &m.all.fleet, students.link.Traffic()
	waiting, lost := students.agent.Publisher.Waiting()
	was := &students.reported
	to.decisions.With(m.labels).Add(float64(traffic.Decisions - was.traffic.Decisions))
	to.refused.With(m.labels).Add(float64(traffic.Refused - was.traffic.Refused))
	to.lost.With(m.labels).Add(float64(lost - was.lost))
	to.bytes.With(m.with("direction", "sent")).Add(float64(traffic.Sent - was.traffic.Sent))
	to.bytes.With(m.with("direction", "received")).Add(float64(traffic.Received - was.traffic.Received))
	was.traffic, was.lost = traffic, lost
	to.waiting.With(m.labels).Set(float64(waiting))
	to.reach.With(m.labels).Set(map[bool]float64{true: 1}[students.agent.Err() == nil])
	for _, s := range students.agent.Status() {
		to.version.With(m.with("service", s.Service)).Set(float64(s.Version))
	}
	if students.teacher != nil {
		s := students.teacher.Status()
		to.counted.With(m.labels).Set(float64(s.Counted))
		to.learned.With(m.labels).Set(float64(s.Learned))
		to.published.With(m.labels).Set(float64(s.Version))
		to.events.With(m.labels).Set(float64(s.Events))
		to.restarts.With(m.labels).Set(float64(s.Restarts))
	}
}
