package onboard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/advice"
	"github.com/loadline/loadline/internal/calendar"
	"github.com/loadline/loadline/internal/history"
)

// mostReplicas is the schema's bound.
const mostReplicas = 100000

// serviceOf a workload: the bounds of its autoscaler, or guessed ones, and where they come from.
func (p *proposing) serviceOf(w *advice.Workload, h *history.History) (v1alpha1.Service, Service) {
	s := v1alpha1.Service{
		Name:      w.Object.Name,
		TargetRef: v1alpha1.TargetRef{APIVersion: "apps/v1", Kind: w.Object.Kind, Name: w.Object.Name},
		Axes:      []v1alpha1.Axis{v1alpha1.Horizontal},
	}
	of := Service{Name: w.Object.Name, Workload: kindAndName(w), Replicas: w.Replicas}
	most := w.Replicas
	if m := h.Service(w.Object.Name); m != nil {
		of.Rate = highest(m.Series[loadline.ServiceRate])
		most = max(most, int(highest(m.Series[loadline.ServiceReady])))
	}
	switch a := w.Horizontal; {
	case a == nil:
		of.Min, of.Max, of.From = max(1, min(2, w.Replicas)), max(5, 3*most), "guess"
	default:
		of.Min, of.Max, of.From = a.Min, min(a.Max, mostReplicas), a.Object.Kind+" "+a.Object.Name
		if a.Min == 0 {
			of.Min = 1
			p.note("%s allows zero replicas: 1 is proposed, because requests to a service without pods fail unless something holds them",
				a.Object)
		}
		of.Max = max(of.Max, of.Min)
		p.schedules(&s, a, of.Max)
	}
	s.Bounds.Replicas = v1alpha1.ReplicaBounds{Min: new(int32(of.Min)), Max: int32(of.Max)}
	if floor := min(most, of.Max); floor > of.Min {
		s.Floor = &v1alpha1.Floor{Replicas: new(int32(floor))}
	}
	p.sizes(&s, w)
	return s, of
}

// sizes are those of a VerticalPodAutoscaler that has bounds.
func (p *proposing) sizes(s *v1alpha1.Service, w *advice.Workload) {
	v := w.Vertical
	if v == nil {
		return
	}
	if !p.seen.Resizable {
		p.out.NotTakenOver = append(p.out.NotTakenOver, fmt.Sprintf("%s: the cluster cannot resize pods in place (Kubernetes 1.33 can)",
			v.Object))
		return
	}
	for _, of := range []struct {
		is   bool
		name corev1.ResourceName
		to   **v1alpha1.QuantityBounds
	}{{v.CPU, corev1.ResourceCPU, &s.Bounds.CPU}, {v.Memory, corev1.ResourceMemory, &s.Bounds.Memory}} {
		if !of.is {
			continue
		}
		least, has := v.Min[of.name]
		most, has2 := v.Max[of.name]
		if !has || !has2 {
			p.out.NotTakenOver = append(p.out.NotTakenOver, fmt.Sprintf("%s: %s without both minAllowed and maxAllowed, which bounds need",
				v.Object, of.name))
			continue
		}
		*of.to = &v1alpha1.QuantityBounds{Min: atLeast(least, of.name), Max: most}
	}
	if s.Bounds.CPU != nil || s.Bounds.Memory != nil {
		s.Axes = append(s.Axes, v1alpha1.VerticalRequests, v1alpha1.VerticalLimits)
	}
}

// atLeast is an amount that the schema allows as a lower bound.
func atLeast(q resource.Quantity, name corev1.ResourceName) resource.Quantity {
	least := resource.MustParse("1m")
	if name == corev1.ResourceMemory {
		least = resource.MustParse("1Mi")
	}
	if q.Cmp(least) < 0 {
		return least
	}
	return q
}

// mostSchedules is the schema's bound.
const mostSchedules = 16

// schedules of KEDA's cron triggers become the service's.
func (p *proposing) schedules(s *v1alpha1.Service, a *advice.Horizontal, most int) {
	for i, c := range a.Schedules {
		_, err := calendar.ParseWindow(c.Start, c.End, c.TimeZone)
		if err != nil || len(s.Schedule) == mostSchedules {
			p.out.NotTakenOver = append(p.out.NotTakenOver, fmt.Sprintf("%s: at least %s from %q to %q, %s", a.Object,
				loadline.DescribeReplicas(c.Replicas), c.Start, c.End, c.TimeZone))
			continue
		}
		s.Schedule = append(s.Schedule, v1alpha1.ScheduledFloor{Name: fmt.Sprintf("%s-%d", strings.ToLower(a.Object.Kind), i+1),
			Start: c.Start, End: c.End, TimeZone: c.TimeZone, Replicas: int32(min(c.Replicas, most))})
	}
}

// usualDownWindow is that of an HPA without a behaviour.
const usualDownWindow = 5 * time.Minute

// coolDown of an application: the longest time for which one of its autoscalers waits with a
// reduction, if that is longer than usual; 0 = the guards' own.
func coolDown(all []*advice.Workload) time.Duration {
	longest := time.Duration(0)
	for _, w := range all {
		if w.Horizontal != nil {
			longest = max(longest, w.Horizontal.DownWindow)
		}
	}
	if longest <= usualDownWindow {
		return 0
	}
	return longest
}

func kindAndName(w *advice.Workload) string { return w.Object.Kind + " " + w.Object.Name }

// scaledBy names the LoadLine that has a workload already; "" = none.
func (p *proposing) scaledBy(w *advice.Workload) string {
	for i := range p.seen.LoadLines {
		l := &p.seen.LoadLines[i]
		if slices.ContainsFunc(l.Spec.Services, func(s v1alpha1.Service) bool {
			kind := s.TargetRef.Kind
			if kind == "" {
				kind = "Deployment"
			}
			return s.TargetRef.Name == w.Object.Name && kind == w.Object.Kind
		}) {
			return l.Name
		}
	}
	return ""
}
