package console

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/decisionlog"
)

const (
	// Window is how far back the last hours in memory reach, and Step is their resolution.
	Window = 6 * time.Hour
	Step   = time.Minute
	// mostChanges of one application are kept.
	mostChanges = 500
	// mostAhead is how far forecasts are kept for the points to come.
	mostAhead = 30 * time.Minute
	// mostServices of all applications have series: 360 points of 10 values for each, 15 kB.
	mostServices = 20_000
)

// key of an application.
type key struct{ namespace, name string }

// history is the last hours of every application, in memory.
type history struct {
	dir string // of decision logs; "" = none are kept
	log *slog.Logger
	now func() time.Time

	mu       sync.Mutex
	apps     map[key]*past
	services int // of all applications together
	queue    chan key
	changed  func(key)
}

func newHistory(dir string, log *slog.Logger, now func() time.Time, changed func(key)) *history {
	return &history{dir: dir, log: log, now: now, apps: map[key]*past{}, queue: make(chan key, 4096), changed: changed}
}

// past is the last hours of one application.
type past struct {
	mu       sync.Mutex
	loaded   bool // what the log had at the start of the process is in it
	latest   *decisionlog.Entry
	services []string
	index    map[string]int
	kinds    []string
	points   []point              // oldest first, at most Window/Step
	changes  []Change             // likewise, at most mostChanges
	parts    map[string]Share     // of the SLO, as they were last stated, by service
	ahead    map[time.Time][]band // by service: forecasts for the points to come, at most mostAhead/Step
}

// point is one Step.
type point struct {
	at       time.Time
	kinds    []kindPoint
	services []servicePoint
	forecast []band // by service, the last that was made before the step
	// nodes that are up and what the replicas' requests cost, at the last pass. NaN = not known.
	nodes, perHour float32
}

// kindPoint is a kind of request. Sums are over the passes of the step that measured it.
type kindPoint struct {
	passes, rate, requests, over float64
	latency                      float64 // highest; NaN = not measured
}

// servicePoint has the last values of the step, and the highest latency. NaN = not measured.
type servicePoint struct {
	rate, cpu, throttled, latency, wanted, applied, ready, request float32
}

// Change is one service's part of a decision that changes it.
type Change struct {
	At      time.Time `json:"at"`
	Service string    `json:"service"`
	From    string    `json:"from"`
	To      string    `json:"to"`
	Applied bool      `json:"applied"`
	Mode    string    `json:"mode,omitempty"`
	Policy  string    `json:"policy"`
	Rung    string    `json:"rung,omitempty"`
	Why     string    `json:"why,omitempty"`
	Guards  []string  `json:"guards,omitempty"` // that changed what was proposed
	Error   string    `json:"error,omitempty"`
}

// of an application. The first time, what the log has of it is queued to be read.
func (h *history) of(k key) *past {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.apps[k]
	if p == nil {
		p = &past{index: map[string]int{}, loaded: h.dir == ""}
		h.apps[k] = p
		if h.dir != "" {
			select {
			case h.queue <- k:
			default:
				p.loaded = true // too many at once: it begins now
			}
		}
	}
	return p
}

// forget an application.
func (h *history) forget(k key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.apps[k]; p != nil {
		p.mu.Lock()
		h.services -= len(p.services)
		p.mu.Unlock()
		delete(h.apps, k)
	}
}

// add a record of this process, as it is made.
func (h *history) add(k key, app *loadline.App, r *decisionlog.Record) {
	p := h.of(k)
	h.mu.Lock()
	room := mostServices - h.services
	h.mu.Unlock()
	p.mu.Lock()
	before := len(p.services)
	p.latest = &decisionlog.Entry{App: app, Record: r}
	p.points = p.observe(p.points, r, room)
	p.note(r)
	more := len(p.services) - before
	p.mu.Unlock()
	h.mu.Lock()
	h.services += more
	h.mu.Unlock()
	h.changed(k)
}

// load what logs have of the applications that are asked for, one at a time, until the context
// ends.
func (h *history) load(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case k := <-h.queue:
			if err := h.read(ctx, k); err != nil && ctx.Err() == nil && !errors.Is(err, decisionlog.ErrEmpty) {
				h.log.Debug("decision log not read for the console", "loadline", k.namespace+"/"+k.name, "error", err)
			}
			h.changed(k)
		}
	}
}

func (h *history) folder(k key) string { return filepath.Join(h.dir, k.namespace, k.name) }

