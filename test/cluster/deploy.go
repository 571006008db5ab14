package cluster

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
)

// ContainerName is the container of pods made by Deploy.
const ContainerName = "app"

// Deployment is a service of a modelled application: its replicas, its size, and
// its mean start-up.
func Deployment(namespace string, s *loadline.Service) *appsv1.Deployment {
	labels := map[string]string{"app": s.Name}
	replicas := int32(s.Replicas)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: s.Name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{StartAnnotation: s.Startup.Mean.String()}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: ContainerName, Image: "fake.invalid/" + s.Name + ":1", Resources: Resources(s.Size),
				}}},
			},
		},
	}
}

// Resources converts a size for a container.
func Resources(s loadline.Size) corev1.ResourceRequirements {
	list := func(cores float64, bytes int64) corev1.ResourceList {
		l := corev1.ResourceList{}
		if cores > 0 {
			l[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(1000*cores+0.5), resource.DecimalSI)
		}
		if bytes > 0 {
			l[corev1.ResourceMemory] = *resource.NewQuantity(bytes, resource.BinarySI)
		}
		return l
	}
	return corev1.ResourceRequirements{
		Requests: list(s.CPURequest, s.MemoryRequest), Limits: list(s.CPULimit, s.MemoryLimit),
	}
}

// Deploy makes a Deployment of every service of an application and waits until all pods are
// ready. Each is edited before it is created.
func (c *Cluster) Deploy(t testing.TB, namespace string, app *loadline.App, edit ...func(*appsv1.Deployment)) {
	t.Helper()
	for i := range app.Services {
		d := Deployment(namespace, &app.Services[i])
		for _, e := range edit {
			e(d)
		}
		if err := c.client.Create(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	for i := range app.Services {
		c.WaitReady(t, namespace, app.Services[i].Name, -1)
	}
}

// Scale sets a Deployment's replicas, as a user does by hand.
func (c *Cluster) Scale(t testing.TB, namespace, name string, replicas int) {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := c.client.Patch(t.Context(), d, patch, client.FieldOwner("kubectl")); err != nil {
		t.Fatal(err)
	}
}

// WaitReady waits until a Deployment has the given replicas, all of them ready; -1 = its
// spec's.
func (c *Cluster) WaitReady(t testing.TB, namespace, name string, replicas int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%s to be ready", name), func() error {
		var d appsv1.Deployment
		if err := c.client.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, &d); err != nil {
			return err
		}
		want := int32(replicas)
		if replicas < 0 {
			want = *d.Spec.Replicas
		}
		s := d.Status
		if *d.Spec.Replicas != want || s.ObservedGeneration < d.Generation || s.Replicas != want || s.ReadyReplicas != want {
			return fmt.Errorf("%d replicas asked for, %d there, %d ready; want %d", *d.Spec.Replicas, s.Replicas, s.ReadyReplicas, want)
		}
		return nil
	})
}

// Pods are those of a service in a namespace that were made by Deploy, in any
// state.
func (c *Cluster) Pods(t testing.TB, namespace, service string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := c.client.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{"app": service}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}
