package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// observer is the metrics system: it keeps the recent scrapes and answers as a range query
// would. Its data are as limited as a real system's: a rate needs two scrapes, and lost scrapes
// stay lost.
type observer struct {
	app      *loadline.App
	metrics  Metrics
	rng      []*rand.Rand // by tenant
	tenants  []loadline.TenantRange
	ring     []scrape // ring[(first+i)%len], oldest first
	first    int
	count    int
	scrapeAt time.Duration // the next time
	scratch  *Histogram
	queries  []serviceQuery
}

// scrape is one reading and what was lost of it.
type scrape struct {
	Reading
	services []fate
	pods     [][]fate // parallel to Services[i].Pods
	kinds    []fate
}

// fate of one target's scrape. The noise is drawn with the scrape and not with the query, so
// that repeated queries agree.
type fate struct {
	lost     bool
	cpuNoise float64 // factor
}

func newObserver(app *loadline.App, m Metrics, seed uint64) *observer {
	// The newest usable scrape may be a window old, and its rate covers another window before
	// it.
	places := int((2*m.Window+m.Lag)/m.Scrape) + 2
	o := &observer{
		app: app, metrics: m, tenants: app.TenantRanges(),
		ring: make([]scrape, places), scratch: NewHistogram(ExporterBits), queries: serviceQueries(),
	}
	for t := range o.tenants {
		o.rng = append(o.rng, Stream(TenantSeed(seed, t), StreamMetrics, 0))
	}
	for i := range o.ring {
		s := &o.ring[i]
		s.Resize(len(app.Services), len(app.Kinds), 0)
		s.services = make([]fate, len(app.Services))
		s.pods = make([][]fate, len(app.Services))
		s.kinds = make([]fate, len(app.Kinds))
	}
	return o
}

// next is the reading to fill for the coming scrape.
func (o *observer) next() *Reading { return &o.ring[(o.first+o.count)%len(o.ring)].Reading }

// store keeps the reading that next returned, and draws loss and noise.
func (o *observer) store() {
	s := &o.ring[(o.first+o.count)%len(o.ring)]
	for t := range o.tenants {
		o.drawTenant(s, &o.tenants[t], o.rng[t])
	}
	if o.count++; o.count == len(o.ring) { // one place stays free for the next
		o.first = (o.first + 1) % len(o.ring)
		o.count--
	}
}

// drawTenant draws the loss and the noise of one tenant's part of a scrape.
func (o *observer) drawTenant(s *scrape, t *loadline.TenantRange, rng *rand.Rand) {
	for i := t.FirstService; i < t.FirstService+t.Services; i++ {
		s.services[i] = o.draw(rng)
		n := len(s.Services[i].Pods)
		s.pods[i] = slices.Grow(s.pods[i][:0], n)[:n]
		for j := range s.pods[i] {
			s.pods[i][j] = o.draw(rng)
		}
	}
	for i := t.FirstKind; i < t.FirstKind+t.Kinds; i++ {
		s.kinds[i] = o.draw(rng)
	}
}

func (o *observer) draw(rng *rand.Rand) fate {
	f := fate{cpuNoise: 1}
	if o.metrics.Loss > 0 {
		f.lost = rng.Float64() < o.metrics.Loss
	}
	if o.metrics.CPUNoise > 0 {
		f.cpuNoise = max(0, 1+o.metrics.CPUNoise*rng.NormFloat64())
	}
	return f
}

// at is the i-th scrape, 0 the oldest.
func (o *observer) at(i int) *scrape { return &o.ring[(o.first+i)%len(o.ring)] }

// span finds the scrapes of one target that a query at now sees: the newest visible one, and
// the oldest within a window of it. Either may be missing (-1); a rate needs both.
func (o *observer) span(now time.Duration, has func(i int) bool) (oldest, newest int) {
	oldest, newest = -1, -1
	visible := now - o.metrics.Lag
	for i := o.count - 1; i >= 0; i-- {
		at := o.at(i).At
		switch {
		case at > visible:
			continue
		case newest < 0 && at < visible-o.metrics.Window:
			return -1, -1 // stale
		case newest >= 0 && at < o.at(newest).At-o.metrics.Window:
			return oldest, newest
		case !has(i):
			continue
		case newest < 0:
			newest = i
		default:
			oldest = i
		}
	}
	return oldest, newest
}

// observe answers all queries of a tenant at once.
func (o *observer) observe(now time.Duration, cp *ControlPlane, of loadline.TenantRange, into *loadline.Observation) {
	into.At = Time(now)
	into.Services = resize(into.Services, of.Services)
	into.Kinds = resize(into.Kinds, of.Kinds)
	into.Nodes = resize(into.Nodes, len(cp.Nodes()))
	for i := range into.Services {
		service := of.FirstService + i
		o.service(now, service, &into.Services[i])
		into.Services[i].Brownout = cp.Allocation()[service].Brownout
		o.pods(now, service, cp, &into.Services[i])
	}
	for i := range into.Kinds {
		o.kind(now, of.FirstKind+i, &into.Kinds[i])
	}
	for i := range into.Nodes {
		into.Nodes[i] = o.node(now, i)
		into.Nodes[i].Lost = !cp.Nodes()[i].Up
	}
}

