package knative

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Wanted is the number of replicas that a policy or a LoadLine wants.
type Wanted struct {
	Replicas int32
	// Load is what is being processed or held, in the revision's metric: whether the pods have
	// capacity for a burst besides. Unset = unknown.
	Load loadline.Opt[float64]
	Why  string
}

// Seen is all that a decision about one revision depends on.
type Seen struct {
	Now      time.Time
	PA       *PodAutoscaler
	SKS      *ServerlessService // nil = there is none yet
	Ready    int32              // pods
	Replicas int32              // that the Deployment asks for
	Wanted   loadline.Opt[Wanted]
	Settings Settings
	NotOwned string // name of a ServerlessService that belongs to something else; "" = there is none
}

// Outcome is what is to be done for it.
type Outcome struct {
	Mode       string
	Activators int32               // least number of activators for its requests
	Replicas   loadline.Opt[int32] // unset = the Deployment stays as it is
	Status     PodAutoscalerStatus
	// After is when to look again though nothing changes; 0 = the next change is enough.
	After time.Duration
}

// minActivators share the requests of every revision, so that one may end.
const minActivators = 2

// unknown is what DesiredScale says before the first decision.
const unknown = -1

// Decide about a revision. The order is that of Knative's own autoscaler: the
// ServerlessService must have its private service, then the Deployment is scaled, then the
// mode follows, and the status says what came of it.
func Decide(s Seen) Outcome {
	c := newConditions(s.PA.Status.Conditions, s.Now)
	o := Outcome{Mode: Proxy, Activators: minActivators, Status: s.PA.Status}
	ready, want := int32(0), int32(unknown)
	switch {
	case s.NotOwned != "":
		c.mark(conditionActive, isFalse, "NotOwned", fmt.Sprintf("There is an existing ServerlessService %q that we do not own.", s.NotOwned))
	case s.SKS == nil || s.SKS.Status.PrivateServiceName == "":
		c.mark(conditionSKSReady, isUnknown, "NotReady", "No Private Service Name")
	default:
		ready = s.Ready
		want = s.decide(&o, c)
	}
	if s.NotOwned == "" {
		scales(&o.Status, ready, want)
		s.activity(c, &o.Status, ready, want)
	}
	o.Status.Conditions, o.Status.ObservedGeneration = c.list, s.PA.Generation
	return o
}

// decide with a ServerlessService, and return the wanted replicas.
func (s *Seen) decide(o *Outcome, c *conditions) int32 {
	want, apply, after := s.scale(c)
	o.After = after
	if apply && want != s.Replicas {
		o.Replicas = loadline.Some(want)
	}
	switch {
	case want > 0 && s.spare() >= 0:
		o.Mode = Serve
	case want == unknown && s.Ready > 0 && s.SKS.Spec.Mode != "":
		o.Mode = s.SKS.Spec.Mode // without data nothing changes
	}
	o.Activators = s.activators()
	o.Status.ServiceName, o.Status.MetricsServiceName = s.SKS.Status.ServiceName, s.SKS.Status.PrivateServiceName
	if s.SKS.Ready() {
		c.mark(conditionSKSReady, isTrue, "", "")
		return want
	}
	message := ""
	if r := find(s.SKS.Status.Conditions, conditionReady); r != nil {
		message = r.Message
	}
	c.mark(conditionSKSReady, isUnknown, "NotReady", message)
	return want
}

// scale is the number of replicas, whether it is to be applied, and when to look again. It is
// unknown without data, and then nothing is applied.
func (s *Seen) scale(c *conditions) (want int32, apply bool, after time.Duration) {
	want = unknown
	if s.Wanted.Set {
		want = s.Wanted.Value.Replicas
	}
	activating := c.active() == isUnknown
	if want < 0 && !activating {
		return unknown, false, 0
	}
	least := s.Settings.Min
	if c.status(conditionInitialized) != isTrue && s.Settings.Initial > 1 && s.PA.Spec.Reachability != unreachable {
		least = max(least, s.Settings.Initial)
	}
	if want > 0 && s.Settings.Activation > 1 {
		want = max(want, s.Settings.Activation)
	}
	if want < least {
		want = least
	}
	if s.Settings.Max > 0 {
		want = min(want, s.Settings.Max)
	}
	if want > 0 {
		return want, true, 0
	}
	return s.toZero(c)
}

