package kube

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/reserve"
)

// Errors of a reserve. They are wrapped, with what to do.
var (
	ErrNoBufferAPI = errors.New("the cluster has no CapacityBuffers")
	ErrPriority    = errors.New("the priority class does not suit placeholders")
)

// ClassLabel has the name of the class that a reserve's objects belong to.
const ClassLabel = "loadline.dev/class"

// Reserve holds the reserve of a class by its objects: a Deployment of placeholder
// pods, or a CapacityBuffer with a PodTemplate. The class owns them, so that they are
// deleted with it, whether or not a controller runs.
type Reserve struct {
	Client client.Client
	Live   client.Reader // reads from the API server
	Class  *v1alpha1.LoadLineClass
}

// Name of its objects.
func (r Reserve) Name() string { return "loadline-reserve-" + r.Class.Name }

// Hold applies the objects of a reserve as the field manager "loadline", and returns
// how many of its pods have their room now.
func (r Reserve) Hold(ctx context.Context, by v1alpha1.ReservePolicy, pods reserve.Pods) (held int, err error) {
	if by == v1alpha1.ReserveCapacityBuffer {
		return r.holdBuffer(ctx, pods)
	}
	if err := r.checkPriority(ctx); err != nil {
		return 0, err
	}
	d, err := r.apply(ctx, r.deployment(pods))
	if err != nil {
		return 0, err
	}
	ready, _, _ := unstructured.NestedInt64(d.Object, "status", "readyReplicas")
	return min(int(ready), pods.Count), nil
}

func (r Reserve) holdBuffer(ctx context.Context, pods reserve.Pods) (held int, err error) {
	version, err := r.bufferVersion()
	if err != nil {
		return 0, err
	}
	template := r.object("v1", "PodTemplate")
	template.Object["template"] = r.podTemplate(pods.Size)
	if _, err := r.apply(ctx, template); err != nil {
		return 0, err
	}
	buffer := r.object(version, "CapacityBuffer")
	buffer.Object["spec"] = map[string]any{
		"provisioningStrategy": "buffer.x-k8s.io/active-capacity",
		"podTemplateRef":       map[string]any{"name": r.Name()},
		"replicas":             int64(pods.Count),
	}
	if buffer, err = r.apply(ctx, buffer); err != nil {
		return 0, err
	}
	conditions, _, _ := unstructured.NestedSlice(buffer.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Provisioning" && m["status"] == "True" {
			n, _, _ := unstructured.NestedInt64(buffer.Object, "status", "replicas")
			return min(int(n), pods.Count), nil
		}
	}
	return 0, nil
}

// Release deletes the objects of a reserve that was held in a namespace.
func (r Reserve) Release(ctx context.Context, by v1alpha1.ReservePolicy, namespace string) error {
	objects := []*unstructured.Unstructured{r.object("apps/v1", "Deployment")}
	if by == v1alpha1.ReserveCapacityBuffer {
		objects = []*unstructured.Unstructured{r.object("v1", "PodTemplate")}
		switch version, err := r.bufferVersion(); {
		case err == nil:
			objects = append(objects, r.object(version, "CapacityBuffer"))
		case !errors.Is(err, ErrNoBufferAPI): // without their API there is no CapacityBuffer
			return err
		}
	}
	var faults []error
	for _, o := range objects {
		o.SetNamespace(namespace)
		if err := r.Client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			faults = append(faults, fmt.Errorf("delete %s %s/%s: %w", o.GetKind(), namespace, o.GetName(), err))
		}
	}
	return errors.Join(faults...)
}

// apply an object; the result has its status.
func (r Reserve) apply(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	err := r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(Manager), client.ForceOwnership)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return nil, fmt.Errorf("apply %s %s/%s: apply deploy/optional/reserve.yaml, which has the namespace and the permissions: %w",
			o.GetKind(), o.GetNamespace(), o.GetName(), err)
	case err != nil:
		return nil, fmt.Errorf("apply %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	return o, nil
}