// read the last hours of an application from its log.
func (h *history) read(ctx context.Context, k key) error {
	p := h.of(k)
	defer func() {
		p.mu.Lock()
		p.loaded = true
		p.mu.Unlock()
	}()
	reader, err := decisionlog.OpenReader(h.folder(k))
	if err != nil {
		return err
	}
	h.mu.Lock()
	room := mostServices - h.services
	h.mu.Unlock()
	var early past
	early.index = map[string]int{}
	now := h.now()
	err = reader.Between(now.Add(-Window), now, func(e decisionlog.Entry) error {
		early.latest = &e
		early.points = early.observe(early.points, e.Record, room)
		early.note(e.Record)
		return ctx.Err()
	})
	p.mu.Lock()
	before := len(p.services)
	p.prepend(&early)
	more := len(p.services) - before
	p.mu.Unlock()
	h.mu.Lock()
	h.services += more
	h.mu.Unlock()
	return err
}

// prepend what happened before the first pass of this process.
func (p *past) prepend(early *past) {
	if len(p.points) == 0 && p.latest == nil {
		p.latest, p.services, p.index, p.kinds, p.points, p.changes, p.ahead, p.parts = early.latest, early.services, early.index, early.kinds,
			early.points, early.changes, early.ahead, early.parts
		return
	}
	// Services and kinds that are no longer there are left out.
	var points []point
	for _, was := range early.points {
		if len(p.points) > 0 && !was.at.Before(p.points[0].at) {
			break
		}
		q := point{at: was.at, kinds: make([]kindPoint, len(p.kinds)), services: make([]servicePoint, len(p.services)),
			forecast: make([]band, len(p.services)), nodes: was.nodes, perHour: was.perHour}
		for i, name := range p.kinds {
			q.kinds[i].latency = math.NaN()
			for j, other := range early.kinds {
				if other == name && j < len(was.kinds) {
					q.kinds[i] = was.kinds[j]
				}
			}
		}
		for i, name := range p.services {
			q.services[i], q.forecast[i] = unmeasured, noBand
			if j, has := early.index[name]; has && j < len(was.services) {
				q.services[i], q.forecast[i] = was.services[j], was.band(j)
			}
		}
		points = append(points, q)
	}
	p.points = append(points, p.points...)
	for name, part := range early.parts {
		if _, known := p.parts[name]; !known && slices.Contains(p.services, name) {
			if p.parts == nil {
				p.parts = map[string]Share{}
			}
			p.parts[name] = part
		}
	}
	var changes []Change
	for _, c := range early.changes {
		if len(p.changes) == 0 || c.At.Before(p.changes[0].At) {
			changes = append(changes, c)
		}
	}
	p.changes = append(changes, p.changes...)
	p.trim()
}

var nan32 = float32(math.NaN())

var unmeasured = servicePoint{nan32, nan32, nan32, nan32, nan32, nan32, nan32, nan32}

// observe adds a record to the points.
func (p *past) observe(points []point, r *decisionlog.Record, room int) []point {
	for i := range r.Services {
		if _, known := p.index[r.Services[i].Name]; !known && room > 0 {
			p.index[r.Services[i].Name] = len(p.services)
			p.services = append(p.services, r.Services[i].Name)
			room--
		}
	}
	if len(p.kinds) < len(r.Kinds) {
		p.kinds = nil
		for i := range r.Kinds {
			p.kinds = append(p.kinds, r.Kinds[i].Name)
		}
	}
	at := r.At.Truncate(Step)
	if n := len(points); n == 0 || points[n-1].at.Before(at) {
		points = append(points, point{at: at, forecast: p.ahead[at], nodes: nan32, perHour: nan32})
		for then := range p.ahead {
			if !then.After(at) {
				delete(p.ahead, then)
			}
		}
	}
	q := &points[len(points)-1]
	for len(q.services) < len(p.services) {
		q.services = append(q.services, unmeasured)
	}
	for len(q.kinds) < len(p.kinds) {
		q.kinds = append(q.kinds, kindPoint{latency: math.NaN()})
	}
	for i := range r.Kinds {
		if i < len(q.kinds) {
			q.kinds[i].add(&r.Kinds[i])
		}
	}
	for i := range r.Services {
		if j, has := p.index[r.Services[i].Name]; has {
			q.services[j].set(&r.Services[i])
			p.share(&r.Services[i])
			p.foresee(j, r.At, r.Services[i].Forecast)
			p.expect(j, r.At, &r.Services[i])
		}
	}
	if len(r.Services) > 0 {
		q.perHour = float32(perHour(r, r.Mode == "" || r.Mode == string(v1alpha1.Act)))
	}
	if len(r.Nodes) > 0 {
		q.nodes = 0
		for i := range r.Nodes {
			if !r.Nodes[i].Lost {
				q.nodes++
			}
		}
	}
	if most := int(Window / Step); len(points) > most {
		points = append(points[:0], points[len(points)-most:]...)
	}
	return points
}

// share keeps a service's part of the SLO: the policy's own, or what the last change of it went by.
func (p *past) share(s *decisionlog.Service) {
	part := s.PartialSLO
	if part == nil && s.Outlook != nil {
		part = &s.Outlook.Part
	}
	if part == nil {
		return
	}
	if p.parts == nil {
		p.parts = map[string]Share{}
	}
	p.parts[s.Name] = Share{float64(part.Percentile), time.Duration(part.Latency).Seconds()}
}