func (o *observer) service(now time.Duration, i int, into *loadline.ServiceObservation) {
	*into = loadline.ServiceObservation{Pods: into.Pods[:0]}
	oldest, newest := o.span(now, func(s int) bool { return !o.at(s).services[i].lost })
	if newest < 0 {
		return
	}
	last := &o.at(newest).Services[i]
	at := Time(o.at(newest).At)
	if oldest < 0 {
		for j := range o.queries {
			if q := &o.queries[j]; q.single {
				*q.field(into) = sample(last.Of[q.metric], at)
			}
		}
		return
	}
	first := &o.at(oldest).Services[i]
	seconds := (o.at(newest).At - o.at(oldest).At).Seconds()
	for j := range o.queries {
		q := &o.queries[j]
		*q.field(into) = q.answer(first, last, seconds, at)
	}
	if o.app.Services[i].Hold == 0 {
		into.Held = loadline.Sample{}
	}
	into.CPU.Value *= o.at(newest).services[i].cpuNoise
	into.Latency, _ = o.latency(oldest, newest, func(s int) *LatencyReading {
		if o.at(s).services[i].lost {
			return nil
		}
		return &o.at(s).Services[i].Latency
	}, 0)
	into.Own, _ = o.latency(oldest, newest, func(s int) *LatencyReading {
		if o.at(s).services[i].lost {
			return nil
		}
		return &o.at(s).Services[i].Own
	}, 0)
}

// pods lists the pods that the control plane has now, each with its available metrics.
func (o *observer) pods(now time.Duration, service int, cp *ControlPlane, into *loadline.ServiceObservation) {
	for place, slot := range cp.Slots(service) {
		p := cp.Pod(slot)
		seen := loadline.PodObservation{
			ID: p.ID, Node: p.Node, Phase: p.Phase, Created: Time(p.Created), Size: p.Size,
		}
		if p.Ready != Never {
			seen.Ready = Time(p.Ready)
		}
		oldest, newest := o.span(now, func(s int) bool { return o.findPod(s, service, p.ID, place) >= 0 })
		if newest >= 0 {
			j := o.findPod(newest, service, p.ID, place)
			last := &o.at(newest).Services[service].Pods[j]
			at := Time(o.at(newest).At)
			seen.Memory = sample(last.MemoryBytes, at)
			if oldest >= 0 {
				first := &o.at(oldest).Services[service].Pods[o.findPod(oldest, service, p.ID, place)]
				seconds := (o.at(newest).At - o.at(oldest).At).Seconds()
				seen.CPU = rate(first.CPUSeconds, last.CPUSeconds, seconds, at)
				seen.CPU.Value *= o.at(newest).pods[service][j].cpuNoise
				seen.Busy = rate(first.BusySeconds, last.BusySeconds, seconds, at)
			}
		}
		into.Pods = append(into.Pods, seen)
	}
}

// findPod is the index of a pod in a scrape, or -1 if it is missing or its scrape was lost.
// Pods rarely move, so its present index is tried first.
func (o *observer) findPod(s, service int, id int64, hint int) int {
	sc := o.at(s)
	pods := sc.Services[service].Pods
	j := hint
	if j >= len(pods) || pods[j].ID != id {
		j = slices.IndexFunc(pods, func(p PodReading) bool { return p.ID == id })
	}
	if j < 0 || sc.pods[service][j].lost {
		return -1
	}
	return j
}

func (o *observer) kind(now time.Duration, i int, into *loadline.KindObservation) {
	*into = loadline.KindObservation{}
	oldest, newest := o.span(now, func(s int) bool { return !o.at(s).kinds[i].lost })
	if oldest < 0 {
		return
	}
	first, last := &o.at(oldest).Kinds[i], &o.at(newest).Kinds[i]
	at := Time(o.at(newest).At)
	seconds := (o.at(newest).At - o.at(oldest).At).Seconds()
	into.Rate = rate(first.Arrived, last.Arrived, seconds, at)
	into.Failed = rate(first.Failed, last.Failed, seconds, at)
	into.OverSLO = sample(increase(first.Over, last.Over)/increase(first.Ended, last.Ended), at)
	into.Latency, into.AtSLO = o.latency(oldest, newest, func(s int) *LatencyReading {
		if o.at(s).kinds[i].lost {
			return nil
		}
		return &o.at(s).Kinds[i].Latency
	}, o.app.Kinds[i].SLO.Percentile/100)
}

func (o *observer) node(now time.Duration, i int) loadline.NodeObservation {
	oldest, newest := o.span(now, func(int) bool { return true })
	if newest < 0 {
		return loadline.NodeObservation{}
	}
	if i >= len(o.at(newest).Nodes) {
		return loadline.NodeObservation{} // it came after the scrape
	}
	last := &o.at(newest).Nodes[i]
	at := Time(o.at(newest).At)
	seen := loadline.NodeObservation{Memory: sample(last.MemoryBytes, at)}
	if oldest >= 0 && i < len(o.at(oldest).Nodes) {
		seconds := (o.at(newest).At - o.at(oldest).At).Seconds()
		seen.CPU = rate(o.at(oldest).Nodes[i].CPUSeconds, last.CPUSeconds, seconds, at)
	}
	return seen
}
