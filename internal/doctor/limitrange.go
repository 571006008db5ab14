package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

// limitRanges of a LoadLine's namespace.
func (e *exam) limitRanges(ctx context.Context, a about, l *v1alpha1.LoadLine) []corev1.LimitRange {
	s := e.space(l.Namespace)
	if !s.ranges.done {
		var list corev1.LimitRangeList
		s.ranges.err = e.Reader.List(ctx, &list, client.InNamespace(l.Namespace))
		s.ranges.items, s.ranges.done = list.Items, true
	}
	if s.ranges.err != nil {
		e.unseen(a, "limit-range", "LimitRanges of the namespace "+l.Namespace, s.ranges.err, "")
	}
	return s.ranges.items
}

// withinRanges compares every size that a service's pods may get with the limits of the
// namespace: beyond them, pods are neither created nor resized. Fixed sizes count too, since
// new replicas need them.
func (e *exam) withinRanges(a about, l *v1alpha1.LoadLine, s *v1alpha1.Service, t *target, ranges []corev1.LimitRange) {
	if t.container == nil {
		return
	}
	spec := withDefaults(t.spec(), ranges)
	guaranteed := classOf(t) == corev1.PodQOSGuaranteed
	var names []string
	within := true
	for i := range ranges {
		for _, item := range ranges[i].Spec.Limits {
			if item.Type != corev1.LimitTypeContainer && item.Type != corev1.LimitTypePod {
				continue
			}
			names = append(names, ranges[i].Name)
			for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				request, limit := reach(spec, s, t.container.Name, r)
				if item.Type == corev1.LimitTypePod {
					request = total(spec, t.container.Name, request, requestsOf, r)
					limit = total(spec, t.container.Name, limit, limitsOf, r)
				}
				for _, b := range breaches(item, r, request, limit, guaranteed) {
					within = false
					do := "change resources in the template of " + t.String()
					if b.moved {
						do = fmt.Sprintf("narrow spec.services[%s].bounds.%s", s.Name, r)
					}
					a.warn("limit-range", fmt.Sprintf("widen it (kubectl -n %s edit limitrange %s), or %s", l.Namespace, ranges[i].Name,
						do),
						"LimitRange %s %s. Such pods are neither created nor resized.", ranges[i].Name, b.found)
				}
			}
		}
	}
	if within && len(names) > 0 {
		a.ok("limit-range", "Its pods stay within the namespace's LimitRanges (%s).", some(slices.Compact(names)))
	}
}

// breach is a possible violation of an item of a LimitRange.
type breach struct {
	found string // continues after the LimitRange's name
	moved bool   // by Loadline: other bounds would help
}

// breaches of one item in one resource, at most one for each of its rules.
func breaches(item corev1.LimitRangeItem, r corev1.ResourceName, request, limit span, guaranteed bool) []breach {
	var all []breach
	add := func(rule, but string, moved bool) { all = append(all, breach{rule + ", and " + but, moved}) }
	per := fmt.Sprintf("%s per %s", r, strings.ToLower(string(item.Type)))
	aRequest, aLimit := "request", "limit"
	if item.Type == corev1.LimitTypePod {
		aRequest, aLimit = "total request", "total limit"
	}
	if q, given := item.Min[r]; given {
		rule := fmt.Sprintf("asks for at least %s %s (min)", q.String(), per)
		switch {
		case !request.set:
			add(rule, "nothing is requested", false)
		case limit.set && limit.low.Cmp(q) < 0:
			add(rule, limit.least(aLimit, r), limit.moved)
		case request.low.Cmp(q) < 0:
			add(rule, request.least(aRequest, r), request.moved)
		}
	}
	if q, given := item.Max[r]; given {
		rule := fmt.Sprintf("allows at most %s %s (max)", q.String(), per)
		switch {
		case !limit.set:
			add(rule, "there is no limit", false)
		case limit.high.Cmp(q) > 0:
			add(rule, limit.most(aLimit, r), limit.moved)
		case request.high.Cmp(q) > 0:
			add(rule, request.most(aRequest, r), request.moved)
		}
	}
	if q, given := item.MaxLimitRequestRatio[r]; given {
		rule := fmt.Sprintf("allows a limit of at most %s times the request, of %s (maxLimitRequestRatio)", q.String(), per)
		switch {
		case !request.set || !limit.set || request.low.IsZero():
			add(rule, "one of the two is missing", false)
		case guaranteed: // both change together, or not at all
		case times(limit.high, request.low)*1000 > float64(q.MilliValue()):
			add(rule, limit.most(aLimit, r)+" while "+request.least(aRequest, r), request.moved || limit.moved)
		}
	}
	return all
}

// times is the ratio, calculated in thousandths as the API server does.
func times(limit, request resource.Quantity) float64 {
	return float64(limit.MilliValue()) / float64(request.MilliValue())
}

// least and most describe the ends of a span, and which bound sets them.
func (x span) least(what string, r corev1.ResourceName) string { return x.says(what, r, "min", x.low) }
func (x span) most(what string, r corev1.ResourceName) string  { return x.says(what, r, "max", x.high) }

func (x span) says(what string, r corev1.ResourceName, bound string, q resource.Quantity) string {
	if x.moved {
		return fmt.Sprintf("bounds.%s.%s allows a %s of %s", r, bound, what, q.String())
	}
	return fmt.Sprintf("the %s is %s", what, q.String())
}
