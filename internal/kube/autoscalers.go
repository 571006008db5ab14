package kube

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReadAutoscalers reads what scales the workloads of a namespace, and the workloads themselves. Kinds
// that are not installed have no objects. The error has every kind that cannot be read.
func ReadAutoscalers(ctx context.Context, from client.Reader, namespace string) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	var faults []error
	for _, kind := range []schema.GroupVersionKind{
		autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), VerticalPodAutoscalers, ScaledObjects,
		appsv1.SchemeGroupVersion.WithKind("Deployment"), appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
	} {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := from.List(ctx, &list, client.InNamespace(namespace))
		if err != nil && !meta.IsNoMatchError(err) {
			faults = append(faults, fmt.Errorf("list %ss of namespace %s: %w", kind.Kind, namespace, err))
		}
		all = append(all, list.Items...)
	}
	return all, errors.Join(faults...)
}
