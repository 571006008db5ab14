package policy

import (
	"math"
	"strconv"
	"time"

	"github.com/loadline/loadline"
)

// memorySizing chooses the memory request of a service's pods by what they use: pods that use more
// than they request are evicted from nodes that run out of memory, and pods that request more than
// they use take room on nodes. What a heap has taken counts whether or not it is in use inside:
// nothing is lowered in the hope that it shrinks.
type memorySizing struct {
	use     decayingHistogram // bytes of the largest pod, at each decision
	largest float64           // at the last one
	begun   time.Time

	restarts float64 // of the service, as last seen
	counted  bool
	killed   float64 // bytes that pods which were killed are taken to need; 0 = none was

	asked   int64 // request that was asked for last; 0 = none
	changed time.Time
	refused bool // it was not applied: memory is not to be changed
}

const (
	// memoryRoom is the request relative to the most that a pod has used. What was used days ago fades.
	memoryRoom     = 1.1
	memoryHalfLife = 24 * time.Hour // as VPA's
	// killedRatio is what a pod that was killed for its memory is taken to need: VPA's.
	killedRatio = 1.2
	// memoryLower is by how much a request is above the use before it is lowered, after memoryAfter of
	// measuring, and at most once in that time. It is raised at once.
	memoryLower = 1.3
	memoryAfter = time.Hour
	memoryStep  = 16 << 20
)

// learn from the pods. A restart counts as one for lack of memory only where there is a limit: that
// of a pod without one has other causes.
func (m *memorySizing) learn(now time.Time, seen *loadline.ServiceObservation, in loadline.Allocation) {
	largest, found := 0.0, false
	for i := range seen.Pods {
		if used, ok := reliable(seen.Pods[i].Memory); ok && seen.Pods[i].Phase == loadline.PodReady {
			largest, found = max(largest, used), true
		}
	}
	if found {
		m.add(now, largest)
	}
	if restarts, ok := reliable(seen.Restarts); ok {
		if m.counted && restarts > m.restarts && m.largest > memoryFull*float64(in.Size.MemoryLimit) && in.Size.MemoryLimit > 0 {
			m.killed = max(m.killed, killedRatio*float64(in.Size.MemoryLimit))
		}
		m.restarts, m.counted = restarts, true
	}
	switch {
	case m.asked == 0:
	case in.Size.MemoryRequest == m.asked:
		m.asked = 0
	case now.Sub(m.changed) >= refusedAfter:
		m.refused = true
	}
}

// memoryFull is the share of the limit in use from which a restart is taken to be for memory. The
// peak itself is between two scrapes.
const memoryFull = 0.5

// add the memory of the largest pod.
func (m *memorySizing) add(now time.Time, bytes float64) {
	if m.use.weights == nil {
		m.use = newDecayingHistogram(10<<20, 1<<40, memoryHalfLife)
		m.begun = now
	}
	m.use.add(bytes, 1, now)
	m.largest = bytes
}

// propose a new request, and a limit that is not below it; false = none is worth it.
func (m *memorySizing) propose(now time.Time, b loadline.Bounds, size loadline.Size, calm bool) (request, limit int64, ok bool) {
	if m.refused || m.asked != 0 || m.use.empty() || size.MemoryRequest <= 0 {
		return 0, 0, false
	}
	need := max(m.use.quantile(1), m.killed)
	request = int64(math.Ceil(need*memoryRoom/memoryStep)) * memoryStep
	request = max(request, b.MinMemory)
	if b.MaxMemory > 0 {
		request = min(request, b.MaxMemory)
	}
	limit = size.MemoryLimit
	if limit > 0 {
		limit = max(limit, request)
	}
	since := m.changed
	if since.IsZero() {
		since = m.begun
	}
	short := request > size.MemoryRequest && need > float64(size.MemoryRequest)
	large := calm && float64(size.MemoryRequest) > memoryLower*float64(request) && now.Sub(since) >= memoryAfter
	if !short && !large {
		return 0, 0, false
	}
	m.asked, m.changed = request, now
	return request, limit, true
}

// remember adds memory to the proposal, if a change is worth it.
func (p *Planner) remember(now time.Time, to *loadline.ServiceProposal, of *plannedService, service *loadline.Service,
	seen *loadline.ServiceObservation, in loadline.Allocation, calm bool) {
	of.memory.learn(now, seen, in)
	if to.Setting.CPURequest.Set { // the memory that goes with it is decided there
		return
	}
	request, limit, ok := of.memory.propose(now, service.Bounds, in.Size, calm)
	if !ok {
		return
	}
	to.Setting.MemoryRequest = loadline.Some(request)
	if limit != in.Size.MemoryLimit {
		to.Setting.MemoryLimit = loadline.Some(limit)
	}
	p.text = append(p.text, "; memory request "...)
	p.text = strconv.AppendInt(p.text, in.Size.MemoryRequest>>20, 10)
	p.text = append(p.text, " -> "...)
	p.text = strconv.AppendInt(p.text, request>>20, 10)
	p.text = append(p.text, " MiB: pods use "...)
	p.text = append(strconv.AppendInt(p.text, int64(of.memory.largest)>>20, 10), " MiB"...)
}
