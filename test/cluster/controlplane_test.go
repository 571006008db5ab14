package cluster

import (
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

func TestDeploymentsScale(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	ns := c.Namespace(t)
	c.Deploy(t, ns, shop())
	c.Scale(t, ns, "front", 6)
	c.WaitReady(t, ns, "front", 6)
	c.Scale(t, ns, "front", 1)
	c.WaitReady(t, ns, "front", 1)
	Eventually(t, "the other pods to be gone", func() error {
		if n := len(c.Pods(t, ns, "front")); n != 1 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
}

// A pod that has been bound runs before it is ready, as a real one does.
func TestPodsTakeTimeToStart(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	ns := c.Namespace(t)
	app := shop()
	app.Services = app.Services[:1]
	app.Services[0].Replicas = 1
	c.Deploy(t, ns, app, func(d *appsv1.Deployment) { d.Spec.Template.Annotations[StartAnnotation] = "4s" })
	pod := c.Pods(t, ns, "front")[0]
	var ready time.Time
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			ready = condition.LastTransitionTime.Time
		}
	}
	// Times in the API are whole seconds.
	if took := ready.Sub(pod.Status.StartTime.Time); took < 3*time.Second {
		t.Errorf("the pod was ready %v after its start, want 4 s", took)
	}
	if pod.Spec.NodeName == "" || pod.Status.PodIP == "" || pod.Status.ContainerStatuses[0].Resources.Limits.Cpu().MilliValue() != 1000 {
		t.Errorf("node %q, address %q, containers %v", pod.Spec.NodeName, pod.Status.PodIP, pod.Status.ContainerStatuses)
	}
}

func resizePod(t *testing.T, c client.Client, pod *corev1.Pod, cpu string) error {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"containers":[{"name":%q,"resources":{"requests":{"cpu":%[2]q},"limits":{"cpu":%[2]q}}}]}}`,
		ContainerName, cpu)
	return c.SubResource("resize").Patch(t.Context(), pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, patch))
}

// inForce checks that a pod has a CPU limit, without a restart.
func inForce(c client.Client, t *testing.T, pod *corev1.Pod, cpu string) error {
	var now corev1.Pod
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), &now); err != nil {
		return err
	}
	s := now.Status.ContainerStatuses[0]
	if got := s.Resources.Limits.Cpu().String(); got != cpu || s.RestartCount != 0 || !s.Ready {
		return fmt.Errorf("limit in force %s, %d restarts, ready %v", got, s.RestartCount, s.Ready)
	}
	return nil
}

func TestPodsFollowAResize(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	c.InstallLoadline(t)
	ns := c.Namespace(t)
	c.Deploy(t, ns, shop())
	for _, pod := range c.Pods(t, ns, "front") {
		if err := resizePod(t, c.Client(t, Loadline), &pod, "2"); err != nil {
			t.Fatal(err)
		}
		Eventually(t, "the resize", func() error { return inForce(c.Client(t, Admin), t, &pod, "2") })
	}
}

func TestAResizeCanBeDeferred(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	ns := c.Namespace(t)
	app := shop()
	app.Services[0].Replicas = 1
	c.Deploy(t, ns, app, func(d *appsv1.Deployment) { d.Spec.Template.Annotations[ResizeAnnotation] = "Deferred" })
	admin := c.Client(t, Admin)
	pod := c.Pods(t, ns, "front")[0]
	if err := resizePod(t, admin, &pod, "2"); err != nil {
		t.Fatal(err)
	}
	pending := func() (*corev1.PodCondition, error) {
		var now corev1.Pod
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(&pod), &now); err != nil {
			return nil, err
		}
		for i := range now.Status.Conditions {
			if now.Status.Conditions[i].Type == corev1.PodResizePending {
				return &now.Status.Conditions[i], nil
			}
		}
		return nil, nil
	}
	Eventually(t, "the resize to be put off", func() error {
		condition, err := pending()
		if err == nil && (condition == nil || condition.Reason != corev1.PodReasonDeferred) {
			err = fmt.Errorf("the condition is %v", condition)
		}
		return err
	})
	if err := inForce(admin, t, &pod, "1"); err != nil {
		t.Error(err)
	}
	// There is room again.
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, ResizeAnnotation))
	if err := admin.Patch(t.Context(), pod.DeepCopy(), patch); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the resize", func() error {
		condition, err := pending()
		if condition != nil {
			err = fmt.Errorf("the condition is %v", condition)
		}
		return errors.Join(err, inForce(admin, t, &pod, "2"))
	})
}

// What no node has room for is rejected at once.
func TestAnInfeasibleResizeIsRefused(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	ns := c.Namespace(t)
	c.Deploy(t, ns, shop())
	pod := c.Pods(t, ns, "front")[0]
	if err := resizePod(t, c.Client(t, Admin), &pod, "17"); !apierrors.IsForbidden(err) {
		t.Errorf("17 cores on a node of 16: %v", err)
	}
}

// The controller's account may do what deploy/rbac allows, and nothing else.
func TestPermissionsAreReal(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	c.InstallLoadline(t)
	ns := c.Namespace(t)
	c.Deploy(t, ns, shop())
	us := c.Client(t, Loadline)
	var list v1alpha1.LoadLineList
	if err := us.List(t.Context(), &list); err != nil {
		t.Error(err)
	}
	var d appsv1.Deployment
	key := types.NamespacedName{Namespace: ns, Name: "front"}
	if err := us.Get(t.Context(), key, &d); err != nil {
		t.Fatal(err)
	}
	d.Spec.Template.Labels["changed"] = "yes"
	if err := us.Update(t.Context(), &d); !apierrors.IsForbidden(err) {
		t.Errorf("a template can be changed: %v", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "key"}}
	if err := us.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); !apierrors.IsForbidden(err) {
		t.Errorf("a secret can be read: %v", err)
	}
	kubeconfig, err := c.Kubeconfig(Loadline)
	if err != nil || kubeconfig == "" {
		t.Errorf("kubeconfig %q: %v", kubeconfig, err)
	}
}

func TestTheAPIServerComesBackWithItsData(t *testing.T) {
	c := Shared(t)
	ns := c.Namespace(t)
	c.Deploy(t, ns, shop())
	c.KillAPIServer(t)
	if err := c.Client(t, Admin).Get(t.Context(), types.NamespacedName{Name: ns}, &corev1.Namespace{}); err == nil {
		t.Error("the API server answers although it was stopped")
	}
	c.StartAPIServer(t)
	c.WaitReady(t, ns, "front", 2)
	c.Scale(t, ns, "front", 3)
	c.WaitReady(t, ns, "front", 3)
}
