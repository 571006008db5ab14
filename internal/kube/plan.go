package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/loadline/loadline"
)

const bestEffort = "a best-effort pod cannot be resized: give its template requests, or let pods be recreated"

// errSetting is an impossible size.
var errSetting = errors.New("size")

// quantities are the axes of a setting as Kubernetes counts: whole milli-cores,
// rounded up, and bytes.
type quantities struct {
	requests, limits corev1.ResourceList
}

func quantitiesOf(to loadline.Setting) (quantities, error) {
	q := quantities{corev1.ResourceList{}, corev1.ResourceList{}}
	var faults []error
	cpu := func(into corev1.ResourceList, o loadline.Opt[float64], name string) {
		switch {
		case !o.Set:
		case !(o.Value >= 0 && o.Value < 1e6):
			faults = append(faults, fmt.Errorf("%w: CPU %s of %v cores", errSetting, name, o.Value))
		default:
			into[corev1.ResourceCPU] = *resource.NewMilliQuantity(milliCores(o.Value), resource.DecimalSI)
		}
	}
	memory := func(into corev1.ResourceList, o loadline.Opt[int64], name string) {
		switch {
		case !o.Set:
		case o.Value < 0:
			faults = append(faults, fmt.Errorf("%w: memory %s of %d bytes", errSetting, name, o.Value))
		default:
			into[corev1.ResourceMemory] = *resource.NewQuantity(o.Value, resource.BinarySI)
		}
	}
	cpu(q.requests, to.CPURequest, "request")
	cpu(q.limits, to.CPULimit, "limit")
	memory(q.requests, to.MemoryRequest, "request")
	memory(q.limits, to.MemoryLimit, "limit")
	return q, errors.Join(faults...)
}

// milliCores rounds up, ignoring floating-point errors.
func milliCores(cores float64) int64 { return int64(math.Ceil(cores*1000 - 1e-6)) }

// plan is what to do with one pod.
type plan struct {
	patch    []byte // nil = already requested
	restarts bool   // the container is restarted by it, as its resizePolicy says
	refusal  string // why it is not requested
	recreate bool   // of a rejection: a new pod could have the size
}

// planFor returns the plan for one pod. What the API server would reject anyway
// is not requested: the reason is given here in plainer words.
func planFor(pod *corev1.Pod, container string, q quantities, raiseOnly bool) plan {
	c := findContainer(pod.Spec.Containers, container)
	if c == nil {
		return plan{refusal: fmt.Sprintf("it has no container %q", container)}
	}
	if raiseOnly {
		q = q.above(c.Resources)
	}
	next := *c.Resources.DeepCopy()
	changes := quantities{corev1.ResourceList{}, corev1.ResourceList{}}
	for _, name := range sized {
		if want, set := q.limits[name]; set && want.IsZero() {
			if _, has := next.Limits[name]; has {
				return plan{refusal: fmt.Sprintf("a %s limit cannot be removed from a running pod", name)}
			}
		} else if set {
			change(&next.Limits, changes.limits, name, want)
		}
		if want, set := q.requests[name]; set {
			change(&next.Requests, changes.requests, name, want)
		}
		request, limit := next.Requests[name], next.Limits[name]
		if _, has := next.Requests[name]; !has && !limit.IsZero() {
			// The API server uses the limit as the request if there is none.
			change(&next.Requests, corev1.ResourceList{}, name, limit)
		}
		if !limit.IsZero() && request.Cmp(limit) > 0 {
			return plan{refusal: fmt.Sprintf("its %s request of %s would be above its limit of %s", name, request.String(),
				limit.String())}
		}
	}
	if len(changes.requests)+len(changes.limits) == 0 {
		return plan{}
	}
	is, would := QoSClass(pod), qosWith(pod, container, next)
	switch {
	case is == corev1.PodQOSBestEffort:
		return plan{refusal: bestEffort, recreate: true}
	case is != would:
		return plan{recreate: true, refusal: fmt.Sprintf(
			"the QoS class of a running pod cannot change from %s to %s: move requests and limits alike, or let pods be recreated", is,
			would)}
	}
	return plan{patch: changes.patch(pod, container), restarts: changes.restart(c)}
}

// above returns the quantities that are larger than a container's. A container
// without a limit has the largest.
func (q quantities) above(is corev1.ResourceRequirements) quantities {
	more := quantities{corev1.ResourceList{}, corev1.ResourceList{}}
	for name, want := range q.limits {
		if limit, has := is.Limits[name]; has && (want.IsZero() || want.Cmp(limit) > 0) {
			more.limits[name] = want
		}
	}
	for name, want := range q.requests {
		request, has := is.Requests[name]
		if !has { // the API server uses the limit as the request
			request = is.Limits[name]
		}
		if want.Cmp(request) > 0 {
			more.requests[name] = want
		}
	}
	return more
}

func change(list *corev1.ResourceList, changes corev1.ResourceList, name corev1.ResourceName, want resource.Quantity) {
	if is, has := (*list)[name]; has && is.Cmp(want) == 0 {
		return
	}
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = want
	changes[name] = want
}

// patch returns the patch of the resize subresource, which accepts strategic
// merges only. The pod's UID keeps it from applying to a new pod of the same
// name.
func (q quantities) patch(pod *corev1.Pod, container string) []byte {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"spec": map[string]any{"containers": []any{map[string]any{
			"name":      container,
			"resources": corev1.ResourceRequirements{Requests: q.requests, Limits: q.limits},
		}}},
	})
	if err != nil {
		panic("kube: " + err.Error()) // names and quantities can always be encoded
	}
	return patch
}

func (q quantities) restart(c *corev1.Container) bool {
	for _, p := range c.ResizePolicy {
		_, request := q.requests[p.ResourceName]
		_, limit := q.limits[p.ResourceName]
		if p.RestartPolicy == corev1.RestartContainer && (request || limit) {
			return true
		}
	}
	return false
}
