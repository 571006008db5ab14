package kube

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline"
)

// refusal is the API server's response to a patch. Repeating the same request
// would only fill its audit log.
type refusal struct {
	patch   string
	outcome Outcome
	at      time.Time
}

// Resizing says how to resize pods.
type Resizing struct {
	// Recreate evicts one pod that cannot be resized, see evict.go.
	Recreate bool
	// RaiseOnly leaves out what would make a pod smaller, axis by axis, and evicts
	// nothing.
	RaiseOnly bool
}

// Resize resizes the pods of a service, as the last Look found them: in place,
// only the selected container, only the axes that are set. Pods that already have
// the desired size in their spec are not patched again; their outcome is
// reported. Where a resize restarts the container, one pod at a time is resized,
// and only while all others are ready.
//
// The error concerns all pods; outcomes up to it are returned as well.
func (w *Workloads) Resize(ctx context.Context, service int, to loadline.Setting, how Resizing) ([]Outcome, error) {
	t := w.targets[service]
	q, err := quantitiesOf(to)
	switch {
	case t.service == nil:
		return nil, fmt.Errorf("%s: %w", t, ErrNotOurs)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	s := w.sightOf(service)
	mayRestart := allReady(s.pods)
	var outcomes []Outcome
	for _, pod := range s.pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		p := planFor(pod, s.container, q, how.RaiseOnly)
		if p.restarts && !mayRestart {
			outcomes = append(outcomes, Outcome{Pod: pod.Name, UID: pod.UID, Result: Waiting,
				Why: "its container is restarted by a resize, and not all pods are ready"})
			continue
		}
		o, err := w.resizePod(ctx, pod, s.container, p)
		if err != nil {
			return outcomes, fmt.Errorf("%s: resize pod %s: %w", t, pod.Name, err)
		}
		mayRestart = mayRestart && !(p.restarts && o.Result == InProgress)
		outcomes = append(outcomes, o)
	}
	if how.Recreate && !how.RaiseOnly {
		err = w.evictOne(ctx, service, s.pods, outcomes)
	}
	return outcomes, err
}

func (w *Workloads) sightOf(service int) sight {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		return sight{}
	}
	return w.seen[service]
}

// allReady reports whether every pod is ready and has the desired size.
func allReady(pods []*corev1.Pod) bool {
	for _, pod := range pods {
		c := condition(pod, corev1.PodReady)
		if pod.DeletionTimestamp != nil || c == nil || c.Status != corev1.ConditionTrue || condition(pod,
			corev1.PodResizeInProgress) != nil {
			return false
		}
	}
	return true
}

func (w *Workloads) resizePod(ctx context.Context, pod *corev1.Pod, container string, p plan) (Outcome, error) {
	o := Outcome{Pod: pod.Name, UID: pod.UID}
	switch {
	case p.refusal != "":
		o.Result, o.Why, o.recreate = Refused, p.refusal, p.recreate
		return o, nil
	case p.patch == nil:
		o.pending(pod)
		if o.Result == "" {
			o.Result = Done
			if sizeInForce(pod, container) != specSize(pod, container) {
				o.Result = InProgress
			}
		}
		return o, nil
	}
	if r, asked := w.answered(pod.UID, string(p.patch)); asked {
		return r, nil
	}
	err := w.patchSize(ctx, pod, container, p.patch)
	if err := o.answer(err, pod.Spec.NodeName); err != nil {
		return o, err
	}
	if o.Result == Refused || o.Result == Infeasible {
		w.mu.Lock()
		w.refused[pod.UID] = refusal{string(p.patch), o, w.now()}
		w.mu.Unlock()
	}
	return o, nil
}

func (w *Workloads) answered(uid types.UID, patch string) (Outcome, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.refused[uid]
	return r.outcome, ok && r.patch == patch && w.now().Sub(r.at) <= askAgain
}
