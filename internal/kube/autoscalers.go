package kube

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kinds that have Prometheus scrape pods, by the Prometheus Operator.
var (
	ServiceMonitors = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}
	PodMonitors     = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor"}
)

// ReadAutoscalers reads what scales the workloads of a namespace, and the workloads themselves. Kinds
// that are not installed have no objects. The error has every kind that cannot be read.
func ReadAutoscalers(ctx context.Context, from client.Reader, namespace string) ([]unstructured.Unstructured, error) {
	return ReadObjects(ctx, from, namespace,
		autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), VerticalPodAutoscalers, ScaledObjects,
		appsv1.SchemeGroupVersion.WithKind("Deployment"), appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
}

// ReadMonitors reads what has the pods of a namespace scraped: ServiceMonitors and PodMonitors of the
// namespace, and the Services that the first select.
func ReadMonitors(ctx context.Context, from client.Reader, namespace string) ([]unstructured.Unstructured, error) {
	return ReadObjects(ctx, from, namespace, ServiceMonitors, PodMonitors, corev1.SchemeGroupVersion.WithKind("Service"))
}

// ReadObjects reads all objects of some kinds in a namespace. Kinds that are not installed have none.
// The error has every kind that cannot be read.
func ReadObjects(ctx context.Context, from client.Reader, namespace string, kinds ...schema.GroupVersionKind) (
	[]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	var faults []error
	for _, kind := range kinds {
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
