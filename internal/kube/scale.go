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

// scale is the scale subresource.
type scale struct {
	replicas, status int
	selector         string
	uid              types.UID
	version          string // of the whole workload
}

// tries is the number of attempts of a write that conflicts with others: the
// status of a busy workload changes several times per second.
const tries = 8

// Scale sets the replicas of a service, if they are unchanged since the decision;
// otherwise it returns ErrChanged. It applies the one field through the scale
// subresource as the field manager "loadline" and takes ownership of it, so that
// GitOps tools can see the owner and ignore the field. It does nothing if the
// replicas already have the desired value.
//
// The write itself is conditional. If Loadline already owns the field, ownership
// is the condition: another manager that changes it takes it over, and the API
// server then rejects an apply without force. Otherwise the field is taken by
// force, with the resource version that was read as the condition.
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
			return fmt.Errorf("%s: %w: it has %d replicas, not %d as at the decision to have %d", t, ErrChanged, is.replicas, from, to)
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
	return fmt.Errorf("%s: it was changed %d times in the meantime: %w", t, tries, conflict)
}

// scaleOf reads the scale subresource, which is not cached.
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
		// The API server does not support apply on the scale of a custom resource. A
		// merge patch by the same field manager with the resource version has the same
		// effect.
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
