package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
)

// historyRecorder turns readings into steps. Counters are assumed to grow evenly between two readings:
// a step that ends between them gets its share. A gauge applies from the previous reading up to
// its own.
type historyRecorder struct {
	spec     HistorySpec
	began    bool
	at       time.Duration     // of the last reading
	steps    int               // completed
	services []serviceRecorder // in the order of the app
	kinds    []callRecorder    // in the order of the app
	edges    []callRecorder    // in the order of sim.Edges
	nodes    nodeRecorder
	pods     []int64 // by slot: the last ready pod
	rng      *rand.Rand

	shown   []shown                  // by exporters
	columns []loadline.ServiceMetric // of the history
}

// serviceRecorder is one service: its last counters, the current step, and the completed steps.
type serviceRecorder struct {
	last sim.ServiceReading
	open serviceSums
	done [history.ServiceMetrics]history.Series
}

// callRecorder is one kind of request, or the calls along one edge.
type callRecorder struct {
	from, to, operation string
	last                callReading
	open                callSums
	done                [history.CallMetrics]history.Series
}

// callReading is a counter of calls at one instant.
type callReading struct {
	count, failed float64
	latency       sim.LatencyReading
}

func newHistoryRecorder(s HistorySpec) *historyRecorder {
	t := &historyRecorder{
		spec:     s,
		services: make([]serviceRecorder, len(s.App.Services)),
		kinds:    make([]callRecorder, len(s.App.Kinds)),
		rng:      sim.Stream(s.Seed, sim.StreamMetrics, 1),
		shown:    shownMetrics(),
		columns:  loadline.ServiceTable.Columns(),
	}
	steps := int(s.Duration / s.Step)
	for i := range t.services {
		for _, m := range t.columns {
			t.services[i].done[m] = make(history.Series, 0, steps)
		}
	}
	for k, kind := range s.App.Kinds {
		t.kinds[k] = newCallRecorder("", s.App.Services[kind.Root.Service].Name, kind.Name, steps)
	}
	for _, e := range sim.Edges(s.App) {
		t.edges = append(t.edges, newCallRecorder(s.App.Services[e.From].Name, s.App.Services[e.To].Name, "", steps))
	}
	return t
}

func newCallRecorder(from, to, operation string, steps int) callRecorder {
	c := callRecorder{from: from, to: to, operation: operation}
	for m := range c.done {
		c.done[m] = make(history.Series, 0, steps)
	}
	return c
}

// watch adds a reading. It rejects steps shorter than the time between readings: their values
// would be invented.
func (t *historyRecorder) watch(r *sim.Reading, cp *sim.ControlPlane) error {
	if !t.began {
		t.began = true
		t.nodes.watched.watch(r, cp)
		t.keep(r)
		t.noteReady(cp, nil)
		return nil
	}
	between := r.At - t.at
	if between > t.spec.Step {
		return fmt.Errorf("step %v is shorter than the %v between the scrapes of policy %s: choose a step of at least %v",
			t.spec.Step, between, t.spec.Policy, between)
	}
	if between > 0 {
		t.nodes.watched.watch(r, cp)
	}
	for from := t.at; from < r.At; {
		ends := time.Duration(t.steps+1) * t.spec.Step
		until := min(r.At, ends)
		t.add(r, cp, from, until)
		if until == ends {
			t.close()
		}
		from = until
	}
	t.keep(r)
	return nil
}

