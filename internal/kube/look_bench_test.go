package kube

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// memoryCache of a namespace, as cheap as the real one where it does not copy.
type memoryCache struct {
	client.Client
	deployments map[string]*appsv1.Deployment
	pods        []corev1.Pod
	sets        []metav1.PartialObjectMetadata
}

func (m *memoryCache) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	*into.(*appsv1.Deployment) = *m.deployments[key.Name]
	return nil
}

func (m *memoryCache) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	switch l := into.(type) {
	case *corev1.PodList:
		l.Items = append([]corev1.Pod(nil), m.pods...)
	case *metav1.PartialObjectMetadataList:
		l.Items = append([]metav1.PartialObjectMetadata(nil), m.sets...)
	}
	return nil
}

// BenchmarkLook is one pass over the largest application that a LoadLine may name,
// with ten pods for each service, in a namespace with as many pods of others.
func BenchmarkLook(b *testing.B) {
	m := &memoryCache{deployments: map[string]*appsv1.Deployment{}}
	o := Options{Client: m, Namespace: namespace, Owner: types.NamespacedName{Namespace: namespace, Name: "main"}}
	for i := range 400 {
		name := fmt.Sprint("web", i)
		m.deployments[name] = deployment(name, 10)
		m.sets = append(m.sets, metav1.PartialObjectMetadata{ObjectMeta: replicaSet(name).ObjectMeta})
		for j := range 10 {
			m.pods = append(m.pods, *readyPod(name, fmt.Sprint(name, "-", j)))
		}
		if i%2 == 0 {
			o.Services, o.Names = append(o.Services, service(name)), append(o.Names, name)
		}
	}
	w := New(o)
	b.ReportAllocs()
	for b.Loop() {
		states, err := w.Look(context.Background())
		if err != nil || len(states) != 200 || len(states[199].Pods) != 10 {
			b.Fatal(err, states[199])
		}
	}
}
