package doctor

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
)

// requests that a rule needs.
func (e *exam) requests(a about, l *v1alpha1.LoadLine, s *v1alpha1.Service, t *target) {
	if t.container == nil {
		return
	}
	if _, has := t.container.Resources.Requests[corev1.ResourceCPU]; !has && usesHPA(l) {
		a.warn("requests", fmt.Sprintf("give it resources.requests.cpu, or choose a policy and a fallback other than hpa for %s", l.Name),
			"Container %s has no CPU request, which the rule hpa measures the load against.", t.container.Name)
	}
}

func usesHPA(l *v1alpha1.LoadLine) bool {
	fallback := string(l.Spec.Fallback)
	return fallback == "" || strings.HasPrefix(fallback, "hpa") || strings.HasPrefix(string(l.Spec.Policy.Baseline), "hpa")
}

// size checks whether a container can be resized in place on the axes.
func (e *exam) size(a about, s *v1alpha1.Service, t *target) {
	if !e.resizable {
		a.fault("resize", "take the vertical axes out, or upgrade the cluster",
			"Its size is to be moved, and this cluster cannot resize pods in place.")
		return
	}
	if t.container == nil {
		return
	}
	e.refusedByClass(a, s, t)
	e.restarts(a, s, t)
	e.pending(a, t)
	if t.template != nil && t.template.Spec.OS != nil && t.template.Spec.OS.Name == corev1.Windows {
		a.fault("resize", "take the vertical axes out", "Windows pods cannot be resized.")
	}
}

// moved are the resources that have bounds.
func moved(s *v1alpha1.Service) []corev1.ResourceName {
	var all []corev1.ResourceName
	if s.Bounds.CPU != nil {
		all = append(all, corev1.ResourceCPU)
	}
	if s.Bounds.Memory != nil {
		all = append(all, corev1.ResourceMemory)
	}
	return all
}

// refusedByClass: a resize may not change the pod's QoS class.
func (e *exam) refusedByClass(a about, s *v1alpha1.Service, t *target) {
	requests := slices.Contains(s.Axes, v1alpha1.VerticalRequests)
	limits := slices.Contains(s.Axes, v1alpha1.VerticalLimits)
	switch class := classOf(t); {
	case class == corev1.PodQOSBestEffort:
		a.fault("resize", "give its containers resources.requests in the template",
			"Its pods are best effort (no requests, no limits), and such pods cannot be resized.")
	case class == corev1.PodQOSGuaranteed && !(requests && limits):
		a.fault("resize", "set axes to [VerticalRequests, VerticalLimits] (beside Horizontal), or make the template's limits higher "+
			"than its requests",
			"Its pods are Guaranteed (requests equal limits): to stay so, requests and limits must be moved together, and only one "+
				"of them may be.")
	case class == corev1.PodQOSBurstable && requests && !limits && e.wouldMeet(s, t):
		a.warn("resize", "lower the upper bounds below the limits, or add VerticalLimits to axes",
			"Its bounds reach its limits: with requests equal to limits the pods would become Guaranteed, and that resize is refused.")
	default:
		a.ok("resize", "Its pods are %s and can be resized along its axes.", class)
	}
	if limits {
		for _, r := range moved(s) {
			if _, has := t.container.Resources.Limits[r]; !has {
				a.note("resize", fmt.Sprintf("give it a %s limit in the template if that is to be moved", r),
					"Container %s has no %s limit, although VerticalLimits is among the axes.", t.container.Name, r)
			}
		}
	}
}

// wouldMeet reports whether all requests of a pod could become equal to its limits.
func (e *exam) wouldMeet(s *v1alpha1.Service, t *target) bool {
	for _, c := range t.spec().Containers {
		for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, has := c.Resources.Limits[r]
			if !has {
				return false
			}
			request := c.Resources.Requests[r]
			if c.Name == t.container.Name && slices.Contains(moved(s), r) {
				if bounds := boundsOf(s, r); bounds.Max.Cmp(limit) >= 0 {
					continue
				}
			}
			if request.Cmp(limit) != 0 {
				return false
			}
		}
	}
	return true
}

func boundsOf(s *v1alpha1.Service, r corev1.ResourceName) *v1alpha1.QuantityBounds {
	if r == corev1.ResourceCPU {
		return s.Bounds.CPU
	}
	return s.Bounds.Memory
}

// classOf a workload's pods: of a running one if there is one, else by the template.
func classOf(t *target) corev1.PodQOSClass {
	if len(t.pods) > 0 {
		return kube.QoSClass(&t.pods[0])
	}
	return kube.QoSClass(&corev1.Pod{Spec: t.template.Spec})
}

// restarts: a container may require a restart for a resize.
func (e *exam) restarts(a about, s *v1alpha1.Service, t *target) {
	for _, p := range t.container.ResizePolicy {
		if p.RestartPolicy == corev1.RestartContainer && slices.Contains(moved(s), p.ResourceName) {
			a.warn("resize", fmt.Sprintf("set resizePolicy of %s to NotRequired in the template if the program can do without, or "+
				"take bounds.%s out", p.ResourceName, p.ResourceName),
				"Container %s asks to be restarted whenever its %s is resized (resizePolicy RestartContainer).", t.container.Name,
				p.ResourceName)
		}
	}
}

// pending are resizes that nodes could not perform.
func (e *exam) pending(a about, t *target) {
	by := map[string][]string{}
	message := map[string]string{}
	for _, p := range t.pods {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodResizePending && c.Status == corev1.ConditionTrue {
				by[c.Reason] = append(by[c.Reason], p.Name)
				message[c.Reason] = c.Message
			}
		}
	}
	if pods := by[corev1.PodReasonInfeasible]; len(pods) > 0 {
		a.warn("resize", "lower the upper bounds to what a node has, or allow resize: InPlaceOrRecreate",
			"%s can never be resized where they are (%s): %s", count(len(pods), "pod",
				"pods"), some(pods), message[corev1.PodReasonInfeasible])
	}
	if pods := by[corev1.PodReasonDeferred]; len(pods) > 0 {
		a.note("resize", "wait for room on their nodes, or allow resize: InPlaceOrRecreate", "%s wait to be resized (%s): %s",
			count(len(pods), "pod", "pods"), some(pods), message[corev1.PodReasonDeferred])
	}
}
