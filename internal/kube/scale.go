package kube

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scale is what the subresource says.
type scale struct {
	replicas, status int
	selector         string
	uid              types.UID
	version          string // of the whole workload
}

// tries of a write that others' writes come between: the status of a busy workload
// changes several times in a second.
const tries = 8

// Scale sets the replicas of a service, if they still are as the decision found them;
// ErrChanged says that they are not. It applies the one field through the scale
// subresource as the field manager "loadline" and takes it from whoever owned it, so
// that tools of GitOps can see whose it is and leave it alone. Replicas that are as
// wanted already are left alone.
//
// That they are as found is a condition of the write itself. Where the field is ours
// already, its ownership is: whoever changes it takes it from us, and the API server
// then refuses what is applied without force. Where it is not, it is taken by force,
// under the condition that the workload is still of the version that was read.
func (w *Workloads) Scale(ctx context.Context, service, from, to int) error {
	t := w.targets[service]
	if t.service == nil {
		return fmt.Errorf("%s: %w", t, ErrNotOurs)
	}
	var conflict error
	for try := range tries {
		is, err := w.scaleOf(ctx, t)
		switch {
		case err != nil:
			return err
		case is.replicas == to:
			return nil
		case is.replicas != from:
			return fmt.Errorf("%s: %w: it has %d replicas, not %d as when it was decided to have %d", t, ErrChanged, is.replicas, from, to)
		}
		version, err := w.apply(ctx, t, is, to, try > 0)
		if err == nil {
			w.wrote(service, version)
			return nil
		}
		if !apierrors.IsConflict(err) {
			return explain(err, t)
		}
		conflict = err
	}
	return fmt.Errorf("%s: others changed it %d times meanwhile: %w", t, tries, conflict)
}

// scaleOf reads the scale subresource, which no cache has.
func (w *Workloads) scaleOf(ctx context.Context, t target) (scale, error) {
	body := scaleBody()
	if err := w.client.SubResource("scale").Get(ctx, w.object(t), body); err != nil {
		return scale{}, explain(err, t)
	}
	number := func(where ...string) int {
		n, _, _ := unstructured.NestedInt64(body.Object, where...)
		return int(n)
	}
	selector, _, _ := unstructured.NestedString(body.Object, "status", "selector")
	return scale{
		replicas: number("spec", "replicas"), status: number("status", "replicas"), selector: selector,
		uid: body.GetUID(), version: body.GetResourceVersion(),
	}, nil
}

func scaleBody() *unstructured.Unstructured {
	body := &unstructured.Unstructured{}
	body.SetAPIVersion("autoscaling/v1")
	body.SetKind("Scale")
	return body
}

// apply sets the replicas and returns the workload's new version.
func (w *Workloads) apply(ctx context.Context, t target, is scale, to int, force bool) (string, error) {
	body := scaleBody()
	kind, options := types.ApplyPatchType, []client.SubResourcePatchOption{client.WithSubResourceBody(body), client.FieldOwner(Manager)}
	patch := map[string]any{
		"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": to},
		"metadata": map[string]any{"name": t.name, "namespace": w.namespace, "uid": is.uid},
	}
	switch {
	case t.gvk.Group != "apps":
		// The API server cannot apply to the scale of a custom resource. A merge by the
		// same field manager comes to the same, under the condition of the version.
		kind = types.MergePatchType
		patch["metadata"] = map[string]any{"resourceVersion": is.version}
	case force:
		patch["metadata"].(map[string]any)["resourceVersion"] = is.version
		options = append(options, client.ForceOwnership)
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return "", err
	}
	err = w.client.SubResource("scale").Patch(ctx, w.object(t), client.RawPatch(kind, data), options...)
	return body.GetResourceVersion(), err
}

func (w *Workloads) wrote(service int, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.memory[service].written = version
}
