package kube

import (
	"encoding/json"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// bulky adds what pods of real clusters carry about.
func bulky(p *corev1.Pod) {
	p.ManagedFields = []metav1.ManagedFieldsEntry{entry("kubelet", `{"f:status":{"f:phase":{}}}`, noon)}
	p.ManagedFields[0].APIVersion = "v1"
	p.Annotations = map[string]string{"checksum/config": "0123456789", defaultContainer: "app"}
	p.Spec.Volumes = []corev1.Volume{{Name: "v"}}
	p.Spec.Containers = append(p.Spec.Containers[:1:1], corev1.Container{Name: "side", Env: []corev1.EnvVar{{Name: "A", Value: "B"}},
		Command: []string{"x"}, Resources: resources("1m", "", "", "")})
	p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "i"}}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", ImageID: "sha256:0",
		Resources: &corev1.ResourceRequirements{Requests: amounts("300m", "")}}}
	p.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}}
}

// What Look finds must be the same through the cache, which is all that Strip may not
// spoil.
func TestStripChangesNothingForLook(t *testing.T) {
	web := deployment("web", 2)
	web.Annotations = map[string]string{"loadline.dev/paused": "true", "deployment.kubernetes.io/revision": "3"}
	web.Spec.Template.Annotations = map[string]string{defaultContainer: "app", "other": "x"}
	web.Status.UpdatedReplicas = 1
	web.ManagedFields = []metav1.ManagedFieldsEntry{entry("kubectl", ownsOther, noon), entry("argocd-controller", ownsOnly, noon)}
	objects := func() []client.Object {
		return []client.Object{web.DeepCopy(), replicaSet("web"), readyPod("web", "a", bulky, pending(corev1.PodReasonDeferred, noon)),
			readyPod("web", "b", bulky, unready), hpa("them", "web"), scaledObjectOf(onCPU()), loadLine("z", -1, "Act", "web")}
	}
	stripped := objects()
	for i := range stripped {
		o, err := Strip(stripped[i])
		if err != nil {
			t.Fatal(err)
		}
		stripped[i] = o.(client.Object)
	}
	whole, small := newServer(t, objects()...), newServer(t, stripped...)
	want, got := whole.look(t, whole.workloads(service("web"))), small.look(t, small.workloads(service("web")))
	if len(want[0].Pods) != 2 || len(want[0].Resize) != 1 || len(want[0].Conflicts) != 3 || want[0].RollingOut == "" ||
		!want[0].Paused || want[0].Changed.Manager != "argocd-controller" {
		t.Fatalf("the test tests nothing: %+v", want[0])
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestStrip(t *testing.T) {
	pod := readyPod("web", "a", bulky)
	before := size(t, pod)
	if _, err := Strip(pod); err != nil {
		t.Fatal(err)
	}
	if pod.ManagedFields != nil || len(pod.Annotations) != 1 || pod.Spec.Volumes != nil || pod.Spec.Containers[1].Env != nil ||
		len(pod.Status.Conditions) != 1 || pod.Status.PodIPs != nil {
		t.Errorf("left: %+v", pod)
	}
	if pod.Spec.Containers[1].Resources.Requests.Cpu().MilliValue() != 1 {
		t.Error("resources of other containers are lost: they make the QoS class")
	}
	t.Logf("%d of %d bytes of JSON are kept", size(t, pod), before)

	d := deployment("web", 1)
	d.ManagedFields = []metav1.ManagedFieldsEntry{entry("kubectl", ownsOther, noon), entry("kube-controller-manager", ownsStatus, noon),
		entry(Manager, ownsOnly, noon)}
	if _, err := Strip(d); err != nil || len(d.ManagedFields) != 1 || !changed(d.ManagedFields).Ours {
		t.Errorf("got %+v, %v", d.ManagedFields, err)
	}

	rs := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "ReplicaSet"}, ObjectMeta: replicaSet("web").ObjectMeta}
	rs.Labels, rs.ManagedFields = map[string]string{"a": "b"}, d.ManagedFields
	if _, err := Strip(rs); err != nil || rs.Labels != nil || rs.ManagedFields != nil || len(rs.OwnerReferences) != 1 {
		t.Errorf("got %+v, %v", rs, err)
	}

	gone := cache.DeletedFinalStateUnknown{Key: "a", Obj: &appsv1.Deployment{}}
	if got, err := Strip(gone); err != nil || got != gone {
		t.Errorf("a tombstone became %v, %v", got, err)
	}
}

func size(t *testing.T, o any) int {
	t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}
