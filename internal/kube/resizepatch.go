package kube

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patchSize sends a resize patch for a pod as the last Look found it: every
// attempt carries a resource version, so that a process whose view is outdated
// cannot overwrite the size that another has set. Where the API server reports a
// conflict, the pod is read again, and the patch is repeated only if the container
// still has the resources that the decision was based on. Otherwise the conflict
// is returned.
func (w *Workloads) patchSize(ctx context.Context, pod *corev1.Pod, container string, patch []byte) error {
	version := pod.ResourceVersion
	for try := 1; ; try++ {
		data, err := withVersion(patch, version)
		if err != nil {
			return err
		}
		into := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
		err = w.client.SubResource("resize").Patch(ctx, into, client.RawPatch(types.StrategicMergePatchType, data), client.FieldOwner(Manager))
		if !apierrors.IsConflict(err) || try == tries {
			return err
		}
		var now corev1.Pod
		if err := w.live.Get(ctx, client.ObjectKeyFromObject(pod), &now); err != nil {
			return err
		}
		if now.UID != pod.UID || !sameResources(&now, pod, container) {
			return err
		}
		version = now.ResourceVersion
	}
}

// withVersion adds the resource version to a patch.
func withVersion(patch []byte, version string) ([]byte, error) {
	var p map[string]any
	if err := json.Unmarshal(patch, &p); err != nil {
		return nil, err
	}
	meta, _ := p["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		p["metadata"] = meta
	}
	meta["resourceVersion"] = version
	return json.Marshal(p)
}

func sameResources(a, b *corev1.Pod, container string) bool {
	is, was := findContainer(a.Spec.Containers, container), findContainer(b.Spec.Containers, container)
	return is != nil && was != nil && equality.Semantic.DeepEqual(is.Resources, was.Resources)
}
