package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/loadline/loadline"
)

// What the namespace allows: the bounds of a pod (LimitRange), replicas for availability, and what all
// pods may have together (ResourceQuota). Pods beyond that are not admitted: a plan for more of one
// service would only decide by chance which of the others does not get its pods.

// quotaPlan is the plan of all services against the quota; its slices are reused.
type quotaPlan struct {
	bounded []loadline.Service // with the bounds of the namespace
	of      []quotaShare
}

// quotaShare is one service's part.
type quotaShare struct {
	planned, need, least int // replicas: of the proposal; for the load without hysteresis; by the bounds
	wanted, before       int // replicas: as planned at first; before they were shrunk
	pod                  [loadline.QuotaResources]float64
	at                   int // in the proposal; -1 = it is not in it
}

// bound makes the services with the bounds of the namespace.
func (p *Planner) bound(s loadline.Situation) {
	q := &p.quota
	q.bounded = q.bounded[:0]
	if len(s.Constraints.Services) == 0 {
		return
	}
	for i := range s.App.Services {
		service := s.App.Services[i]
		service.Bounds = boundsOf(&service, &s.Constraints.Services[i], s.InFlight[i].Size, p.cfg.lifted)
		q.bounded = append(q.bounded, service)
	}
}

// serviceOf the application, with the bounds of the namespace.
func (p *Planner) serviceOf(s loadline.Situation, i int) *loadline.Service {
	if len(p.quota.bounded) > i {
		return &p.quota.bounded[i]
	}
	return &s.App.Services[i]
}

// boundsOf a service within those of the namespace. Where the two contradict each other, the user's
// upper bounds win: the namespace then admits no pod of it, and says so. A limit that is not to be
// changed keeps requests above its share by the ratio.
func boundsOf(service *loadline.Service, c *loadline.ServiceConstraints, size loadline.Size, lifted bool) loadline.Bounds {
	b, by := service.Bounds, &c.Bounds
	b.MinReplicas = max(b.MinReplicas, by.MinReplicas)
	if b.MaxReplicas > 0 {
		b.MinReplicas = min(b.MinReplicas, b.MaxReplicas)
	}
	leastCPU, leastMemory := by.MinCPU, by.MinMemory
	if c.CPURatio > 0 && !lifted {
		leastCPU = max(leastCPU, size.CPULimit/c.CPURatio)
	}
	if c.MemoryRatio > 0 {
		leastMemory = max(leastMemory, int64(math.Ceil(float64(size.MemoryLimit)/c.MemoryRatio)))
	}
	b.MaxCPU, b.MaxMemory = least(b.MaxCPU, by.MaxCPU), least(b.MaxMemory, by.MaxMemory)
	b.MinCPU, b.MinMemory = max(b.MinCPU, leastCPU), max(b.MinMemory, leastMemory)
	if b.MaxCPU > 0 {
		b.MinCPU = min(b.MinCPU, b.MaxCPU)
	}
	if b.MaxMemory > 0 {
		b.MinMemory = min(b.MinMemory, b.MaxMemory)
	}
	return b
}

