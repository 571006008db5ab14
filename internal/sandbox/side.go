package sandbox

import (
	"context"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
)

// Points of the charts, and the time that latencies and money of each cover.
const (
	sampleEvery  = 5 * time.Second
	latencyOver  = 30 * time.Second
	moneyOver    = time.Minute
	samplesOfAge = int(latencyOver / sampleEvery)
)

// maxKept is how many events and samples wait for the next state at most; older ones are dropped.
const maxKept = 1000

// side is one cluster with what scales it.
type side struct {
	scene *scene
	run   *simulate.Session
	rung  string // of the guard's ladder; "" = without one

	samples []Sample
	events  []Event
	held    string // why the last decision failed; "" = it did not

	next    time.Duration // of the samples
	past    []counters    // at the last samples, oldest first
	spare   *sim.Histogram
	nodes   map[string]string // state by name, at the last look
	use     []float64         // by service: cores, since the last scrape
	cpu     []float64         // by service: core-seconds at the last scrape
	scraped time.Duration

	bill, ended, over float64 // when the sandbox was opened
}

// counters at one instant.
type counters struct {
	at          time.Duration
	arrived     float64
	ended, over float64
	bill        float64
	latency     []*sim.Histogram // by kind
}

func openSide(sc *scene, spec simulate.Spec) (*side, error) {
	n := len(sc.app.Services)
	s := &side{
		scene: sc, next: sampleEvery, nodes: map[string]string{},
		spare: sim.NewHistogram(sim.ExporterBits), use: make([]float64, n), cpu: make([]float64, n),
	}
	for i := range s.use {
		s.use[i] = math.NaN()
	}
	if spec.Guard != "" {
		s.rung = guard.Primary.String()
	}
	spec.Hooks.Decision = s.decided
	spec.Hooks.Rung = s.rungChanged
	spec.Hooks.Scrape = s.scrape
	var err error
	if s.run, err = simulate.Open(spec); err != nil {
		return nil, err
	}
	s.look()
	s.remember()
	return s, nil
}

// advance simulates until an instant, with a sample every few seconds.
func (s *side) advance(ctx context.Context, to time.Duration) error {
	for s.run.At() < to {
		if err := s.run.AdvanceTo(ctx, min(to, s.next)); err != nil {
			return err
		}
		s.look()
		if s.run.At() >= s.next {
			s.sample()
			s.next += sampleEvery
		}
	}
	return nil
}

// scrape notes the CPU that services use.
func (s *side) scrape(r *sim.Reading, _ *sim.ControlPlane) {
	seconds := (r.At - s.scraped).Seconds()
	for i := range s.cpu {
		now := r.Services[i].Of[loadline.ServiceCPU]
		if seconds > 0 {
			s.use[i] = max(now-s.cpu[i], 0) / seconds
		}
		s.cpu[i] = now
	}
	s.scraped = r.At
}

// loseNode makes a node fail: the one with most pods, of those without the only pod of a service if
// there is one. The loss of a service that has one pod is the same whatever scales it.
func (s *side) loseNode() {
	cp := s.run.ControlPlane()
	pods, only := make([]int, len(cp.Nodes())), make([]bool, len(cp.Nodes()))
	for service := range s.scene.app.Services {
		slots := cp.Slots(service)
		for _, slot := range slots {
			if n := cp.Pod(slot).Node; n >= 0 {
				pods[n]++
				only[n] = only[n] || len(slots) == 1
			}
		}
	}
	most := -1
	for i := range pods {
		if !cp.Nodes()[i].Up {
			continue
		}
		if most < 0 || only[most] && !only[i] || only[most] == only[i] && pods[i] > pods[most] {
			most = i
		}
	}
	if most >= 0 {
		s.run.Disturb(sim.Disturbance{LoseNode: &most})
		s.look()
	}
}

// remember adds the counters of now to the past. The memory of those that have left is used again.
func (s *side) remember() {
	m := s.run.Meter()
	var c counters
	if keep := max(samplesOfAge, int(moneyOver/sampleEvery)) + 1; len(s.past) >= keep {
		c = s.past[0]
		copy(s.past, s.past[1:])
		s.past = s.past[:len(s.past)-1]
	}
	c.at, c.bill, c.arrived, c.ended, c.over = s.run.At(), m.Bill, 0, 0, 0
	if c.latency == nil {
		c.latency = make([]*sim.Histogram, len(m.Kinds))
	}
	for k := range m.Kinds {
		kind := &m.Kinds[k]
		c.arrived += kind.Arrived
		c.ended += kind.Ended
		c.over += kind.Over
		if c.latency[k] == nil {
			c.latency[k] = sim.NewHistogram(sim.ExporterBits)
		}
		c.latency[k].CopyFrom(kind.Exported)
	}
	s.past = append(s.past, c)
}

