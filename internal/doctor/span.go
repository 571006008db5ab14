package doctor

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/loadline/loadline/api/v1alpha1"
)

// span is the range of a request or a limit.
type span struct {
	low, high resource.Quantity
	set       bool // pods are created with one
	moved     bool // by Loadline
}

func fixed(list corev1.ResourceList, r corev1.ResourceName) span {
	q, has := list[r]
	return span{low: q, high: q, set: has}
}

func (x *span) add(other span) {
	x.low, x.high = x.low.DeepCopy(), x.high.DeepCopy() // quantities may share memory
	x.low.Add(other.low)
	x.high.Add(other.high)
	x.set, x.moved = x.set || other.set, x.moved || other.moved
}

func most(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

func least(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

// reach is the range of a container's request and limit: the bounds of what is scaled, the
// present values of the rest. A request never exceeds a fixed limit, nor is a limit below a
// fixed request.
func reach(spec *corev1.PodSpec, s *v1alpha1.Service, container string, r corev1.ResourceName) (request, limit span) {
	i := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == container })
	has := &spec.Containers[i].Resources
	request, limit = fixed(has.Requests, r), fixed(has.Limits, r)
	b := boundsOf(s, r)
	if b == nil {
		return request, limit
	}
	requests, limits := slices.Contains(s.Axes, v1alpha1.VerticalRequests), slices.Contains(s.Axes, v1alpha1.VerticalLimits)
	low, high := b.Min, b.Max
	switch {
	case requests && limits:
		request, limit = span{low, high, request.set, true}, span{low, high, limit.set, true}
	case requests && limit.set:
		request = span{least(low, limit.low), least(high, limit.low), request.set, true}
	case requests:
		request = span{low, high, request.set, true}
	case limits:
		limit = span{most(low, request.low), most(high, request.low), limit.set, true}
	}
	return request, limit
}

func requestsOf(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Requests }
func limitsOf(r *corev1.ResourceRequirements) corev1.ResourceList   { return r.Limits }

// total of a pod's requests or limits, with one container's own span: containers that run at
// the same time, or an init container if that alone needs more. Pod-level resources take
// precedence if they are set.
func total(spec *corev1.PodSpec, container string, own span, of func(*corev1.ResourceRequirements) corev1.ResourceList,
	r corev1.ResourceName) span {
	if spec.Resources != nil {
		if x := fixed(of(spec.Resources), r); x.set {
			return x
		}
	}
	var sum, sidecars, peak span
	for i := range spec.Containers {
		c := &spec.Containers[i]
		if c.Name == container {
			sum.add(own)
		} else {
			sum.add(fixed(of(&c.Resources), r))
		}
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		x := fixed(of(&c.Resources), r)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sum.add(x)
			sidecars.add(x)
			continue
		}
		x.add(sidecars)
		peak.low, peak.set = most(peak.low, x.low), peak.set || x.set
	}
	sum.low, sum.high, sum.set = most(sum.low, peak.low), most(sum.high, peak.low), sum.set || peak.set
	return sum
}

// withDefaults is a pod's spec with the API server's defaults at creation: a request equal to
// the limit, and defaults of LimitRanges.
func withDefaults(spec *corev1.PodSpec, ranges []corev1.LimitRange) *corev1.PodSpec {
	spec = spec.DeepCopy()
	fill := func(into *corev1.ResourceList, from corev1.ResourceList) {
		for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			_, has := (*into)[r]
			if q, given := from[r]; given && !has {
				if *into == nil {
					*into = corev1.ResourceList{}
				}
				(*into)[r] = q
			}
		}
	}
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			c := &list[i].Resources
			fill(&c.Requests, c.Limits)
			for j := range ranges {
				for _, item := range ranges[j].Spec.Limits {
					if item.Type == corev1.LimitTypeContainer {
						fill(&c.Requests, item.DefaultRequest)
						fill(&c.Limits, item.Default)
					}
				}
			}
		}
	}
	return spec
}
