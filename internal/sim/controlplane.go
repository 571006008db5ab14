package sim

import (
	"math/rand/v2"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

// Pod is one replica of a service from creation to deletion. Slots are reused;
// IDs are not.
type Pod struct {
	ID      int64
	Service int
	Node    int // -1 = not bound
	Phase   loadline.PodPhase
	Created time.Duration
	Bound   time.Duration
	Ready   time.Duration // the last time it became ready; Never = it has not
	Size    loadline.Size

	due      time.Duration // next change of phase; Never = none scheduled
	resizeAt time.Duration // Never = none pending
	resizeTo loadline.Size
	waiting  time.Duration // since when a resize has waited for room; 0 = it does not
	restarts int

	metered                time.Duration // cost is counted up to here
	meteredCPU, meteredMem float64       // usage counters at that instant
}

// Kubelet is the engine's side of the control plane: it is notified of changes of pods
// and reports what they use.
type Kubelet interface {
	// PodStarting: the pod is bound, and its container starts; it may use CPU for it.
	PodStarting(slot int)
	PodReady(slot int)
	// PodDraining: no new visits; the engine calls Drained once it is empty.
	PodDraining(slot int)
	// PodStopped: requests still in the pod fail. The slot may be reused afterwards.
	PodStopped(slot int)
	PodResized(slot int)
	// PodUsage is what the pod has used since it was created.
	PodUsage(slot int, now time.Duration) (coreSeconds, byteSeconds float64)
	// PodMemory is the bytes that a pod uses now.
	PodMemory(slot int) float64
	// NodeChanged: a node has come or gone, or what others on it want has changed.
	NodeChanged(node int)
}

// ControlPlane turns desired allocations into pods on nodes: it places, starts, resizes, drains
// and restarts them, and counts their cost. Both engines use it, so that they differ only in
// how they model requests.
type ControlPlane struct {
	app     *loadline.App
	cfg     Config
	kubelet Kubelet
	meter   *Meter
	rng     *rand.Rand
	startup []Sampler
	resize  Sampler

	pods      []Pod // by slot
	free      []int
	byService [][]int // slots in order of creation
	alloc     []loadline.Allocation
	nodes     []Node // by slot
	nextID    int64
	nextMeter time.Duration
	reserve   reserve
	unplaced  bool // some pod is pending because no node has room
}

// NewControlPlane makes the control plane. The pods that run at the start come with Start.
func NewControlPlane(cfg Config, meter *Meter, k Kubelet) *ControlPlane {
	app := cfg.App
	c := &ControlPlane{
		app: app, cfg: cfg, kubelet: k, meter: meter,
		rng:       Stream(cfg.Seed, StreamPods, 0),
		resize:    NewSampler(cfg.ResizeDelay),
		byService: make([][]int, len(app.Services)),
		alloc:     make([]loadline.Allocation, len(app.Services)),
		nextMeter: MeterInterval,
	}
	for i := range app.Services {
		s := &app.Services[i]
		c.startup = append(c.startup, NewSampler(s.Startup))
		c.alloc[i] = loadline.Allocation{Replicas: s.Replicas, Size: s.Size}
	}
	return c
}

// Start creates the initial pods, ready from the beginning. It is separate from NewControlPlane
// because the engine is notified of each.
func (c *ControlPlane) Start() {
	for _, n := range c.app.Nodes {
		c.addNode(Node{
			Name: n.Name, Pool: -1, Cores: n.Cores, Memory: n.Memory,
			Offered: pool.Amount{Cores: n.Cores, Memory: n.Memory},
		})
	}
	for i := range c.app.Services {
		for range c.alloc[i].Replicas {
			slot := c.create(i, 0)
			if c.pods[slot].Node >= 0 || len(c.nodes) == 0 {
				c.pods[slot].due = 0
			}
		}
	}
	c.startReserve()
	c.Run(0)
}

// Allocation is the desired allocation of each service.
func (c *ControlPlane) Allocation() []loadline.Allocation { return c.alloc }

// Slots are the pods of a service, in order of creation.
func (c *ControlPlane) Slots(service int) []int { return c.byService[service] }

// Pod returns the pod in a slot.
func (c *ControlPlane) Pod(slot int) *Pod { return &c.pods[slot] }

// Ready counts the ready pods of a service.
func (c *ControlPlane) Ready(service int) int {
	n := 0
	for _, slot := range c.byService[service] {
		if c.pods[slot].Phase == loadline.PodReady {
			n++
		}
	}
	return n
}

// Apply accepts a plan.
func (c *ControlPlane) Apply(plan loadline.Plan, now time.Duration) {
	for _, sp := range plan.Services {
		old := c.alloc[sp.Service]
		if old.Changes(sp.Setting).Empty() {
			continue
		}
		next := old.With(sp.Setting)
		next.Replicas = max(next.Replicas, 0)
		c.alloc[sp.Service] = next
		c.meter.Changes++
		c.meter.Services[sp.Service].Changes++
		if next.Size != old.Size {
			c.planResize(sp.Service, next.Size, now)
		}
		c.reconcile(sp.Service, now)
	}
}

// Wake gives a service with zero desired replicas one, as Knative's activator and KEDA's
// activation do: a held request triggers it, independently of the policy. It is not counted as
// a change of the policy.
func (c *ControlPlane) Wake(service int, now time.Duration) {
	if a := &c.alloc[service]; a.Replicas == 0 {
		a.Replicas = 1
		c.reconcile(service, now)
	}
}

func (c *ControlPlane) planResize(service int, to loadline.Size, now time.Duration) {
	for _, slot := range c.byService[service] {
		p := &c.pods[slot]
		switch p.Phase {
		case loadline.PodPending:
			p.Size = to
		case loadline.PodStarting, loadline.PodReady:
			p.resizeTo, p.waiting = to, 0
			p.resizeAt = now + c.resize.DrawTime(c.rng, 1)
		}
	}
}

// reconcile creates or removes pods until a service has the desired number.
func (c *ControlPlane) reconcile(service int, now time.Duration) {
	want := c.alloc[service].Replicas
	have := 0
	for _, slot := range c.byService[service] {
		if c.pods[slot].Phase != loadline.PodDraining {
			have++
		}
	}
	for ; have < want; have++ {
		c.create(service, now)
	}
	for ; have > want; have-- {
		c.remove(c.victim(service), now)
	}
}

// victim is the pod to remove first, as a ReplicaSet chooses: the one furthest from ready, and
// among equals the newest.
func (c *ControlPlane) victim(service int) int {
	best := -1
	for _, slot := range c.byService[service] {
		p := &c.pods[slot]
		if p.Phase == loadline.PodDraining {
			continue
		}
		if best < 0 || p.Phase < c.pods[best].Phase || (p.Phase == c.pods[best].Phase && p.Ready >= c.pods[best].Ready) {
			best = slot
		}
	}
	return best
}

func (c *ControlPlane) create(service int, now time.Duration) int {
	var slot int
	if n := len(c.free); n > 0 {
		slot = c.free[n-1]
		c.free = c.free[:n-1]
	} else {
		slot = len(c.pods)
		c.pods = append(c.pods, Pod{})
	}
	c.nextID++
	c.pods[slot] = Pod{
		ID: c.nextID, Service: service, Node: -1, Phase: loadline.PodPending,
		Created: now, Ready: Never, Size: c.alloc[service].Size, due: Never, resizeAt: Never,
	}
	c.byService[service] = append(c.byService[service], slot)
	c.place(slot, now)
	return slot
}

func (c *ControlPlane) remove(slot int, now time.Duration) {
	p := &c.pods[slot]
	if p.Phase != loadline.PodReady {
		c.stop(slot, now)
		return
	}
	p.Phase = loadline.PodDraining
	p.due = now + c.cfg.Grace
	p.resizeAt = Never
	c.kubelet.PodDraining(slot)
}

// Drained deletes a draining pod; the engine calls it when the pod is empty.
func (c *ControlPlane) Drained(slot int, now time.Duration) {
	if c.pods[slot].Phase == loadline.PodDraining {
		c.stop(slot, now)
	}
}

// stop deletes a pod.
func (c *ControlPlane) stop(slot int, now time.Duration) {
	p := &c.pods[slot]
	c.meterPod(slot, now)
	if p.Phase != loadline.PodPending {
		c.kubelet.PodStopped(slot)
		c.release(p)
	}
	list := c.byService[p.Service]
	for i, s := range list {
		if s == slot {
			c.byService[p.Service] = append(list[:i], list[i+1:]...)
			break
		}
	}
	p.due, p.resizeAt = Never, Never
	p.ID = 0
	c.free = append(c.free, slot)
	if c.unplaced {
		c.placePending(now)
	}
}

// Killed restarts a pod's container in place after an out-of-memory kill: its requests fail,
// and it starts again after the kubelet's back-off.
func (c *ControlPlane) Killed(slot int, now time.Duration) {
	p := &c.pods[slot]
	c.meter.Services[p.Service].Restarts++
	if p.Phase == loadline.PodDraining {
		c.stop(slot, now)
		return
	}
	if now-p.Ready > 10*time.Minute {
		p.restarts = 0
	}
	c.kubelet.PodStopped(slot)
	p.Phase = loadline.PodStarting
	p.due = now + backOff(p.restarts) + c.startup[p.Service].DrawTime(c.rng, c.cfg.StartupFactor)
	p.restarts++
}

// backOff is the kubelet's: none at first, then 10 s, doubled up to 5 min.
func backOff(restarts int) time.Duration {
	if restarts == 0 {
		return 0
	}
	return min(10*time.Second<<min(restarts-1, 10), 5*time.Minute)
}

// Next is the instant of the control plane's next action.
func (c *ControlPlane) Next() time.Duration {
	next := c.nextMeter
	for _, slots := range c.byService {
		for _, slot := range slots {
			next = min(next, c.pods[slot].due, c.pods[slot].resizeAt)
		}
	}
	return next
}

// Run performs every action that is due.
func (c *ControlPlane) Run(now time.Duration) {
	for service := range c.byService {
		for i := 0; i < len(c.byService[service]); i++ {
			slot := c.byService[service][i]
			p := &c.pods[slot]
			if p.resizeAt <= now {
				c.resizeNow(slot, now)
				p = &c.pods[slot] // a new pod may have moved it
			}
			if p.due <= now {
				switch p.Phase {
				case loadline.PodStarting:
					p.Phase, p.due, p.Ready = loadline.PodReady, Never, now
					c.kubelet.PodReady(slot)
				case loadline.PodDraining: // grace period exceeded
					c.stop(slot, now)
					i--
				}
			}
		}
	}
	c.placeReserve()
	if now >= c.nextMeter {
		for _, slots := range c.byService {
			for _, slot := range slots {
				c.meterPod(slot, now)
			}
		}
		c.nextMeter += (now - c.nextMeter + MeterInterval) / MeterInterval * MeterInterval
	}
}

// resizeNow performs a resize; if the node has no room, it is deferred and retried.
func (c *ControlPlane) resizeNow(slot int, now time.Duration) {
	p := &c.pods[slot]
	if p.Node >= 0 {
		n := &c.nodes[p.Node]
		if !n.fits(max(0, p.resizeTo.CPURequest-p.Size.CPURequest), max(0, p.resizeTo.MemoryRequest-p.Size.MemoryRequest)) {
			p.resizeAt = now + 10*time.Second
			c.recreate(slot, now)
			return
		}
		n.Requested.Cores += p.resizeTo.CPURequest - p.Size.CPURequest
		n.Requested.Memory += p.resizeTo.MemoryRequest - p.Size.MemoryRequest
	}
	c.meterPod(slot, now)
	p.Size, p.waiting = p.resizeTo, 0
	p.resizeAt = Never
	if c.cfg.ResizeRestarts && p.Phase == loadline.PodReady {
		c.kubelet.PodStopped(slot)
		p.Phase = loadline.PodStarting
		p.due = now + c.startup[p.Service].DrawTime(c.rng, c.cfg.StartupFactor)
		return
	}
	c.kubelet.PodResized(slot)
}

// meterPod counts a pod's cost up to now: the larger of what it asked for and
// what it used, averaged since it was last counted.
func (c *ControlPlane) meterPod(slot int, now time.Duration) {
	p := &c.pods[slot]
	if p.Phase == loadline.PodPending || now <= p.metered {
		return
	}
	dt := (now - p.metered).Seconds()
	cpu, mem := c.kubelet.PodUsage(slot, now)
	s := &c.meter.Services[p.Service]
	s.CoreSeconds += max(p.Size.CPURequest*dt, cpu-p.meteredCPU)
	s.ByteSeconds += max(float64(p.Size.MemoryRequest)*dt, mem-p.meteredMem)
	s.ReplicaSeconds += dt
	c.meter.ReplicaSeconds += dt
	p.metered, p.meteredCPU, p.meteredMem = now, cpu, mem
}

// Settle counts the cost of every pod up to now, at the end of a run.
func (c *ControlPlane) Settle(now time.Duration) {
	for _, slots := range c.byService {
		for _, slot := range slots {
			c.meterPod(slot, now)
		}
	}
}
