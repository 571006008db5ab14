package controller

import "github.com/prometheus/client_golang/prometheus"

// fleetMetrics are what is told of students and teachers.
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
}

// newFleetMetrics makes them by the same makers as all others.
func newFleetMetrics(counter func(name, help string, labels []string, more ...string) *prometheus.CounterVec, gauge func(name, help string, labels []string, more ...string) *prometheus.GaugeVec) fleetMetrics {
	return fleetMetrics{
		decisions: counter("loadline_fleet_decisions_total", "Decisions of students that the fleet's servers have acknowledged.", ofApp),
		refused:   counter("loadline_fleet_refused_total", "Times that the stream of experience was full; decisions are kept and sent again.", ofApp),
		lost:      counter("loadline_fleet_lost_total", "Decisions that were let go because no server took them for long.", ofApp),
		bytes:     counter("loadline_fleet_bytes_total", "Bytes on the way to and from the fleet's servers, everything included.", ofApp, "direction"),
		waiting:   gauge("loadline_fleet_waiting_decisions", "Decisions that no server has acknowledged yet.", ofApp),
		reach:     gauge("loadline_fleet_in_reach", "1 if the fleet's servers can be reached, 0 if not; students act on without them.", ofApp),
		version:   gauge("loadline_fleet_weights_version", "Version of the weights that a service's student decides with.", ofService),
		counted:   gauge("loadline_fleet_teacher_counted", "Decisions that the teacher in this process has ever counted.", ofApp),
		learned:   gauge("loadline_fleet_teacher_learned", "Stretches of time that the teacher in this process has ever learned from.", ofApp),
		events:    gauge("loadline_fleet_teacher_events", "What the teacher in this process has noticed and done since the process began, such as a call back to school.", ofApp),
		published: gauge("loadline_fleet_teacher_version", "Version of the weights that the teacher in this process published last.", ofApp),
	}
}

// series that can be dropped when an application is no more.
type series interface {
	DeletePartialMatch(prometheus.Labels) int
}

func (m *fleetMetrics) all() []series {
	return []series{m.decisions, m.refused, m.lost, m.bytes, m.waiting, m.reach, m.version, m.counted, m.learned, m.published, m.events}
}

// fleet tells of the students of an application; nil = there are none.
func (m *applicationMetrics) fleet(students *member) {
	if m == nil || students == nil {
		return
	}
	to, carried := &m.all.fleet, students.link.Traffic()
	waiting, lost := students.agent.Publisher.Waiting()
	was := &students.news
	to.decisions.With(m.labels).Add(float64(carried.Decisions - was.carried.Decisions))
	to.refused.With(m.labels).Add(float64(carried.Refused - was.carried.Refused))
	to.lost.With(m.labels).Add(float64(lost - was.lost))
	to.bytes.With(m.with("direction", "sent")).Add(float64(carried.Sent - was.carried.Sent))
	to.bytes.With(m.with("direction", "received")).Add(float64(carried.Received - was.carried.Received))
	was.carried, was.lost = carried, lost
	to.waiting.With(m.labels).Set(float64(waiting))
	to.reach.With(m.labels).Set(map[bool]float64{true: 1}[students.link.Err() == nil])
	for _, s := range students.agent.Status() {
		to.version.With(m.with("service", s.Service)).Set(float64(s.Version))
	}
	if students.lesson != nil {
		l := students.lesson.state()
		to.counted.With(m.labels).Set(float64(l.counted))
		to.learned.With(m.labels).Set(float64(l.learned))
		to.published.With(m.labels).Set(float64(l.version))
		to.events.With(m.labels).Set(float64(l.events))
	}
}