// add adds a part of the time since the last reading.
func (t *historyRecorder) add(r *sim.Reading, cp *sim.ControlPlane, from, until time.Duration) {
	share := float64(until-from) / float64(r.At-t.at)
	seconds := (until - from).Seconds()
	for i := range t.services {
		s := &t.services[i]
		s.addReading(t.shown, &r.Services[i], share, seconds)
		s.open.means[history.Ready].add(float64(cp.Ready(i)), seconds)
		s.open.means[history.Desired].add(float64(cp.Allocation()[i].Replicas), seconds)
		for _, slot := range cp.Slots(i) {
			s.addSize(cp.Pod(slot).Size, seconds)
		}
	}
	for k := range t.kinds {
		t.kinds[k].add(kindReading(&r.Kinds[k]), share)
	}
	for e := range t.edges {
		t.edges[e].add(edgeReading(&r.Calls[e]), share)
	}
	t.nodes.add(cp, until-from, r.At-t.at)
	t.noteReady(cp, func(p *sim.Pod) bool {
		if p.Ready <= from || p.Ready > until {
			return false
		}
		t.services[p.Service].open.means[history.Startup].add((p.Ready - p.Created).Seconds(), 1)
		return true
	})
}

// addReading adds a share of the counters' growth, and gauges for a duration.
func (s *serviceRecorder) addReading(shown []shown, now *sim.ServiceReading, share, seconds float64) {
	o, last := &s.open, &s.last
	for _, v := range shown {
		if v.gauge {
			o.means[v.metric].add(now.Of[v.metric], seconds)
		} else {
			o.grown[v.metric] += share * (now.Of[v.metric] - last.Of[v.metric])
		}
	}
	o.latency.add(&last.Latency, &now.Latency, share)
}

// shown is a metric that exporters show as a number.
type shown struct {
	metric loadline.ServiceMetric
	gauge  bool
}

// shownMetrics are the metrics of the table that readings have.
func shownMetrics() []shown {
	var list []shown
	for m, row := range loadline.ServiceTable {
		switch row.Aggregation {
		case loadline.PerSecond, loadline.Total, loadline.Ratio:
			list = append(list, shown{loadline.ServiceMetric(m), false})
		case loadline.Gauge:
			if row.Field != nil { // otherwise the control plane has it
				list = append(list, shown{loadline.ServiceMetric(m), true})
			}
		}
	}
	return list
}

// addSize adds one pod's size. A limit of 0 is none, which is absent.
func (s *serviceRecorder) addSize(z loadline.Size, seconds float64) {
	m := &s.open.means
	m[history.CPURequest].add(z.CPURequest, seconds)
	m[history.MemoryRequest].add(float64(z.MemoryRequest), seconds)
	if z.CPULimit > 0 {
		m[history.CPULimit].add(z.CPULimit, seconds)
	}
	if z.MemoryLimit > 0 {
		m[history.MemoryLimit].add(float64(z.MemoryLimit), seconds)
	}
}

// noteReady calls take for pods that are ready for the first time. A restarted pod becomes
// ready again, long after its creation: that is not a start-up. The initial pods were not
// observed starting: with a nil function they are only recorded.
func (t *historyRecorder) noteReady(cp *sim.ControlPlane, take func(*sim.Pod) bool) {
	for i := range t.services {
		for _, slot := range cp.Slots(i) {
			p := cp.Pod(slot)
			for len(t.pods) <= slot {
				t.pods = append(t.pods, 0)
			}
			if p.Ready == sim.Never || t.pods[slot] == p.ID {
				continue
			}
			if take == nil || take(p) {
				t.pods[slot] = p.ID
			}
		}
	}
}

func kindReading(k *sim.KindReading) callReading {
	return callReading{count: k.Arrived, failed: k.Failed, latency: k.Latency}
}

// edgeReading has no quantiles: callers do not measure them.
func edgeReading(c *sim.CallReading) callReading {
	none := math.NaN()
	return callReading{count: c.Count, failed: c.Failed, latency: sim.LatencyReading{
		Count: c.Count, SumSeconds: c.SumSeconds, P50: none, P90: none, P95: none, P99: none,
	}}
}

func (c *callRecorder) add(now callReading, share float64) {
	c.open.count += share * (now.count - c.last.count)
	c.open.failed += share * (now.failed - c.last.failed)
	c.open.latency.add(&c.last.latency, &now.latency, share)
}

