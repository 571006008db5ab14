package kube

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
)

func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func quota(name string, hard, used corev1.ResourceList, scopes ...corev1.ResourceQuotaScope) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard, Scopes: scopes},
		Status:     corev1.ResourceQuotaStatus{Hard: hard, Used: used},
	}
}

func constraintsOf(t *testing.T, objects ...client.Object) loadline.Constraints {
	t.Helper()
	s := newServer(t, objects...)
	w := s.workloads(service("web"))
	s.look(t, w)
	c, err := w.Constraints(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sidecar of 100m and 50Mi, without limits.
func sidecar(p *corev1.Pod) {
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "istio-proxy",
		Resources: corev1.ResourceRequirements{Requests: amounts("100m", "50Mi")}})
}

// TestQuotaLeavesWhatOthersDoNotUse: two pods of 200m with a sidecar of 100m are 0.6 of the 4 cores in
// use, so that others use 3.4 of 10.
func TestQuotaLeavesWhatOthersDoNotUse(t *testing.T) {
	objects := []client.Object{deployment("web", 2), replicaSet("web"), readyPod("web", "a", sidecar), readyPod("web", "b", sidecar)}
	c := constraintsOf(t, append(objects,
		quota("team", list("requests.cpu", "10", "pods", "20", "count/configmaps", "5"), list("requests.cpu", "4", "pods", "7")),
		quota("wide", list("cpu", "100", "limits.memory", "10Gi"), nil),
		quota("jobs", list("pods", "1"), list("pods", "1"), corev1.ResourceQuotaScopeTerminating),
	)...)
	want := map[loadline.QuotaResource]float64{
		loadline.QuotaCPURequests: 6.6, loadline.QuotaPods: 15, loadline.QuotaMemoryLimits: 10 << 30,
	}
	for r, hard := range c.Quota.Hard {
		w, limited := want[loadline.QuotaResource(r)]
		if hard.Set != limited || math.Abs(hard.Value-w) > 1e-6*w {
			t.Errorf("%v: %+v, want %v", loadline.QuotaResource(r), hard, w)
		}
	}
	if c.Quota.Name != "team and wide" {
		t.Errorf("name %q", c.Quota.Name)
	}
	s := c.Services[0]
	if s.Others != (loadline.Size{CPURequest: 0.1, MemoryRequest: 50 << 20}) || !s.NeedsMemoryLimit || s.NeedsCPULimit {
		t.Errorf("constraints %+v", s)
	}
}

func TestLimitRangesNarrowTheBounds(t *testing.T) {
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sizes"}, Spec: corev1.LimitRangeSpec{
		Limits: []corev1.LimitRangeItem{
			{Type: corev1.LimitTypeContainer, Min: list("cpu", "50m", "memory", "64Mi"), Max: list("cpu", "2"),
				MaxLimitRequestRatio: list("cpu", "4"), Default: list("memory", "1Gi")},
			{Type: corev1.LimitTypePod, Max: list("cpu", "1500m")},
			{Type: corev1.LimitTypePersistentVolumeClaim, Max: list("storage", "1Gi")},
		}}}
	withLimit := func(p *corev1.Pod) {
		sidecar(p)
		p.Spec.Containers[1].Resources.Limits = amounts("500m", "50Mi")
	}
	s := constraintsOf(t, deployment("web", 1), replicaSet("web"), readyPod("web", "a", withLimit), limits).Services[0]
	want := loadline.ServiceConstraints{
		Bounds:   loadline.Bounds{MinCPU: 0.05, MaxCPU: 1, MinMemory: 64 << 20}, // 1.5 less 0.5 of the sidecar
		CPURatio: 4, NeedsCPULimit: true, NeedsMemoryLimit: true,
		Others: loadline.Size{CPURequest: 0.1, CPULimit: 0.5, MemoryRequest: 50 << 20, MemoryLimit: 50 << 20},
	}
	if s != want {
		t.Errorf("constraints %+v, want %+v", s, want)
	}
}

func TestReplicasForAvailability(t *testing.T) {
	budget := func(spec policyv1.PodDisruptionBudgetSpec) *policyv1.PodDisruptionBudget {
		if spec.Selector == nil {
			spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		}
		return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "keep"}, Spec: spec}
	}
	is := func(v intstr.IntOrString) *intstr.IntOrString { return &v }
	spread := deployment("web", 1)
	spread.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		TopologyKey: corev1.LabelTopologyZone, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule}}
	perNode := deployment("web", 1)
	perNode.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: corev1.LabelHostname, MaxSkew: 1}}
	for _, c := range []struct {
		name string
		with client.Object
		want int
		why  string
	}{
		{"one available", budget(policyv1.PodDisruptionBudgetSpec{MinAvailable: is(intstr.FromInt32(1))}), 2, "PodDisruptionBudget keep"},
		{"three available", budget(policyv1.PodDisruptionBudgetSpec{MinAvailable: is(intstr.FromInt32(3))}), 4, "PodDisruptionBudget keep"},
		{"half available", budget(policyv1.PodDisruptionBudgetSpec{MinAvailable: is(intstr.FromString("50%"))}), 2, "PodDisruptionBudget keep"},
		{"none unavailable", budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: is(intstr.FromInt32(0))}), 2, "PodDisruptionBudget keep"},
		{"one unavailable", budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: is(intstr.FromInt32(1))}), 0, ""},
		{"nothing asked for", budget(policyv1.PodDisruptionBudgetSpec{MinAvailable: is(intstr.FromInt32(0))}), 0, ""},
		{"another service's", budget(policyv1.PodDisruptionBudgetSpec{MinAvailable: is(intstr.FromInt32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "cart"}}}), 0, ""},
		{"spread over zones", spread, 2, "it is spread over zones"},
		{"spread over nodes", perNode, 0, ""},
	} {
		objects := []client.Object{replicaSet("web"), readyPod("web", "a"), c.with}
		if _, budgeted := c.with.(*policyv1.PodDisruptionBudget); budgeted {
			objects = append(objects, deployment("web", 1))
		}
		s := constraintsOf(t, objects...).Services[0]
		if s.Bounds.MinReplicas != c.want || s.Why != c.why {
			t.Errorf("%s: at least %d replicas for %q, want %d for %q", c.name, s.Bounds.MinReplicas, s.Why, c.want, c.why)
		}
	}
}

// refusing is an API server that does not let quotas be listed.
type refusing struct{ client.Reader }

func (r refusing) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if _, quotas := into.(*corev1.ResourceQuotaList); quotas {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "resourcequotas"}, "", errors.New("no role"))
	}
	return r.Reader.List(ctx, into, options...)
}

func TestConstraintsWithoutPermissionAreNotKnown(t *testing.T) {
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sizes"}, Spec: corev1.LimitRangeSpec{
		Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: list("cpu", "2")}}}}
	s := newServer(t, deployment("web", 1), replicaSet("web"), readyPod("web", "a"), limits, quota("team", list("pods", "3"), nil))
	w := s.workloads(service("web"))
	w.live = refusing{w.live}
	s.look(t, w)
	c, err := w.Constraints(context.Background())
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "the ResourceQuotas of the namespace shop are not known") {
		t.Errorf("error %v", err)
	}
	if c.Quota.Limits() || c.Services[0].Bounds.MaxCPU != 2 {
		t.Errorf("constraints %+v", c)
	}
}