// before are the counters of a while ago, or the oldest.
func (s *side) before(age time.Duration) *counters {
	i := max(0, len(s.past)-1-int(age/sampleEvery))
	return &s.past[i]
}

// sample adds a point to the charts.
func (s *side) sample() {
	s.remember()
	now, last, then := &s.past[len(s.past)-1], s.before(sampleEvery), s.before(latencyOver)
	p := Sample{
		At: now.at.Seconds(), Load: (now.arrived - last.arrived) / (now.at - last.at).Seconds(),
		Over: result.Number((now.over - then.over) / (now.ended - then.ended)), PerHour: result.Number(math.NaN()),
	}
	if now.at >= moneyOver {
		p.PerHour = result.Number(s.perHour())
	}
	p.Worst, p.Kind = s.worst(now, then)
	cp := s.run.ControlPlane()
	for i := range cp.Nodes() {
		if n := &cp.Nodes()[i]; n.State() != sim.NodeGone && n.State() != sim.NodeLost {
			p.Nodes++
		}
	}
	for service := range s.scene.app.Services {
		p.Ready += cp.Ready(service)
		for _, slot := range cp.Slots(service) {
			if pod := cp.Pod(slot); pod.Node >= 0 {
				p.Cores += pod.Size.CPURequest
			}
		}
	}
	s.samples = keepLast(append(s.samples, p))
}

// worst is the latency of the kind that is closest to its SLO, or furthest beyond, as a ratio.
func (s *side) worst(now, then *counters) (result.Number, int) {
	worst, which := math.NaN(), 0
	for k := range now.latency {
		slo := s.scene.app.Kinds[k].SLO
		s.spare.CopyFrom(now.latency[k])
		s.spare.Sub(then.latency[k])
		if slo.Latency <= 0 || s.spare.Count() < 1 {
			continue
		}
		ratio := s.spare.Quantile(slo.Percentile/100) / float64(slo.Latency)
		if math.IsNaN(worst) || ratio > worst {
			worst, which = ratio, k
		}
	}
	return result.Number(worst), which
}

// perHour is what the last minute cost. Bills are settled every quarter of it.
func (s *side) perHour() float64 {
	now, then := &s.past[len(s.past)-1], s.before(moneyOver)
	hours := (now.at - then.at).Hours()
	if hours == 0 {
		return 0
	}
	return (now.bill - then.bill) / hours
}

// countFromNow makes bills and requests begin.
func (s *side) countFromNow() {
	m := s.run.Meter()
	s.bill, s.ended, s.over = m.Bill, 0, 0
	for k := range m.Kinds {
		s.ended += m.Kinds[k].Ended
		s.over += m.Kinds[k].Over
	}
}

// state of the cluster now, with what has happened since the last one.
func (s *side) state() Side {
	m, cp := s.run.Meter(), s.run.ControlPlane()
	out := Side{
		Bill: m.Bill - s.bill, PerHour: s.perHour(), Rung: s.rung, Samples: s.samples, Events: s.events,
		Requests: -s.ended, Over: result.Number(-s.over),
	}
	s.samples, s.events = nil, nil
	for k := range m.Kinds {
		out.Requests += m.Kinds[k].Ended
		out.Over += result.Number(m.Kinds[k].Over)
	}
	out.Over /= result.Number(out.Requests)
	place := make([]int, len(cp.Nodes()))
	for i := range cp.Nodes() {
		n := &cp.Nodes()[i]
		place[i] = len(out.Nodes)
		if state := n.State(); state != sim.NodeGone {
			out.Nodes = append(out.Nodes, Node{
				Slot: i, Name: n.Name, State: string(state), Cores: n.Cores, Free: max(n.Offered.Cores-n.Requested.Cores, 0), Others: n.Others.Want,
			})
		}
	}
	for service := range s.scene.app.Services {
		alloc := cp.Allocation()[service]
		of := Service{Desired: alloc.Replicas, Ready: cp.Ready(service), Request: alloc.Size.CPURequest}
		requested := 0.0
		for _, slot := range cp.Slots(service) {
			p := cp.Pod(slot)
			pod := Pod{p.ID, int64(service), int64(p.Phase), int64(math.Round(1000 * p.Size.CPURequest))}
			if p.Node < 0 {
				out.Pending = append(out.Pending, pod)
				continue
			}
			at := &out.Nodes[place[p.Node]]
			at.Pods = append(at.Pods, pod)
			if p.Phase == loadline.PodReady {
				requested += p.Size.CPURequest
			}
		}
		of.Use = result.Number(s.use[service] / requested)
		if requested == 0 {
			of.Use = result.Number(math.NaN())
		}
		out.Services = append(out.Services, of)
	}
	return out
}

func keepLast[T any](list []T) []T {
	if len(list) > maxKept {
		list = append(list[:0], list[len(list)-maxKept:]...)
	}
	return list
}
