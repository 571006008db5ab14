package resource

import (
	"time"

	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
)

// Remember puts the guards' memory into a status. Services that the status does not
// list are left out: they are not ours to change.
func Remember(status *v1alpha1.LoadLineStatus, m guard.Memory) {
	before := func(age loadline.Opt[time.Duration]) *metav1.MicroTime {
		if !age.Set {
			return nil
		}
		t := metav1.NewMicroTime(m.At.Add(-age.Value))
		return &t
	}
	status.Memory = &v1alpha1.GuardMemory{
		Time: metav1.NewMicroTime(m.At), Kinds: m.Kinds, Off: m.Brownout.Off,
		Switched: before(m.Brownout.Switched), MetSince: before(m.Brownout.Met),
	}
	for i := range status.Services {
		s := &status.Services[i]
		s.Memory = nil
		of, any := m.Services[s.Name]
		if !any {
			continue
		}
		s.Memory = &v1alpha1.ServiceMemory{Raised: before(of.Raised), Reduced: before(of.Reduced)}
		if w := of.Watch; w != nil {
			s.Memory.ScaleIn = &v1alpha1.ScaleIn{
				Stage: w.Stage, Since: *before(loadline.Some(w.Age)), Interrupted: w.Interrupted,
				Before: *Desired(w.Before), Target: *Desired(w.Target), Last: *Desired(w.Last), Low: int32(w.Low),
			}
		}
	}
}

// Recall reads it; the zero Memory if there is none.
func Recall(status *v1alpha1.LoadLineStatus) guard.Memory {
	if status.Memory == nil {
		return guard.Memory{}
	}
	at := status.Memory.Time.Time
	age := func(t *metav1.MicroTime) loadline.Opt[time.Duration] {
		if t == nil {
			return loadline.Opt[time.Duration]{}
		}
		return loadline.Some(max(at.Sub(t.Time), 0))
	}
	m := guard.Memory{
		At: at, Kinds: status.Memory.Kinds, Services: map[string]guard.ServiceMemory{},
		Brownout: guard.BrownoutMemory{Off: status.Memory.Off, Switched: age(status.Memory.Switched), Met: age(status.Memory.MetSince)},
	}
	for i := range status.Services {
		s := &status.Services[i]
		if s.Memory == nil {
			continue
		}
		of := guard.ServiceMemory{Raised: age(s.Memory.Raised), Reduced: age(s.Memory.Reduced)}
		if w := s.Memory.ScaleIn; w != nil {
			of.Watch = &guard.Watch{
				Stage: w.Stage, Age: age(&w.Since).Value, Interrupted: w.Interrupted,
				Before: allocation(&w.Before), Target: allocation(&w.Target), Last: allocation(&w.Last), Low: int(w.Low),
			}
		}
		m.Services[s.Name] = of
	}
	return m
}

// allocation reverses Desired.
func allocation(a *v1alpha1.Amounts) loadline.Allocation {
	var l loadline.Allocation
	if a.Replicas != nil {
		l.Replicas = int(*a.Replicas)
	}
	cpu := func(q *quantity.Quantity) float64 {
		if q == nil {
			return 0
		}
		return cores(*q)
	}
	memory := func(q *quantity.Quantity) int64 {
		if q == nil {
			return 0
		}
		return q.Value()
	}
	l.Size = loadline.Size{CPURequest: cpu(a.CPURequest), CPULimit: cpu(a.CPULimit), MemoryRequest: memory(a.MemoryRequest),
		MemoryLimit: memory(a.MemoryLimit)}
	l.Brownout = a.Brownout != nil && *a.Brownout
	return l
}