func (c *callRecorder) keep(now callReading) {
	c.last.count, c.last.failed = now.count, now.failed
	keepLatency(&c.last.latency, &now.latency)
}

// keep stores a reading.
func (t *historyRecorder) keep(r *sim.Reading) {
	t.at = r.At
	for i := range t.services {
		last := &t.services[i].last
		latency := last.Latency
		*last = r.Services[i]
		last.Pods, last.Own = nil, sim.LatencyReading{}
		last.Latency = latency
		keepLatency(&last.Latency, &r.Services[i].Latency)
	}
	for k := range t.kinds {
		t.kinds[k].keep(kindReading(&r.Kinds[k]))
	}
	for e := range t.edges {
		t.edges[e].keep(edgeReading(&r.Calls[e]))
	}
}

// close ends a step.
func (t *historyRecorder) close() {
	seconds := t.spec.Step.Seconds()
	for i := range t.services {
		s := &t.services[i]
		lost, noise := t.draw()
		for _, m := range t.columns {
			value := s.open.value(m, seconds)
			if m == history.CPU {
				value *= noise
			}
			s.done[m] = append(s.done[m], kept(value, lost))
		}
		latency := s.open.latency
		latency.reset()
		s.open = serviceSums{latency: latency}
	}
	for k := range t.kinds {
		lost, _ := t.draw()
		t.kinds[k].close(seconds, lost)
	}
	for e := range t.edges {
		lost, _ := t.draw()
		t.edges[e].close(seconds, lost)
	}
	t.nodes.close(t.steps)
	t.steps++
}

func (c *callRecorder) close(seconds float64, lost bool) {
	l := &c.open.latency
	values := [history.CallMetrics]float64{
		history.CallRate:   c.open.count / seconds,
		history.CallErrors: c.open.failed / seconds,
		history.CallMean:   l.mean(),
		history.CallP50:    l.quantile(0),
		history.CallP90:    l.quantile(1),
		history.CallP95:    l.quantile(2),
		history.CallP99:    l.quantile(3),
	}
	for m := range c.done {
		c.done[m] = append(c.done[m], kept(values[m], lost))
	}
	latency := *l
	latency.reset()
	c.open = callSums{latency: latency}
}

// draw draws whether a step of one target is lost, and the noise of its CPU.
func (t *historyRecorder) draw() (lost bool, noise float64) {
	p := &t.spec.Perturb
	noise = 1
	if p.MetricsLoss > 0 {
		lost = t.rng.Float64() < p.MetricsLoss
	}
	if p.CPUNoise > 0 {
		noise = max(0, 1+p.CPUNoise*t.rng.NormFloat64())
	}
	return lost, noise
}

func kept(v float64, lost bool) float32 {
	if lost {
		v = math.NaN()
	}
	return float32(v)
}

// history is the recording.
func (t *historyRecorder) history() *history.History {
	// The run has checked the policy; one that is given as a Decider shows no autoscaler.
	var scaled []history.Autoscaler
	if t.spec.Decider == nil {
		scaled, _ = policy.AutoscalersOf(t.spec.Policy, t.spec.App)
	}
	h := &history.History{
		Start: sim.Epoch.Add(t.spec.Step), Step: t.spec.Step, Steps: t.steps,
		Manifest: history.Manifest{Version: history.Version, Source: t.spec.source(), Autoscalers: scaled},
	}
	for i := range t.services {
		h.Services = append(h.Services, history.Service{Name: t.spec.App.Services[i].Name, Series: t.services[i].done})
	}
	for _, c := range slices.Concat(t.kinds, t.edges) {
		h.Calls = append(h.Calls, history.Calls{From: c.from, To: c.to, Operation: c.operation, Series: c.done})
	}
	h.Nodes = t.nodes.history()
	h.Tidy()
	h.Manifest.Absent = h.Absences("it did not happen in the simulated cluster, or the engine does not measure it")
	return h
}
