package kube

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/resource"
)

// Completed is a LoadLine with the services that its selector finds at present. Without a selector
// nothing is read.
func Completed(ctx context.Context, from client.Reader, l *v1alpha1.LoadLine) (*v1alpha1.LoadLine, error) {
	if l.Spec.Selector == nil {
		return l, nil
	}
	labels := client.MatchingLabels{}
	for key, value := range l.Spec.Selector.MatchLabels {
		labels[key] = string(value)
	}
	var all []resource.Workload
	add := func(kind string, o client.Object) {
		if o.GetDeletionTimestamp() == nil {
			all = append(all, resource.Workload{APIVersion: "apps/v1", Kind: kind, Name: o.GetName(), Labels: o.GetLabels(),
				Annotations: o.GetAnnotations()})
		}
	}
	var deployments appsv1.DeploymentList
	if err := from.List(ctx, &deployments, client.InNamespace(l.Namespace), labels); err != nil {
		return nil, fmt.Errorf("spec.selector: list the Deployments of %s: %w", l.Namespace, err)
	}
	for i := range deployments.Items {
		add("Deployment", &deployments.Items[i])
	}
	var sets appsv1.StatefulSetList
	if err := from.List(ctx, &sets, client.InNamespace(l.Namespace), labels); err != nil {
		return nil, fmt.Errorf("spec.selector: list the StatefulSets of %s: %w", l.Namespace, err)
	}
	for i := range sets.Items {
		add("StatefulSet", &sets.Items[i])
	}
	return resource.Complete(l, all), nil
}