// bufferVersion is the newest version of CapacityBuffers that we know and the cluster
// serves.
func (r Reserve) bufferVersion() (string, error) {
	kind := schema.GroupKind{Group: "autoscaling.x-k8s.io", Kind: "CapacityBuffer"}
	found, err := r.Client.RESTMapper().RESTMapping(kind, "v1", "v1beta1", "v1alpha1")
	switch {
	case meta.IsNoMatchError(err):
		return "", fmt.Errorf("%w (%s in v1, v1beta1 or v1alpha1): install them with your node autoscaler, or set "+
			"spec.reserve.policy to Placeholder or Auto", ErrNoBufferAPI, kind)
	case err != nil:
		return "", fmt.Errorf("look for CapacityBuffers: %w", err)
	}
	return found.GroupVersionKind.GroupVersion().String(), nil
}

// Resolve returns by what a policy holds a reserve in this cluster.
func (r Reserve) Resolve(policy v1alpha1.ReservePolicy) (v1alpha1.ReservePolicy, error) {
	if policy != v1alpha1.ReserveAuto {
		return policy, nil
	}
	switch _, err := r.bufferVersion(); {
	case errors.Is(err, ErrNoBufferAPI):
		return v1alpha1.ReservePlaceholder, nil
	case err != nil:
		return "", err
	}
	return v1alpha1.ReserveCapacityBuffer, nil
}

// checkPriority verifies that placeholders give way to all other pods and displace
// none.
func (r Reserve) checkPriority(ctx context.Context) error {
	name := r.Class.Spec.Reserve.PriorityClassName
	var p schedulingv1.PriorityClass
	err := r.Live.Get(ctx, client.ObjectKey{Name: name}, &p)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("spec.reserve.priorityClassName: %w: there is no PriorityClass %s: deploy/optional/reserve.yaml has one",
			ErrPriority, name)
	case err != nil:
		return fmt.Errorf("read PriorityClass %s: %w", name, err)
	case p.Value >= 0:
		return fmt.Errorf("spec.reserve.priorityClassName: %w: %s has the value %d, which must be negative", ErrPriority, name, p.Value)
	case p.PreemptionPolicy == nil || *p.PreemptionPolicy != corev1.PreemptNever:
		return fmt.Errorf("spec.reserve.priorityClassName: %w: the preemptionPolicy of %s must be Never", ErrPriority, name)
	}
	return nil
}

func (r Reserve) labels() map[string]any {
	return map[string]any{"app.kubernetes.io/name": "loadline-reserve", ClassLabel: r.Class.Name}
}

func (r Reserve) object(apiVersion, kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{
			"name": r.Name(), "namespace": r.Class.Spec.Reserve.Namespace, "labels": r.labels(),
			"ownerReferences": []any{map[string]any{
				"apiVersion": v1alpha1.GroupVersion.String(), "kind": "LoadLineClass", "name": r.Class.Name, "uid": string(r.Class.UID),
			}},
		},
	}}
}

func (r Reserve) deployment(pods reserve.Pods) *unstructured.Unstructured {
	template := r.podTemplate(pods.Size)
	template["spec"].(map[string]any)["priorityClassName"] = r.Class.Spec.Reserve.PriorityClassName
	d := r.object("apps/v1", "Deployment")
	d.Object["spec"] = map[string]any{
		"replicas": int64(pods.Count), "revisionHistoryLimit": int64(1),
		"selector": map[string]any{"matchLabels": r.labels()},
		"strategy": reserve.Strategy(), "template": template,
	}
	return d
}

func (r Reserve) podTemplate(size loadline.Room) map[string]any {
	return reserve.Template(r.labels(), r.Class.Spec.Reserve.Image,
		quantity.NewMilliQuantity(int64(size.Cores*1000+0.5), quantity.DecimalSI).String(),
		quantity.NewQuantity(size.Memory, quantity.BinarySI).String())
}