func (k *kindPoint) add(o *decisionlog.Kind) {
	rate, over := o.Samples.Of(loadline.KindRate), o.Samples.Of(loadline.KindOverSLO)
	if rate.Present {
		k.passes++
		k.rate += float64(rate.Value)
		if over.Present {
			k.requests += float64(rate.Value)
			k.over += float64(rate.Value) * float64(over.Value)
		}
	}
	if at := o.Samples.Of(loadline.KindAtSLO); at.Present && !(k.latency >= float64(at.Value)) {
		k.latency = float64(at.Value)
	}
}

func (v *servicePoint) set(s *decisionlog.Service) {
	put := func(field *float32, m loadline.ServiceMetric) {
		if sample := s.Seen.Samples.Of(m); sample.Present {
			*field = float32(sample.Value)
		}
	}
	put(&v.rate, loadline.ServiceRate)
	put(&v.cpu, loadline.ServiceCPU)
	put(&v.throttled, loadline.ServiceThrottled)
	if l := s.Seen.Samples.Of(loadline.ServiceLatencyP99); l.Present && !(v.latency >= float32(l.Value)) {
		v.latency = float32(l.Value)
	}
	before, after := s.Before(), afterOf(s)
	v.applied = float32(after.Replicas)
	v.request = float32(after.Size.CPURequest)
	v.wanted = float32(before.Replicas)
	if s.Proposal != nil {
		v.wanted = float32(before.With(s.Proposal.Setting.Setting()).Replicas)
	}
	ready := 0
	for i := range s.Seen.Pods {
		if s.Seen.Pods[i].Phase == loadline.PodReady.String() {
			ready++
		}
	}
	v.ready = float32(ready)
}

// note the changes of a record.
func (p *past) note(r *decisionlog.Record) {
	for i := range r.Services {
		s := &r.Services[i]
		if s.Plan == nil {
			continue
		}
		c := Change{
			At: r.At, Service: s.Name, From: describe(s.Before(), afterOf(s)), To: describe(afterOf(s), s.Before()),
			Applied: !r.Applied.IsZero(), Mode: r.Mode,
			Policy: r.Policy, Rung: r.Rung, Why: s.Why, Error: r.Error,
		}
		if c.Why == "" && s.Proposal != nil {
			c.Why = s.Proposal.Reason
		}
		for _, g := range s.Guards {
			c.Guards = append(c.Guards, g.Name)
		}
		p.changes = append(p.changes, c)
	}
	p.trim()
}

func (p *past) trim() {
	if n := len(p.changes) - mostChanges; n > 0 {
		p.changes = append(p.changes[:0], p.changes[n:]...)
	}
	if n := len(p.points) - int(Window/Step); n > 0 {
		p.points = append(p.points[:0], p.points[n:]...)
	}
}

// describe one end of a change: replicas and their cores, and of the rest what differs at the other end.
func describe(a, other loadline.Allocation) string {
	if a.Brownout {
		return "browned out"
	}
	text := loadline.DescribeReplicas(a.Replicas)
	if a.Size.CPURequest > 0 {
		text += " of " + loadline.DescribeCores(a.Size.CPURequest)
	}
	if a.Size.MemoryRequest != other.Size.MemoryRequest {
		text += ", " + loadline.DescribeMemory(a.Size.MemoryRequest)
	}
	limits := func(differs bool, of string, known bool, limit string) {
		switch {
		case differs && known:
			text += ", at most " + limit
		case differs:
			text += ", without a limit of " + of
		}
	}
	limits(a.Size.CPULimit != other.Size.CPULimit, "CPU", a.Size.CPULimit > 0, loadline.DescribeCores(a.Size.CPULimit))
	limits(a.Size.MemoryLimit != other.Size.MemoryLimit, "memory", a.Size.MemoryLimit > 0, loadline.DescribeMemory(a.Size.MemoryLimit))
	return text
}

// met is how much of a kind's requests were within the SLO, over the points; false if that was
// not measured.
func (p *past) met(kind string) (share float64, since time.Time, known bool) {
	var requests, over float64
	for i, name := range p.kinds {
		if name != kind {
			continue
		}
		for _, q := range p.points {
			if i < len(q.kinds) && q.kinds[i].requests > 0 {
				requests += q.kinds[i].requests
				over += q.kinds[i].over
				if since.IsZero() {
					since = q.at
				}
			}
		}
	}
	if requests <= 0 {
		return 0, since, false
	}
	return 1 - over/requests, since, true
}

// afterOf a decision, the allocation of a service.
func afterOf(s *decisionlog.Service) loadline.Allocation {
	if s.Plan == nil {
		return s.Before()
	}
	return s.Before().With(s.Plan.Setting())
}
