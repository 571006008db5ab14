package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

// Restoring says how to restore a workload after a brownout.
type Restoring struct {
	Target v1alpha1.TargetRef
	To     int // replicas
	// ByKEDA also restores a workload that KEDA has scaled to zero, as Loadline told it
	// to.
	ByKEDA bool
	// EvenPaused ignores the annotation that pauses the workload.
	EvenPaused bool
}

// Restore scales up a workload that a brownout has scaled to zero, and reports
// whether it did. It leaves a workload alone that does not exist any more, that has
// replicas, or that others have scaled to zero since. A paused workload gives
// ErrPaused. The write is conditional on the version of the workload that these
// checks have seen.
func (w *Workloads) Restore(ctx context.Context, r Restoring) (raised bool, err error) {
	t := target{gvk: KindOf(r.Target.APIVersion, r.Target.Kind), name: r.Target.Name}
	var conflict error
	for range tries {
		is, err := w.zero(ctx, t, r)
		if err != nil || is == nil {
			return false, err
		}
		version, err := w.apply(ctx, t, *is, r.To)
		if err == nil {
			if service, known := w.byWorkload[t.key()]; known {
				w.wrote(service, version)
			}
			return true, nil
		}
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if !apierrors.IsConflict(err) {
			return false, explain(err, t)
		}
		conflict = err
	}
	return false, fmt.Errorf("%s: it was changed %d times in the meantime: %w", t, tries, conflict)
}

// zero reads a workload that is to be restored; nil if it is not.
func (w *Workloads) zero(ctx context.Context, t target, r Restoring) (*basis, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(t.gvk)
	err := explain(w.live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: t.name}, object), t)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case object.DeletionTimestamp != nil:
		return nil, nil
	}
	is, err := w.scaleOf(ctx, t)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case is.replicas != 0:
		return nil, nil
	}
	by := changed(object.ManagedFields)
	if !by.Ours && by.Manager != "" && !(r.ByKEDA && isKEDA(by.Manager)) {
		return nil, nil
	}
	if !r.EvenPaused && v1alpha1.WorkloadPaused(object.Annotations) {
		return nil, fmt.Errorf("%s: %w by its annotation %s", t, ErrPaused, v1alpha1.PausedAnnotation)
	}
	// The earlier of the two versions: the write fails if anything changed since.
	return &basis{uid: object.UID, version: object.ResourceVersion}, nil
}

// isKEDA reports whether a field manager scales for KEDA: its operator to and from
// zero, the HPA controller otherwise.
func isKEDA(manager string) bool {
	return strings.Contains(manager, "keda") || manager == "kube-controller-manager"
}
