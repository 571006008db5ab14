package msars

import (
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// Features of a service in addition to DRPC's, which has only the users' SLO.
var Features = []formulation.Feature{
	{Name: "partial_slo", About: "time that a visit may take without its calls, over the users' SLO; 1 where nothing is split"},
	{Name: "need", About: "replicas that keep the part under the load that is expected, by the profile, over those asked for; 0 = " +
		"not known"},
	{Name: "floor", About: "replicas at the least over those asked for: 1 = none can be taken away"},
}

const extras = 3

// latest is the upper bound of response times relative to a part.
const latest = 10

// encoder encodes the features of DRPC's teacher for each service, its response time relative
// to its part of the SLO, and the part itself.
type encoder struct {
	drpc    *drpc.Encoder
	partial []loadline.SLO
	locals  []drpc.Local
	over    []float64 // response times relative to the parts; NaN = none
	view    drpc.View
	rows    []float32
}

func newEncoder(app *loadline.App) (*encoder, error) {
	of, err := drpc.NewEncoder(app)
	if err != nil {
		return nil, err
	}
	n := len(app.Services)
	return &encoder{drpc: of, partial: make([]loadline.SLO, n), locals: make([]drpc.Local, n), over: make([]float64, n)}, nil
}

// width is the number of features of one service.
func (e *encoder) width() int { return e.drpc.Width(drpc.Shared)/len(e.drpc.App.Services) + extras }

// observe observes a service. If something was not measured, it returns its name, and the last
// observation is kept.
func (e *encoder) observe(s loadline.Situation, service int, p *Part) (absent string) {
	var local drpc.Local
	if absent := e.drpc.Local(s, service, &local); absent != "" {
		return absent
	}
	over, known := overPart(&s.Now().Services[service], p)
	if known {
		local[drpc.Locals-1] = squash(over)
		e.over[service] = over
	} else {
		local[drpc.Locals-1] = 0
		e.over[service] = math.NaN()
	}
	e.locals[service] = local
	return ""
}

// overPart is a service's response time relative to its part: its own time where both are
// known, since the time of its calls is others' part; the time with calls otherwise. Where more
// visits fail than the percentile allows, or there are visits and none ends, it is the upper
// bound. Without requests or without an SLO there is none.
func overPart(o *loadline.ServiceObservation, p *Part) (over float64, known bool) {
	rate := o.Rate.Or(0)
	own := at(&o.Own, p.Percentile)
	whole := at(&o.Latency, p.Percentile)
	switch {
	case p.WithCalls <= 0:
		return 0, false
	case rate > 0 && o.Errors.Or(0)/rate > 1-p.Percentile/100:
		return latest, true
	case p.Own > 0 && own.Present():
		return min(own.Value/p.Own, latest), true
	case whole.Present():
		return min(whole.Value/p.WithCalls, latest), true
	case o.Concurrency.Or(0) > 0:
		return latest, true
	}
	return 0, false
}

// at is the latency at a percentile, or at the nearest measured one above it.
func at(l *loadline.Latency, percentile float64) loadline.Sample {
	switch {
	case percentile <= 50:
		return l.P50
	case percentile <= 90:
		return l.P90
	case percentile <= 95:
		return l.P95
	}
	return l.P99
}

// share returns the parts as partial SLOs.
func (e *encoder) share(parts []Part) []loadline.SLO {
	for i := range parts {
		e.partial[i] = loadline.SLO{Percentile: parts[i].Percentile, Latency: seconds(parts[i].WithCalls)}
		if parts[i].WithCalls == 0 { // no SLO covers it: the budget of its model is used
			e.partial[i] = e.drpc.Topology.Services[i].Budget
		}
	}
	return e.partial
}

// fill appends the agent's observation: a row for each service.
func (e *encoder) fill(s loadline.Situation, parts []Part, into []float32) []float32 {
	e.drpc.Observe(s, e.locals, &e.view)
	e.view.Machines = machines(s.Now(), e.view.Machines)
	e.rows = e.drpc.Encode(drpc.Shared, &e.view, e.rows[:0])
	n := e.width() - extras
	for i := range parts {
		into = append(into, e.rows[i*n:][:n]...)
		of := e.own(s, i, &parts[i])
		into = append(into, of[:]...)
	}
	return into
}

// fullest is the upper bound of a machine's utilisation, as in DRPC.
const fullest = 2

// machines as measured; if none was, one that all replicas are on. In a cluster only pods are
// measured, and an agent trained with machines would take their absence for idle ones.
func machines(o *loadline.Observation, seen []drpc.Machine) []drpc.Machine {
	for i := range seen {
		if seen[i].Known {
			return seen
		}
	}
	cpu, memory, cores, bytes := 0.0, 0.0, 0.0, 0.0
	for i := range o.Services {
		s := &o.Services[i]
		cpu += s.CPU.Or(0)
		memory += s.Memory.Or(0)
		for j := range s.Pods {
			if p := &s.Pods[j]; p.Phase != loadline.PodPending {
				cores += p.Size.CPURequest
				bytes += float64(p.Size.MemoryRequest)
			}
		}
	}
	if cpu <= 0 || memory <= 0 || cores <= 0 || bytes <= 0 {
		return seen
	}
	return append(seen, drpc.Machine{CPU: float32(min(cpu/cores, fullest)), Memory: float32(min(memory/bytes, fullest)), Known: true})
}

// own features of a service's row.
func (e *encoder) own(s loadline.Situation, service int, p *Part) (f [extras]float32) {
	desired := max(s.InFlight[service].Replicas, 1)
	if p.Whole > 0 {
		f[0] = 1
		if p.Own > 0 {
			f[0] = float32(p.Own / p.Whole)
		}
	}
	if p.curve != nil {
		f[1] = squash(needed(p, expected(s, service)) / float64(desired))
	}
	f[2] = float32(max(e.drpc.App.Services[service].Bounds.MinReplicas, 1)) / float32(desired)
	return f
}

// needed is the number of replicas that meet a part under a load, not rounded. If none do, it
// is the number that serves the load at the highest measured rate, plus a margin.
func needed(p *Part, rate float64) float64 {
	if load, can := p.curve.LoadAt(p.Own); can && load > 0 {
		return rate / load
	}
	return 2 * rate / p.curve.MaxLoad()
}

// expected is the highest rate of visits, current or by the forecast's medians.
func expected(s loadline.Situation, service int) float64 {
	highest := s.Now().Services[service].Rate.Or(0)
	if len(s.Forecast) > service {
		for _, m := range s.Forecast[service].Median {
			highest = max(highest, m.Or(0))
		}
	}
	return highest
}

// squash compresses ratios and keeps their order.
func squash(v float64) float32 { return float32(math.Log2(1 + min(max(v, 0), latest))) }
