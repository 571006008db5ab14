package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
)

// desired is the state that Loadline has set for a service, which is more than the
// cluster shows: the replicas after a brownout, and the size of pods that do not
// exist yet. It is kept in the status, so that the next process knows it.
type desired struct {
	replicas loadline.Opt[int] // unset: we have never set them
	size     loadline.Setting  // sizes that we have set, and nothing else
	brownout bool
	// before is the replicas before the brownout that has scaled the workload to zero,
	// or may have. It is set before that is done, and unset when there are replicas
	// again.
	before  loadline.Opt[int]
	changed time.Time // when we last changed anything
	manual  time.Time // until when a change by others is respected
	resumed bool      // from the status, and not yet compared with the workload
}

// resume takes over what the status has of an earlier process, or of this one under
// an earlier spec.
func (c *cluster) resume(l *v1alpha1.LoadLine) {
	status := map[string]*v1alpha1.ServiceStatus{}
	for i := range l.Status.Services {
		status[l.Status.Services[i].Name] = &l.Status.Services[i]
	}
	for i, target := range c.app.Targets {
		if target == nil {
			continue
		}
		t := recall(status[c.app.App.Services[i].Name], l.Status.Mode == v1alpha1.Act && c.app.Mode == v1alpha1.Act)
		t.size = withinAxes(t.size, c.app.Axes[i])
		c.desired[i] = t
	}
	c.resumeBrownouts(l)
}

// recall reads what an earlier process left in the status. In modes that do not act,
// what the status shows as applied was not set by us.
func recall(s *v1alpha1.ServiceStatus, acted bool) desired {
	t := desired{resumed: true}
	if s == nil {
		return t
	}
	if s.LastChangeTime != nil {
		t.changed = s.LastChangeTime.Time
	}
	if s.ManualUntil != nil {
		t.manual = s.ManualUntil.Time
	}
	if a := s.Applied; acted && a != nil {
		if a.Replicas != nil && !t.changed.IsZero() {
			t.replicas = loadline.Some(int(*a.Replicas))
		}
		t.brownout = a.Brownout != nil && *a.Brownout
	}
	if a := s.Size; a != nil {
		t.size = loadline.Setting{
			CPURequest: coresOf(a.CPURequest), CPULimit: coresOf(a.CPULimit),
			MemoryRequest: bytesOf(a.MemoryRequest), MemoryLimit: bytesOf(a.MemoryLimit),
		}
	}
	return t
}

func coresOf(q *resource.Quantity) loadline.Opt[float64] {
	if q == nil {
		return loadline.Opt[float64]{}
	}
	return loadline.Some(q.AsApproximateFloat64())
}

func bytesOf(q *resource.Quantity) loadline.Opt[int64] {
	if q == nil {
		return loadline.Opt[int64]{}
	}
	return loadline.Some(q.Value())
}

// compare updates what is desired by what the workload is found to be.
func (t *desired) compare(s *kube.State, byKEDA bool) {
	if t.resumed {
		t.resumed = false
		if len(s.Pods) > 0 {
			t.size = atLeast(t.size, s.Size)
		}
	}
	switch {
	case !t.before.Set:
	case s.Replicas > 0 && (!byKEDA || !t.brownout):
		// The brownout was not carried out, or is over. KEDA carries it out later.
		t.brownout, t.before = false, loadline.Opt[int]{}
	case s.Replicas == 0 && !byKEDA:
		t.brownout = true
	}
}

// atLeast raises a desired size, axis by axis, to the size that most pods have. A
// process that ended between resizing pods and writing the status leaves a status
// that is behind; reductions are left to the guards.
func atLeast(size loadline.Setting, is loadline.Size) loadline.Setting {
	raiseRequest(&size.CPURequest, is.CPURequest)
	raiseLimit(&size.CPULimit, is.CPULimit)
	raiseRequest(&size.MemoryRequest, is.MemoryRequest)
	raiseLimit(&size.MemoryLimit, is.MemoryLimit)
	return size
}

func raiseRequest[T int64 | float64](o *loadline.Opt[T], is T) {
	if o.Set {
		o.Value = max(o.Value, is)
	}
}

// raiseLimit leaves the axis unset where pods have no limit.
func raiseLimit[T int64 | float64](o *loadline.Opt[T], is T) {
	switch {
	case is == 0:
		*o = loadline.Opt[T]{}
	case o.Set && o.Value != 0:
		o.Value = max(o.Value, is)
	}
}

// sizes is the part of a setting that is about the size of replicas.
func sizes(s loadline.Setting) loadline.Setting {
	s.Replicas, s.Brownout = loadline.Opt[int]{}, loadline.Opt[bool]{}
	return s
}

// over puts one setting's sizes over another's.
func over(base, more loadline.Setting) loadline.Setting {
	pick(&base.CPURequest, more.CPURequest)
	pick(&base.CPULimit, more.CPULimit)
	pick(&base.MemoryRequest, more.MemoryRequest)
	pick(&base.MemoryLimit, more.MemoryLimit)
	return base
}

func pick[T any](to *loadline.Opt[T], from loadline.Opt[T]) {
	if from.Set {
		*to = from
	}
}