// least of two upper bounds, of which 0 is none.
func least[T int | int64 | float64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// appendBound says which bound the replicas are at, if they would be others without it.
func appendBound(b []byte, s loadline.Situation, i, wanted, bounded int) []byte {
	switch {
	case bounded < wanted:
		b = append(b, "; the upper bound is "...)
		return strconv.AppendInt(b, int64(bounded), 10)
	case bounded > wanted:
		b = append(b, "; the lower bound is "...)
		b = strconv.AppendInt(b, int64(bounded), 10)
		if c := s.Constraints.Services; len(c) > 0 && bounded == c[i].Bounds.MinReplicas && c[i].Why != "" {
			b = append(append(b, ": "...), c[i].Why...)
		}
	}
	return b
}

// withinBounds brings replicas within the bounds.
func withinBounds(b loadline.Bounds, n int) int {
	if b.MaxReplicas > 0 {
		n = min(n, b.MaxReplicas)
	}
	return max(n, b.MinReplicas)
}

// fit keeps the sum of all services within the quota. What is beyond the load's need goes first, then
// every service gives in proportion to what it needs beyond its least replicas.
func (p *Planner) fit(s loadline.Situation, to *loadline.Proposal) {
	quota := &s.Constraints.Quota
	if !quota.Limits() {
		return
	}
	p.share(s, to)
	for r, hard := range quota.Hard {
		if !hard.Set || p.quota.total(r) <= hard.Value {
			continue
		}
		p.unsize(s, to, loadline.QuotaResource(r))
		p.quota.shrink(r, hard.Value, func(of *quotaShare) int { return min(max(of.need, of.least), of.planned) })
		p.quota.shrink(r, hard.Value, func(of *quotaShare) int { return min(of.least, of.planned) })
		p.quota.steady(s, quota)
		p.limited(s, to, loadline.QuotaResource(r))
	}
}

// steady keeps the replicas that a service has where its share is one or a tenth of them different, if
// the quota has room: shares follow the noise of every need.
func (q *quotaPlan) steady(s loadline.Situation, quota *loadline.Quota) {
	for _, lower := range []bool{true, false} { // what is not raised leaves room
		for i := range q.of {
			of, now := &q.of[i], s.InFlight[i].Replicas
			apart := of.planned - now
			if lower != (apart > 0) || now > of.wanted || max(apart, -apart) > max(int(downSlack*float64(now)), 1) {
				continue
			}
			share := of.planned
			of.planned = now
			for r, hard := range quota.Hard {
				if !lower && hard.Set && q.total(r) > hard.Value {
					of.planned = share
					break
				}
			}
		}
	}
}

// share fills in the part of each service: as proposed, or as it is.
func (p *Planner) share(s loadline.Situation, to *loadline.Proposal) {
	q := &p.quota
	q.of = q.of[:0]
	for i := range s.App.Services {
		q.of = append(q.of, quotaShare{at: -1, planned: s.InFlight[i].Replicas, need: s.InFlight[i].Replicas})
		q.of[i].pod = p.podOf(s, i, s.InFlight[i].Size)
	}
	for at := range to.Services {
		sp := &to.Services[at]
		of, after := &q.of[sp.Service], s.InFlight[sp.Service].With(sp.Setting)
		of.at, of.planned, of.need = at, after.Replicas, after.Replicas
		if measured(&s.Now().Services[sp.Service]) {
			of.need = p.services[sp.Service].need
		}
		of.least = max(p.serviceOf(s, sp.Service).Bounds.MinReplicas, 1)
		of.pod = p.podOf(s, sp.Service, after.Size)
	}
	for i := range q.of {
		q.of[i].wanted = q.of[i].planned
		if q.of[i].at < 0 { // not ours to lower
			q.of[i].least = q.of[i].planned
		}
	}
}

// podOf is what a pod counts for. CPU limits that are lifted can be as low as the request.
func (p *Planner) podOf(s loadline.Situation, i int, size loadline.Size) [loadline.QuotaResources]float64 {
	if p.cfg.lifted {
		size.CPULimit = size.CPURequest
	}
	if len(s.Constraints.Services) > i {
		size = size.Plus(s.Constraints.Services[i].Others)
	}
	return size.Uses()
}

// total of a resource over all services.
func (q *quotaPlan) total(resource int) float64 {
	sum := 0.0
	for i := range q.of {
		sum += float64(q.of[i].planned) * q.of[i].pod[resource]
	}
	return sum
}

// unsize takes larger pods back that are a matter of cost: there is no room for them.
func (p *Planner) unsize(s loadline.Situation, to *loadline.Proposal, r loadline.QuotaResource) {
	for at := range to.Services {
		sp := &to.Services[at]
		size, want := s.InFlight[sp.Service].Size, sp.Setting.CPURequest
		if r == loadline.QuotaPods || !want.Set || want.Value <= size.CPURequest {
			continue
		}
		sp.Setting.CPURequest = loadline.Opt[float64]{}
		sp.Setting.MemoryRequest, sp.Setting.MemoryLimit = loadline.Opt[int64]{}, loadline.Opt[int64]{}
		sp.Reason += "; the quota " + s.Constraints.Quota.Name + " has no room for larger pods"
		p.services[sp.Service].size.asked = 0
		p.quota.of[sp.Service].pod = p.podOf(s, sp.Service, size)
	}
}

// shrink the planned replicas towards those given, just far enough for what is allowed: all by the same
// share of what they have beyond them, with what is left over in order of the services.
func (q *quotaPlan) shrink(resource int, allowed float64, lower func(*quotaShare) int) {
	kept, beyond := 0.0, 0.0
	for i := range q.of {
		of := &q.of[i]
		low := lower(of)
		kept += float64(low) * of.pod[resource]
		beyond += float64(of.planned-low) * of.pod[resource]
	}
	if kept+beyond <= allowed || beyond <= 0 {
		return
	}
	share := max(allowed-kept, 0) / beyond
	left := max(allowed-kept, 0)
	for i := range q.of {
		of := &q.of[i]
		low := lower(of)
		n := int(float64(of.planned-low)*share + 1e-9)
		left -= float64(n) * of.pod[resource]
		of.before, of.planned = of.planned, low+n
	}
	for i := range q.of { // whole pods leave some room
		of := &q.of[i]
		if of.planned < of.before && of.pod[resource] <= left+1e-9 {
			left -= of.pod[resource]
			of.planned++
		}
	}
}

// limited writes the replicas that are left into the proposal, with the reason.
func (p *Planner) limited(s loadline.Situation, to *loadline.Proposal, r loadline.QuotaResource) {
	quota := &s.Constraints.Quota
	hard := quotaAmount(r, quota.Hard[r].Value)
	var short []string
	for i := range p.quota.of {
		of := &p.quota.of[i]
		if of.at < 0 {
			continue
		}
		sp := &to.Services[of.at]
		if was := sp.Setting.Replicas.Or(s.InFlight[i].Replicas); of.planned < was {
			sp.Setting.Replicas = loadline.Some(of.planned)
			sp.Reason += fmt.Sprintf("; the quota %s allows %s %s in all: %d", quota.Name, r, hard, of.planned)
		}
		if of.planned < of.need {
			short = append(short, fmt.Sprintf("%s has %d of %d replicas", s.App.Services[i].Name, of.planned, of.need))
		}
	}
	if len(short) > 0 {
		to.Limited = fmt.Sprintf("the quota %s allows %s %s in all: %s", quota.Name, r, hard, strings.Join(short, ", "))
	}
}

// quotaAmount of a resource in words.
func quotaAmount(r loadline.QuotaResource, amount float64) string {
	switch {
	case r.Memory():
		return strconv.FormatFloat(amount/(1<<30), 'g', 4, 64) + " GiB"
	case r == loadline.QuotaPods:
		return strconv.FormatFloat(amount, 'f', 0, 64)
	}
	return strconv.FormatFloat(amount, 'g', 4, 64) + " cores"
}

// limitGrowth is how many replicas CPU limits leave room for in the quota, relative to those that are
// planned: new pods need theirs before the limits of others can be lowered.
const limitGrowth = 1.5

// limitSlack is by how much a limit may differ from the one that fits before it is changed.
const limitSlack = 0.2

// liftWithin is the CPU limit of a service's pods that are lifted as far as the namespace allows: to the
// bound, to the ratio to the request, and to the service's part of the quota, by its requests.
// 0 = none.
func liftWithin(s loadline.Situation, to *loadline.Proposal, i int) float64 {
	if len(s.Constraints.Services) == 0 {
		return max(s.App.Services[i].Bounds.MaxCPU, 0)
	}
	c := &s.Constraints.Services[i]
	size := planned(s, to, i).Size
	limit := least(s.App.Services[i].Bounds.MaxCPU, c.Bounds.MaxCPU)
	if c.CPURatio > 0 && size.CPURequest > 0 {
		limit = least(limit, c.CPURatio*size.CPURequest)
	}
	hard := s.Constraints.Quota.Hard[loadline.QuotaCPULimits]
	if hard.Set {
		requests, others := 0.0, 0.0
		for k := range s.App.Services {
			after := planned(s, to, k)
			requests += float64(after.Replicas) * after.Size.CPURequest
			others += float64(after.Replicas) * s.Constraints.Services[k].Others.CPULimit
		}
		if requests > 0 {
			limit = least(limit, max((hard.Value/limitGrowth-others)/requests, 1)*size.CPURequest)
		}
	}
	if limit == 0 && c.NeedsCPULimit {
		limit = max(size.CPULimit, size.CPURequest) // nothing says how high: it stays
	}
	if now := size.CPULimit; now >= size.CPURequest && now > 0 && limit > 0 && math.Abs(limit/now-1) <= limitSlack && hard.Set {
		return now
	}
	return math.Floor(limit*1000+1e-6) / 1000
}

// planned is the allocation of a service with what is proposed so far.
func planned(s loadline.Situation, to *loadline.Proposal, i int) loadline.Allocation {
	if i < len(to.Services) && to.Services[i].Service == i { // as usual
		return s.InFlight[i].With(to.Services[i].Setting)
	}
	for at := range to.Services {
		if to.Services[at].Service == i {
			return s.InFlight[i].With(to.Services[at].Setting)
		}
	}
	return s.InFlight[i]
}
