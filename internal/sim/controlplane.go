package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadline/loadline"
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
	startAt  time.Duration // its container starts; Never = it has, or is not bound
	resizeAt time.Duration // Never = none pending
	resizeTo loadline.Size
	deferred bool          // the resize waits for room on the node
	lost     bool          // its node has failed
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
	// PodLost: the pod's node has failed. Its requests fail, and so do calls to it, which
	// are routed to it until PodStopped.
	PodLost(slot int)
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
	rng     []*rand.Rand // by service
	startup []Sampler
	resize  Sampler

	pods      []Pod // by slot
	free      []int
	byService [][]int // slots in order of creation
	pending   []int   // slots of pods that no node has room for, in order of creation
	alloc     []loadline.Allocation
	nextID    int64
	nextMeter time.Duration
	reserve   reserve
	refused   bool // pods are missing because a quota is used up

	nodeControl
}

// NewControlPlane makes the control plane. The pods that run at the start come with Start.
func NewControlPlane(cfg Config, meter *Meter, k Kubelet) *ControlPlane {
	app := cfg.App
	c := &ControlPlane{
		app: app, cfg: cfg, kubelet: k, meter: meter,
		rng:       TenantStreams(app, cfg.Seed, StreamPods),
		resize:    NewSampler(cfg.ResizeDelay),
		byService: make([][]int, len(app.Services)),
		alloc:     make([]loadline.Allocation, len(app.Services)),
		nextMeter: MeterInterval,
	}
	c.initNodes()
	for i := range app.Services {
		s := &app.Services[i]
		c.startup = append(c.startup, NewSampler(s.Startup))
		c.alloc[i] = loadline.Allocation{Replicas: s.Replicas, Size: s.Size}
	}
	return c
}

// Start creates the initial pods, ready from the beginning, and the nodes for them. It is
// separate from NewControlPlane because the engine is notified of each.
func (c *ControlPlane) Start() {
	c.firstNodes()
	for i := range c.app.Services {
		for range c.alloc[i].Replicas {
			c.create(i, 0)
		}
	}
	for len(c.pending) > 0 && c.elastic && c.provision(0, true) > 0 {
		c.placePending(0)
	}
	for i := range c.pods {
		if p := &c.pods[i]; p.Phase == loadline.PodStarting {
			p.due = 0
			if p.startAt != Never {
				c.startContainer(i, p.startAt)
			}
		}
	}
	for i := range c.nodes {
		n := &c.nodes[i]
		n.startFree, n.pullFree = 0, 0
		for k := range n.images {
			if n.images[k] != Never {
				n.images[k] = 0
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
	if plan.Reserve.Set {
		c.setReserve(plan.Reserve.Value, plan.ReservePod, now)
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
			if p.lost || !c.admitsResize(p.Size, to) {
				continue
			}
			p.resizeTo, p.deferred, p.waiting = to, false, 0
			p.resizeAt = now + c.resize.DrawTime(c.rng[service], 1)
		}
	}
	if len(c.pending) > 0 {
		c.placePending(now)
	}
}

// reconcile creates or removes pods until a service has the desired number.
func (c *ControlPlane) reconcile(service int, now time.Duration) {
	c.grow(service, now)
	for have := c.undrained(service); have > c.alloc[service].Replicas; have-- {
		c.remove(c.victim(service), now)
	}
}

// grow creates pods until a service has the desired number, as far as the quota has room.
func (c *ControlPlane) grow(service int, now time.Duration) {
	for have := c.undrained(service); have < c.alloc[service].Replicas; have++ {
		if !c.admits(c.alloc[service].Size.Uses()) {
			c.refused = true
			return
		}
		c.create(service, now)
	}
}

// undrained counts the pods of a service that do not terminate.
func (c *ControlPlane) undrained(service int) int {
	n := 0
	for _, slot := range c.byService[service] {
		if c.pods[slot].Phase != loadline.PodDraining {
			n++
		}
	}
	return n
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

func (c *ControlPlane) create(service int, now time.Duration) {
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
		Created: now, Ready: Never, Size: c.alloc[service].Size, due: Never, startAt: Never, resizeAt: Never,
	}
	c.byService[service] = append(c.byService[service], slot)
	if !c.place(slot, now) {
		c.pending = append(c.pending, slot)
		c.openBatch(now, true)
	}
}

func (c *ControlPlane) remove(slot int, now time.Duration) {
	p := &c.pods[slot]
	if p.Phase != loadline.PodReady {
		c.stop(slot, now)
		return
	}
	p.Phase = loadline.PodDraining
	p.due = now + c.cfg.Grace
	p.resizeAt, p.deferred = Never, false
	if p.Node >= 0 {
		c.nodes[p.Node].changed = now
	}
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
	node := p.Node
	c.meterPod(slot, now)
	if p.Phase == loadline.PodPending {
		c.pending = without(c.pending, slot)
	} else {
		c.kubelet.PodStopped(slot)
		c.release(p, now)
	}
	c.byService[p.Service] = without(c.byService[p.Service], slot)
	p.due, p.startAt, p.resizeAt = Never, Never, Never
	p.deferred = false
	p.ID = 0
	c.free = append(c.free, slot)
	if node >= 0 {
		c.retryResizes(node, now)
	}
	if len(c.pending) > 0 {
		c.placePending(now)
	}
}

// without removes a slot from a list that has it once.
func without(list []int, slot int) []int {
	i := slices.Index(list, slot)
	return append(list[:i], list[i+1:]...)
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
	p.startAt = now + backOff(p.restarts)
	p.due = p.startAt + c.startup[p.Service].DrawTime(c.rng[p.Service], c.cfg.StartupFactor)
	p.restarts++
	c.startContainer(slot, now)
}

// HoldStart leaves the end of a pod's start-up to the engine, which calls Started. It returns
// how long the start-up takes with all the CPU that it can use.
func (c *ControlPlane) HoldStart(slot int, now time.Duration) time.Duration {
	p := &c.pods[slot]
	left := p.due - now
	p.due = Never
	return left
}

// Started makes a starting pod ready, after HoldStart.
func (c *ControlPlane) Started(slot int, now time.Duration) {
	p := &c.pods[slot]
	p.Phase, p.due, p.Ready = loadline.PodReady, Never, now
	c.kubelet.PodReady(slot)
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
	next := min(c.nextMeter, c.nodesNext())
	for _, slots := range c.byService {
		for _, slot := range slots {
			p := &c.pods[slot]
			next = min(next, p.due, p.startAt, p.resizeAt)
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
			c.startContainer(slot, now)
			if p.resizeAt <= now {
				c.resizeNow(slot, now)
				p = &c.pods[slot] // a new pod may have moved it
			}
			if p.due <= now {
				switch p.Phase {
				case loadline.PodStarting:
					c.Started(slot, now)
				case loadline.PodDraining: // grace period exceeded
					c.stop(slot, now)
					i--
				}
			}
		}
	}
	if c.draining > 0 || now >= c.nodesNext() {
		c.runNodes(now)
	}
	c.createRefused(now)
	c.placeReserve(now)
	if now >= c.nextMeter {
		c.Settle(now)
		c.nextMeter += (now - c.nextMeter + MeterInterval) / MeterInterval * MeterInterval
	}
}
