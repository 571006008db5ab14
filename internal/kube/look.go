package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

// State is the state of one service found by Look.
type State struct {
	// Err is why the service cannot be scaled, or not safely: it wraps ErrNotFound,
	// ErrNoScale, ErrForbidden or ErrContainer, or is an error of the API. Known
	// fields are set nevertheless.
	Err error

	Replicas int // desired
	Status   int // existing, from the workload's status
	// Container is the container whose size is reported.
	Container string
	Template  loadline.Size // of the workload's template
	// Size is the desired size of most pods; without pods, that of the template.
	Size loadline.Size
	Pods []Pod

	RollingOut string // why, or ""
	// Release is a hash of what the template runs: images, commands and environment, without sizes
	// and annotations. "" = the kind has no template.
	Release   string
	Paused    bool // by an annotation on the workload
	Changed   Change
	Conflicts []Conflict
	// ScaledObject is the one that queries Loadline for the replicas of a service
	// with movedBy KEDA. "" = none.
	ScaledObject string
	// ScaledObjectAlone means that it has neither a fallback nor another trigger: when
	// Loadline does not answer, nothing scales the service.
	ScaledObjectAlone bool
	// Resize has the pods whose size cannot be changed, or not now. It is empty for
	// services whose size Loadline does not scale.
	Resize []Outcome
}

// sight is what Look stores of a service for Scale and Resize.
type sight struct {
	basis     basis
	container string
	pods      []*corev1.Pod // owned by the cache, never modified
	spread    []corev1.TopologySpreadConstraint
}

// Look returns the state of every service, in their order. The error is for the
// case that the pods cannot be listed.
func (w *Workloads) Look(ctx context.Context) ([]State, error) {
	states := make([]State, len(w.targets))
	loads := make([]workload, len(w.targets))
	for i := range w.targets {
		loads[i], states[i].Err = w.read(ctx, i)
	}
	pods, err := w.pods(ctx, loads)
	if err != nil {
		return nil, err
	}
	conflicts, err := w.conflicts(ctx)
	if err != nil {
		err = fmt.Errorf("cannot check for other autoscalers: %w", err)
	}
	seen := make([]sight, len(w.targets))
	for i := range states {
		s := &states[i]
		if errors.Is(s.Err, ErrNotFound) {
			continue
		}
		if s.Err == nil {
			seen[i].basis = basisOf(&loads[i])
		}
		seen[i].pods = pods[i]
		if t := loads[i].template; t != nil {
			seen[i].spread = t.Spec.TopologySpreadConstraints
		}
		seen[i].container = w.describe(s, i, &loads[i], pods[i])
		if w.targets[i].service != nil {
			s.Conflicts = conflicts.of[i]
			s.ScaledObject, s.ScaledObjectAlone = conflicts.asks[i], conflicts.alone[i]
			s.Err = errors.Join(s.Err, err)
		}
	}
	w.remember(seen)
	return states, nil
}

// describe fills in the state of the workload and its pods, and returns the
// container.
func (w *Workloads) describe(s *State, service int, l *workload, pods []*corev1.Pod) string {
	t := w.targets[service]
	s.Replicas, s.Status, s.RollingOut = l.replicas, l.status, l.rollingOut
	s.Paused = v1alpha1.WorkloadPaused(l.annotations)
	s.Changed = changed(l.managed)
	switch {
	case l.template != nil:
		s.Container = ContainerOf(t.service, l.template.Annotations, l.template.Spec.Containers)
	case len(pods) > 0:
		s.Container = ContainerOf(t.service, pods[0].Annotations, pods[0].Spec.Containers)
	}
	if s.Container == "" && t.resizes() && (l.template != nil || len(pods) > 0) {
		s.Err = errors.Join(s.Err, fmt.Errorf("%s: %w: container %q", t, ErrContainer, t.service.Container))
	}
	if l.template != nil {
		s.Release = releaseOf(l.template)
		if c := findContainer(l.template.Spec.Containers, s.Container); c != nil {
			s.Template = sizeOf(c.Resources)
		}
	}
	s.Pods = make([]Pod, len(pods))
	for i, pod := range pods {
		s.Pods[i] = w.observe(pod, s.Container)
		if t.resizes() {
			if fault, any := resizeFault(pod, t); any {
				s.Resize = append(s.Resize, fault)
			}
		}
	}
	s.Size = usualSize(s.Pods, s.Template)
	return s.Container
}

// remember stores what Scale and Resize need, and forgets rejections of deleted
// pods.
func (w *Workloads) remember(seen []sight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = seen
	if len(w.refused) == 0 {
		return
	}
	living := map[types.UID]bool{}
	for i := range seen {
		for _, pod := range seen[i].pods {
			living[pod.UID] = true
		}
	}
	now := w.now()
	for uid, r := range w.refused {
		if !living[uid] || now.Sub(r.at) > askAgain {
			delete(w.refused, uid)
		}
	}
}

// askAgain is how long a rejection is cached.
const askAgain = 5 * time.Minute
