package knative

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

// Decisions are what LoadLines have decided. It is called concurrently and must not block.
type Decisions interface {
	// Replicas is the last decision about a service of a LoadLine. The error says why there is none
	// that may be followed.
	Replicas(loadline types.NamespacedName, service string, now time.Time) (int, error)
}

// source of a revision's replicas.
type source struct {
	loadline types.NamespacedName // zero = no LoadLine names the revision
	service  string
}

func (s source) String() string { return fmt.Sprintf("LoadLine %s, service %s", s.loadline, s.service) }

// sourceOf a revision: the LoadLine that names its Knative Service, if it is the latest that is
// ready. Earlier revisions, which a roll-out still sends requests to, have their own load, which a
// LoadLine does not tell from that of the latest.
func sourceOf(ctx context.Context, c client.Reader, pa *PodAutoscaler) (source, error) {
	service := pa.Labels[ServiceLabel]
	if service == "" {
		return source{}, nil
	}
	var all v1alpha1.LoadLineList
	if err := c.List(ctx, &all, client.InNamespace(pa.Namespace)); err != nil {
		return source{}, fmt.Errorf("list the LoadLines of %s: %w", pa.Namespace, err)
	}
	for i := range all.Items {
		l := &all.Items[i]
		for k := range l.Spec.Services {
			t := &l.Spec.Services[k]
			if t.MovedBy != v1alpha1.ByKnative || t.TargetRef.Name != service {
				continue
			}
			latest, err := latestReady(ctx, c, pa.Namespace, service)
			if err != nil || latest != pa.Name {
				return source{}, err
			}
			return source{client.ObjectKeyFromObject(l), t.Name}, nil
		}
	}
	return source{}, nil
}

// latestReady is the latest ready revision of a Knative Service; "" = there is none yet.
func latestReady(ctx context.Context, c client.Reader, namespace, name string) (string, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(Services)
	if err := c.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, o); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	latest, _, _ := unstructured.NestedString(o.Object, "status", "latestReadyRevisionName")
	return latest, nil
}
