package kube

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var replicaSets = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSetList"}

// ownsByReplicaSet reports whether pods of a workload belong to its ReplicaSets.
func ownsByReplicaSet(t target) bool {
	return t.gvk.Group == "apps" && t.gvk.Kind == "Deployment" || isRollout(t)
}

// owners maps ReplicaSets to their controllers. Only their metadata is read: it
// is enough, and a tenth of their size.
func (w *Workloads) owners(ctx context.Context) (map[types.UID]types.UID, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(replicaSets)
	if err := w.client.List(ctx, list, client.InNamespace(w.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ReplicaSets of %s: %w", w.namespace, err)
	}
	of := make(map[types.UID]types.UID, len(list.Items))
	for i := range list.Items {
		if owner := metav1.GetControllerOfNoCopy(&list.Items[i]); owner != nil {
			of[list.Items[i].UID] = owner.UID
		}
	}
	return of, nil
}
