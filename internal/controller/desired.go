package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

// desired is the state that Loadline has set for a service, which is more than the
// cluster shows: the replicas after a brownout, and the size of pods that do not
// exist yet. It is kept in the status, so that the next process knows it.
type desired struct {
	replicas loadline.Opt[int] // unset: we have never set them
	size     loadline.Setting  // sizes that we have set, and nothing else
	brownout bool
	changed  time.Time // when we last changed anything
	manual   time.Time // until when a change by others is respected
}

// recall reads what an earlier process left in the status. In modes that do not act,
// what the status shows as applied was not set by us.
func recall(s *v1alpha1.ServiceStatus, acted bool) desired {
	var t desired
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
