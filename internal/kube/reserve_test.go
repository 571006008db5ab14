package kube

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/reserve"
)

var twoPods = reserve.Pods{Size: loadline.Room{Cores: 0.5, Memory: 256 << 20}, Count: 2}

// newReserve of the class standard, in a cluster with or without CapacityBuffers.
func newReserve(t *testing.T, buffers string, objects ...client.Object) Reserve {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, schedulingv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	served := meta.NewDefaultRESTMapper(nil)
	if buffers != "" {
		kind := schema.GroupVersionKind{Group: "autoscaling.x-k8s.io", Version: buffers, Kind: "CapacityBuffer"}
		s.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		served.Add(kind, meta.RESTScopeNamespace)
		kind.Kind += "List"
		s.AddKnownTypeWithName(kind, &unstructured.UnstructuredList{})
	}
	c := fake.NewClientBuilder().WithScheme(s).WithRESTMapper(served).WithObjects(objects...).Build()
	class := &v1alpha1.LoadLineClass{ObjectMeta: metav1.ObjectMeta{Name: "standard", UID: "u-1"}}
	class.Spec.Reserve = v1alpha1.Reserve{PriorityClassName: "low", Namespace: "room", Image: "pause:1"}
	return Reserve{Client: c, Live: c, Class: class}
}

func priority(value int32, policy corev1.PreemptionPolicy) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "low"}, Value: value, PreemptionPolicy: &policy}
}

func TestPlaceholders(t *testing.T) {
	r := newReserve(t, "", priority(-10, corev1.PreemptNever))
	if _, err := r.Hold(t.Context(), v1alpha1.ReservePlaceholder, twoPods); err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	key := client.ObjectKey{Namespace: "room", Name: "loadline-reserve-standard"}
	if err := r.Client.Get(t.Context(), key, &d); err != nil {
		t.Fatal(err)
	}
	pod := d.Spec.Template.Spec
	requests := pod.Containers[0].Resources.Requests
	if *d.Spec.Replicas != 2 || pod.PriorityClassName != "low" || *pod.TerminationGracePeriodSeconds != 0 ||
		requests.Cpu().String() != "500m" || requests.Memory().String() != "256Mi" || pod.Containers[0].Image != "pause:1" {
		t.Errorf("%+v", d.Spec)
	}
	if o := d.OwnerReferences; len(o) != 1 || o[0].Kind != "LoadLineClass" || o[0].UID != "u-1" {
		t.Errorf("owners %+v", o)
	}
	d.Status.ReadyReplicas = 1
	if err := r.Client.Status().Update(t.Context(), &d); err != nil {
		t.Fatal(err)
	}
	if held, err := r.Hold(t.Context(), v1alpha1.ReservePlaceholder, twoPods); err != nil || held != 1 {
		t.Errorf("%d held, %v", held, err)
	}
	if err := r.Release(t.Context(), v1alpha1.ReservePlaceholder, "room"); err != nil {
		t.Fatal(err)
	}
	if err := r.Client.Get(t.Context(), key, &d); !apierrors.IsNotFound(err) {
		t.Errorf("still there: %v", err)
	}
	if err := r.Release(t.Context(), v1alpha1.ReservePlaceholder, "room"); err != nil {
		t.Errorf("twice: %v", err)
	}
}

// A placeholder that could displace another pod is never created.
func TestThePriorityOfPlaceholdersIsNegative(t *testing.T) {
	for name, row := range map[string]struct {
		class *schedulingv1.PriorityClass
		want  string
	}{
		"none":        {nil, "there is no PriorityClass low"},
		"positive":    {priority(5, corev1.PreemptNever), "has the value 5, which must be negative"},
		"may preempt": {priority(-5, corev1.PreemptLowerPriority), "the preemptionPolicy of low must be Never"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReserve(t, "")
			if row.class != nil {
				r = newReserve(t, "", row.class)
			}
			_, err := r.Hold(t.Context(), v1alpha1.ReservePlaceholder, twoPods)
			if !errors.Is(err, ErrPriority) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v", err)
			}
			var all appsv1.DeploymentList
			if err := r.Client.List(context.Background(), &all); err != nil || len(all.Items) > 0 {
				t.Errorf("%+v, %v", all.Items, err)
			}
		})
	}
}

func TestCapacityBuffer(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		r := newReserve(t, version)
		if by, err := r.Resolve(v1alpha1.ReserveAuto); err != nil || by != v1alpha1.ReserveCapacityBuffer {
			t.Fatalf("%s, %v", by, err)
		}
		if held, err := r.Hold(t.Context(), v1alpha1.ReserveCapacityBuffer, twoPods); err != nil || held != 0 {
			t.Fatalf("%d held, %v", held, err)
		}
		key := client.ObjectKey{Namespace: "room", Name: r.Name()}
		var template corev1.PodTemplate
		if err := r.Client.Get(t.Context(), key, &template); err != nil || template.Template.Spec.PriorityClassName != "" {
			t.Errorf("%+v, %v", template, err)
		}
		b := &unstructured.Unstructured{}
		b.SetGroupVersionKind(schema.GroupVersionKind{Group: "autoscaling.x-k8s.io", Version: version, Kind: "CapacityBuffer"})
		if err := r.Client.Get(t.Context(), key, b); err != nil {
			t.Fatal(err)
		}
		replicas, _, _ := unstructured.NestedInt64(b.Object, "spec", "replicas")
		ref, _, _ := unstructured.NestedString(b.Object, "spec", "podTemplateRef", "name")
		if replicas != 2 || ref != r.Name() {
			t.Errorf("%v", b.Object)
		}
		b.Object["status"] = map[string]any{"replicas": int64(2), "conditions": []any{map[string]any{"type": "Provisioning", "status": "True"}}}
		if err := r.Client.Update(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if held, err := r.Hold(t.Context(), v1alpha1.ReserveCapacityBuffer, twoPods); err != nil || held != 2 {
			t.Errorf("%d held, %v", held, err)
		}
		if err := r.Release(t.Context(), v1alpha1.ReserveCapacityBuffer, "room"); err != nil {
			t.Fatal(err)
		}
		if err := r.Client.Get(t.Context(), key, b); !apierrors.IsNotFound(err) {
			t.Errorf("the buffer is still there: %v", err)
		}
		if err := r.Client.Get(t.Context(), key, &template); !apierrors.IsNotFound(err) {
			t.Errorf("the template is still there: %v", err)
		}
	}
}

func TestWithoutCapacityBuffers(t *testing.T) {
	r := newReserve(t, "")
	if by, err := r.Resolve(v1alpha1.ReserveAuto); err != nil || by != v1alpha1.ReservePlaceholder {
		t.Errorf("%s, %v", by, err)
	}
	if _, err := r.Hold(t.Context(), v1alpha1.ReserveCapacityBuffer, twoPods); !errors.Is(err, ErrNoBufferAPI) {
		t.Errorf("%v", err)
	}
	if err := r.Release(t.Context(), v1alpha1.ReserveCapacityBuffer, "room"); err != nil {
		t.Errorf("%v", err)
	}
}
