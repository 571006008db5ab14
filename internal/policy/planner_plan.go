package policy

import (
	"math"
	"strconv"
	"time"

	"github.com/loadline/loadline"
)

const (
	// workersBusy is the share of a service's workers that the plan occupies. At 0.7 of ten workers
	// a visit waits for one in 22 % of the cases (Erlang C), at 0.9 in 67 %.
	workersBusy = 0.7
	// upSlack and downSlack are the shares of the replicas by which a plan must differ for a change:
	// noise of the load does not move them.
	upSlack, downSlack = 0.05, 0.1
)

// target is the plan of one service with its arithmetic.
type target struct {
	requests, visits float64 // per second, that it is for
	lead             time.Duration
	factor           float64         // of announced events until then
	event            *loadline.Event // that it is of; nil = none
	capacity         float64         // cores of a replica for visits
	cores            float64         // for those visits, with the margin
	byWorkers        int             // replicas that have workers for them
	replicas         int
	unheld, callee   int // replicas without regard to this callee, where it bears no more
}

// plan one service, and append its reason to p.text; false if its figures are unknown.
func (p *Planner) plan(now time.Time, s loadline.Situation, i int, front float64, users attainment) (loadline.ServiceProposal, bool) {
	of, service, seen, in := &p.services[i], p.serviceOf(s, i), &s.Now().Services[i], s.InFlight[i]
	t := target{lead: p.leadOf(now, i, seen.Pods)}
	t.factor, t.event = factorAhead(s.Announced, now, t.lead)
	var known bool
	if t.requests, t.visits, known = p.aheadOf(i, front, seen.Rate, t.lead, t.factor); !known || !of.demand.cpu.known {
		return loadline.ServiceProposal{}, false
	}
	request := sizeOf(in, seen.Pods)
	limit := limitOf(service, seen, &of.demand, request)
	slow, waits := p.slowCallee(i)
	if waits = waits && limit == limitWorkers; waits { // for it, not for workers
		limit = limitElsewhere
	}
	if p.cfg.feedback {
		of.margin.adjust(users, limit, arriving(seen))
	}
	p.count(&t, of, service, request)
	request, fewer := p.hold(&t, i, of, service, in)
	wanted, held := of.settle(now, p.cfg.downWindow, t.replicas, in.Replicas, measured(seen))
	if fewer && users.burning() && measured(seen) {
		wanted, held = min(wanted, t.replicas), "" // the queue would not drain within the window
	}
	unbound := wanted
	wanted, of.need = withinBounds(service.Bounds, wanted), withinBounds(service.Bounds, t.replicas)
	if p.cfg.reserve {
		p.reserveFor(now, s, i, &t, front, wanted)
	}
	proposal := loadline.ServiceProposal{Service: i, Setting: loadline.Setting{Replicas: loadline.Some(wanted)},
		Expects: loadline.LoadAhead{Rate: t.visits, Within: t.lead}}
	p.text = append(appendReason(p.text, t, of, front, in.Replicas, wanted), held...)
	p.text = appendBound(p.text, s, i, unbound, wanted)
	if fewer {
		p.text = p.appendHeld(p.text, s, &t, service.Workers)
	}
	switch {
	case users.burning() && waits:
		p.text = append(append(p.text, "; its workers wait for "...), s.App.Services[slow].Name...)
		p.text = append(p.text, ", which is slow: more replicas would not help"...)
	case users.burning() && limit == limitElsewhere:
		p.text = append(p.text, "; requests are over the SLO, but neither its CPU nor its workers are short: more replicas would not help"...)
	}
	if p.cfg.vertical {
		of.size.held = request
		calm := wanted <= in.Replicas && !users.burning() && !arriving(seen) // sizes change while there is room
		p.resize(now, &proposal, of, service, seen, in, front, calm)
		p.remember(now, &proposal, of, service, seen, in, calm)
	}
	return proposal, true
}

// count the replicas for the load of the target.
func (p *Planner) count(t *target, of *plannedService, service *loadline.Service, request float64) {
	more := 1 + float64(of.margin)
	t.capacity = max(request*p.cfg.utilisation-of.demand.cpu.idle, 0.1*request)
	t.cores = of.demand.coresOf(t.visits) * more
	t.replicas = 1
	if t.capacity > 0 {
		t.replicas = max(whole(t.cores/t.capacity), 1)
	}
	if service.Workers > 0 {
		t.byWorkers = whole(t.visits * float64(of.demand.stay) * max(more, 1) / (workersBusy * float64(service.Workers)))
		t.replicas = max(t.replicas, t.byWorkers)
	}
}

// measured: the service's own figures are there, without which it is not scaled down.
func measured(seen *loadline.ServiceObservation) bool {
	_, rate := reliable(seen.Rate)
	_, cpu := reliable(seen.CPU)
	return rate && cpu
}

