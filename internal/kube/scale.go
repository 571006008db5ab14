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
}

// basis is the state of a workload that a decision about its replicas rests on.
type basis struct {
	uid        types.UID
	version    string // resourceVersion of the whole workload
	generation int64
	replicas   int
	owner      string // field manager of the replicas
}

func basisOf(l *workload) basis {
	return basis{uid: l.uid, version: l.version, generation: l.generation, replicas: l.replicas, owner: changed(l.managed).Manager}
}

// differs returns what changed since the decision, or "". The version alone does
// not count: it changes with the status. The generation shows replicas that were
// changed and changed back; that of a Deployment changes with its annotations too.
func (b basis) differs(from basis) string {
	switch {
	case b.uid != from.uid:
		return "it was deleted and created again"
	case b.replicas != from.replicas:
		return fmt.Sprintf("it has %d replicas, not %d as at the decision", b.replicas, from.replicas)
	case b.owner != from.owner:
		return fmt.Sprintf("its replicas belong to the field manager %q, not to %q as at the decision", b.owner, from.owner)
	case b.generation != from.generation:
		return fmt.Sprintf("its spec is of generation %d, not %d as at the decision", b.generation, from.generation)
	}
	return ""
}

// tries is the number of attempts of a write that conflicts with others: the
// status of a busy workload changes several times per second.
const tries = 8

// Scale sets the replicas of a service, if the workload is as the last Look found
// it, with from replicas; otherwise it returns ErrChanged. It applies the one field
// through the scale subresource as the field manager "loadline" and takes
// ownership of it, so that GitOps tools can see the owner and ignore the field. It
// does nothing if the replicas already have the desired value.
//
// Every write carries the resource version that Look found, so that a process
// whose view is outdated cannot overwrite a later decision, its successor's
// included. Where the API server reports a conflict, the workload is read again:
// if replicas, their field manager, the generation and the UID are those of Look,
// the write is repeated with the new version.
func (w *Workloads) Scale(ctx context.Context, service, from, to int) error {
	t := w.targets[service]
	decided := w.sightOf(service).basis
	switch {
	case t.service == nil:
		return fmt.Errorf("%s: %w", t, ErrNotOurs)
	case decided.uid == "" && decided.version == "":
		return fmt.Errorf("%s: %w: Look did not find it", t, ErrChanged)
	case decided.replicas == to:
		return nil
	case decided.replicas != from:
		return fmt.Errorf("%s: %w: it had %d replicas, not %d, when it was last read", t, ErrChanged, decided.replicas, from)
	}
	is := decided
	var conflict error
	for range tries {
		version, err := w.apply(ctx, t, is, to)
		if err == nil {
			w.wrote(service, version)
			w.rebase(service, is, version, to)
			return nil
		}
		if !apierrors.IsConflict(err) {
			return explain(err, t)
		}
		conflict = err
		now, err := w.readLive(ctx, service)
		if err != nil {
			return err
		}
		if is = basisOf(&now); is.replicas == to && is.uid == decided.uid {
			return nil
		}
		if what := is.differs(decided); what != "" {
			return fmt.Errorf("%s: %w: %s to have %d", t, ErrChanged, what, to)
		}
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
	}, nil
}

func scaleBody() *unstructured.Unstructured {
	body := &unstructured.Unstructured{}
	body.SetAPIVersion("autoscaling/v1")
	body.SetKind("Scale")
	return body
}

// apply sets the replicas of the workload in the given version, and returns its
// new version. It takes the field from other managers: that they own it was known
// to the decision.
func (w *Workloads) apply(ctx context.Context, t target, is basis, to int) (string, error) {
	body := scaleBody()
	kind, options := types.ApplyPatchType, []client.SubResourcePatchOption{client.WithSubResourceBody(body),
		client.FieldOwner(Manager), client.ForceOwnership}
	patch := map[string]any{
		"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": to},
		"metadata": map[string]any{"name": t.name, "namespace": w.namespace, "uid": is.uid, "resourceVersion": is.version},
	}
	if t.gvk.Group != "apps" {
		// The API server does not support apply on the scale of a custom resource. A
		// merge patch by the same field manager has the same effect.
		kind, options = types.MergePatchType, options[:2]
		patch["metadata"] = map[string]any{"resourceVersion": is.version}
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

// rebase makes a write of this process the basis of another one before the next Look.
func (w *Workloads) rebase(service int, was basis, version string, replicas int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was.version, was.replicas, was.owner = version, replicas, Manager
	was.generation++ // by this one change of the spec
	w.seen[service].basis = was
}