// toZero goes in steps: the last pod stays until the revision has been active for a window,
// then it is marked inactive, which puts activators before it, and it goes when they
// have been there for the grace period.
func (s *Seen) toZero(c *conditions) (want int32, apply bool, after time.Duration) {
	if !s.Settings.ToZero {
		return 1, true, 0
	}
	if s.Replicas == 0 && c.active() != isUnknown {
		return 0, true, 0
	}
	been := c.activeFor()
	switch c.active() {
	case isUnknown: // activating
		limit := s.Settings.Deadline + activationBuffer
		if been > limit {
			return 0, true, 0
		}
		return unknown, false, limit - been + time.Second
	case isTrue:
		if been < s.Settings.Window {
			return 1, true, s.Settings.Window - been
		}
		return 0, false, time.Second
	}
	if been < s.Settings.Retention {
		return 0, false, s.Settings.Retention - been
	}
	proxied := s.SKS.proxiedFor(s.Now)
	if s.SKS.Spec.Mode != Proxy || proxied == 0 {
		return 0, false, time.Second
	}
	if proxied < s.Settings.Grace {
		return 0, false, s.Settings.Grace - proxied
	}
	return 0, true, 0
}

// spare is the capacity of the ready pods beyond their load and the burst that the user wants to
// be able to take; negative puts activators before the pods, which is safe when nothing is known.
func (s *Seen) spare() float64 {
	burst := s.Settings.BurstCapacity
	switch {
	case burst == 0:
		return 0
	case burst < 0 || !s.Wanted.Set || !s.Wanted.Value.Load.Set:
		return -1
	}
	return math.Floor(float64(s.Ready)*s.Settings.Target - burst - s.Wanted.Value.Load.Value)
}

// activators that have the capacity of all ready pods and of a burst.
func (s *Seen) activators() int32 {
	if s.Settings.BurstCapacity == 0 {
		return minActivators
	}
	capacity := float64(s.Ready)*s.Settings.Target + max(s.Settings.BurstCapacity, 0)
	return int32(max(minActivators, math.Ceil(capacity/s.Settings.Activator)))
}

// scales are the figures of the status. A restart does not turn a known number into "unknown".
func scales(to *PodAutoscalerStatus, ready, want int32) {
	to.ActualScale = &ready
	if want != unknown || to.DesiredScale == nil || *to.DesiredScale < 0 {
		to.DesiredScale = &want
	}
}

// activity says whether the revision is active, and whether it ever had the pods to be.
func (s *Seen) activity(c *conditions, to *PodAutoscalerStatus, ready, want int32) {
	needed := s.activeFrom(c)
	if ready >= needed && to.ServiceName != "" {
		c.mark(conditionInitialized, isTrue, "", "")
	}
	idle := func() { c.mark(conditionActive, isFalse, "NoTraffic", "The target is not receiving traffic.") }
	switch {
	case want == 0 || needed == 0:
		if c.active() == isUnknown && needed > 0 {
			c.mark(conditionActive, isFalse, "TimedOut", "The target could not be activated.")
			return
		}
		idle()
	case want > 0 || c.active() != isFalse:
		if ready >= needed {
			c.mark(conditionActive, isTrue, "", "")
			return
		}
		c.mark(conditionActive, isUnknown, "Queued", "Requests to the target are being buffered as resources are provisioned.")
	case ready < needed:
		idle()
	}
}

// activeFrom is the number of ready pods from which the revision is active. Until it was once, that
// is its initial scale.
func (s *Seen) activeFrom(c *conditions) int32 {
	if c.status(conditionInitialized) != isTrue {
		return max(s.Settings.Min, s.Settings.Initial)
	}
	return max(s.Settings.Min, 1)
}