// settle keeps replicas from following noise: a small difference changes nothing, and fewer are
// set only once a window has wanted fewer.
func (of *plannedService) settle(now time.Time, window time.Duration, wanted, current int, measured bool) (int, string) {
	if of.wants == nil { // the current replicas count as wanted, without a history
		of.wants = append(of.wants, stamped{now, current})
	}
	of.wants = append(forget(of.wants, now.Add(-window)), stamped{now, wanted})
	most := wanted
	for _, w := range of.wants {
		most = max(most, w.n)
	}
	switch {
	case wanted > current && wanted-current <= int(upSlack*float64(current)):
		return current, ": within 5 %"
	case wanted >= current:
		return wanted, ""
	case !measured:
		return current, ": its rate or CPU was not measured, so nothing is removed"
	case most >= current:
		return current, ": more was wanted within the down-window"
	case current-most <= int(downSlack*float64(current)):
		return current, ": within 10 %"
	}
	return most, ""
}

// resize adds a new CPU request to the proposal, if one is worth it and the time is calm.
func (p *Planner) resize(now time.Time, to *loadline.ServiceProposal, of *plannedService, service *loadline.Service,
	seen *loadline.ServiceObservation, in loadline.Allocation, front float64, calm bool) {
	visits, _ := of.demand.visitsOf(front)
	load := of.demand.coresOf(visits)
	of.size.learn(now, load, in)
	short := of.size.short(in.Size.CPURequest)
	if !calm && !short {
		return
	}
	request, worth := of.size.request(now, service, &of.demand.cpu, p.cfg.utilisation, in.Size, seen.ReadyPods(), load)
	if !worth {
		return
	}
	to.Setting.CPURequest = loadline.Some(request)
	if larger := request / in.Size.CPURequest; larger > 1 { // fewer pods hold as many requests in memory
		most := service.Bounds.MaxMemory
		to.Setting.MemoryRequest = moreMemory(in.Size.MemoryRequest, larger, most)
		to.Setting.MemoryLimit = moreMemory(in.Size.MemoryLimit, larger, most)
	}
	p.text = append(p.text, "; CPU request "...)
	p.text = appendMillis(p.text, in.Size.CPURequest)
	p.text = append(p.text, " -> "...)
	p.text = appendMillis(p.text, request)
	if short {
		p.text = append(p.text, " for so few replicas"...)
		return
	}
	p.text = append(p.text, ": cheapest for "...)
	p.text = appendMillis(p.text, of.size.demand)
	p.text = append(p.text, " of demand, with idle CPU of "...)
	p.text = append(appendMillis(p.text, of.demand.cpu.idle), " per pod"...)
}

// moreMemory in whole MiB, up to a bound (0 = none); none stays none.
func moreMemory(bytes int64, factor float64, most int64) loadline.Opt[int64] {
	if bytes <= 0 {
		return loadline.Opt[int64]{}
	}
	more := int64(math.Ceil(float64(bytes)*factor/(1<<20))) << 20
	if most > 0 {
		more = max(min(more, most), min(bytes, most))
	}
	return loadline.Some(more)
}

// appendReason is the arithmetic in the user's terms: "forecast 420 req/s in 60 s (now 380),
// capacity of 5 replicas 380: 6".
func appendReason(b []byte, t target, of *plannedService, front float64, current, wanted int) []byte {
	b = append(b, "forecast "...)
	b = append(appendRate(b, t.requests), " req/s in "...)
	b = append(strconv.AppendInt(b, int64(t.lead.Seconds()), 10), " s (now "...)
	b = append(appendRate(b, front), ')')
	if t.event != nil {
		b = append(b, ", "...)
		b = append(strconv.AppendFloat(b, t.factor, 'g', 3, 64), " times the usual by the announced event "...)
		b = append(b, t.event.Name...)
	}
	b = append(b, ", capacity of "...)
	b = append(strconv.AppendInt(b, int64(current), 10), " replicas "...)
	switch {
	case t.byWorkers == t.replicas && t.byWorkers > 1 && t.visits > 0:
		b = appendRate(b, t.requests*float64(current)/float64(t.byWorkers))
		b = append(b, " by their workers"...)
	case t.cores > 0:
		b = appendRate(b, t.requests*float64(current)*t.capacity/t.cores)
	default:
		b = append(b, "unlimited"...)
	}
	if m := float64(of.margin); m >= 0.005 || m <= -0.005 {
		b = append(b, " with a margin of "...)
		b = append(strconv.AppendFloat(b, 100*m, 'f', 0, 64), " % by the SLO's attainment"...)
	}
	b = append(b, ": "...)
	b = strconv.AppendInt(b, int64(t.replicas), 10)
	if wanted != t.replicas {
		b = append(b, ", set "...)
		b = strconv.AppendInt(b, int64(wanted), 10)
	}
	return b
}

// appendRate with three digits or more.
func appendRate(b []byte, rate float64) []byte {
	if rate >= 100 {
		return strconv.AppendFloat(b, rate, 'f', 0, 64)
	}
	return strconv.AppendFloat(b, rate, 'g', 3, 64)
}

func appendMillis(b []byte, cores float64) []byte {
	return append(strconv.AppendFloat(b, 1000*cores, 'f', 0, 64), 'm')
}
