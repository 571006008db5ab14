package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/version"
	discoveryfake "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/metrics/prom"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// patient is a healthy cluster that tests break.
type patient struct {
	t         *testing.T
	minor     string
	down      error // of the API server
	resources map[string][]metav1.APIResource
	objects   []*unstructured.Unstructured
	forbidden []string        // resources that may not be read, such as nodes
	denied    map[string]bool // "patch pods/resize" that the controller may not
	noReviews bool
	options   Options
	series    *series

	asked []Address // that were connected to
}

// healthy is in cluster.yaml: all that Loadline needs, and one application.
func healthy(t *testing.T) *patient {
	p := &patient{
		t: t, minor: "36", denied: map[string]bool{}, series: newSeries(),
		options: Options{Now: now},
		resources: map[string][]metav1.APIResource{
			"v1": {{Name: "pods", Kind: "Pod"}, {Name: "pods/resize", Kind: "Pod"}},
			"apps/v1": {{Name: "deployments", Kind: "Deployment"}, {Name: "deployments/scale", Kind: "Scale"},
				{Name: "daemonsets", Kind: "DaemonSet"}},
			"autoscaling/v2":                  {{Name: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler"}},
			"autoscaling.k8s.io/v1":           {{Name: "verticalpodautoscalers", Kind: "VerticalPodAutoscaler"}},
			"keda.sh/v1alpha1":                {{Name: "scaledobjects", Kind: "ScaledObject"}},
			"loadline.dev/v1alpha1":           {{Name: "loadlines", Kind: "LoadLine"}},
			"metrics.k8s.io/v1beta1":          {{Name: "pods", Kind: "PodMetrics"}},
			"argoproj.io/v1alpha1":            {{Name: "rollouts", Kind: "Rollout"}, {Name: "rollouts/scale", Kind: "Scale"}},
			"admissionregistration.k8s.io/v1": {{Name: "mutatingadmissionpolicies", Kind: "MutatingAdmissionPolicy"}},
		},
	}
	p.add(clusterYAML)
	own, err := ownDefinition()
	if err != nil {
		t.Fatal(err)
	}
	crd := (&unstructured.Unstructured{Object: own}).DeepCopy()
	p.set(crd, []any{
		map[string]any{"type": "NamesAccepted", "status": "True"},
		map[string]any{"type": "Established", "status": "True"},
	}, "status", "conditions")
	p.objects = append(p.objects, crd)
	return p
}

// add objects, as YAML documents.
func (p *patient) add(text string) {
	p.t.Helper()
	for _, document := range strings.Split(text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			p.t.Fatalf("%v in %s", err, document)
		}
		p.objects = append(p.objects, o)
	}
}

func (p *patient) find(kind, name string) *unstructured.Unstructured {
	p.t.Helper()
	i := slices.IndexFunc(p.objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && o.GetName() == name })
	if i < 0 {
		p.t.Fatalf("there is no %s %s", kind, name)
	}
	return p.objects[i]
}

func (p *patient) remove(kind, name string) {
	o := p.find(kind, name)
	p.objects = slices.DeleteFunc(p.objects, func(other *unstructured.Unstructured) bool { return other == o })
}

func (p *patient) set(o *unstructured.Unstructured, value any, path ...string) {
	p.t.Helper()
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		p.t.Fatal(err)
	}
}

// change sets a field of an object; nil removes it.
func (p *patient) change(kind, name string, value any, path ...string) {
	p.t.Helper()
	o := p.find(kind, name)
	if value == nil {
		unstructured.RemoveNestedField(o.Object, path...)
		return
	}
	p.set(o, value, path...)
}

// service changes a service of the LoadLine by its index.
func (p *patient) service(i int, change func(map[string]any)) {
	o := p.find("LoadLine", "main")
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "services")
	change(list[i].(map[string]any))
	p.set(o, list, "spec", "services")
}

// container of a Deployment and of its pod.
func (p *patient) container(name string, change func(map[string]any)) {
	for _, at := range []struct {
		kind, name string
		path       []string
	}{
		{"Deployment", name, []string{"spec", "template", "spec", "containers"}},
		{"Pod", name + "-1", []string{"spec", "containers"}},
	} {
		o := p.find(at.kind, at.name)
		list, _, _ := unstructured.NestedSlice(o.Object, at.path...)
		change(list[0].(map[string]any))
		p.set(o, list, at.path...)
	}
}

// restrict restricts the controller to namespaces, as the chart does: there is no ClusterRole.
func (p *patient) restrict(args ...any) {
	p.denied["everywhere"] = true
	p.change("Deployment", "loadline", []any{map[string]any{
		"name": "loadline", "args": append([]any{"run", "--leader-elect"}, args...),
		"env": []any{map[string]any{"name": "POD_NAMESPACE",
			"valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.namespace"}}}},
	}}, "spec", "template", "spec", "containers")
}

// limits of the namespace shop: the items of a LimitRange called small.
func (p *patient) limits(items string) {
	p.add("apiVersion: v1\nkind: LimitRange\nmetadata: {name: small, namespace: shop}\nspec: {limits: [" + items + "]}")
}

// bad gives a condition an abnormal status.
func (p *patient) bad(condition, status, reason string) {
	o := p.find("LoadLine", "main")
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		if m := c.(map[string]any); m["type"] == condition {
			m["status"], m["reason"], m["message"] = status, reason, "as the controller says"
		}
	}
	p.set(o, list, "status", "conditions")
}

// knownTypes are those that the fake cluster has.
var knownTypes = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		panic(err)
	}
	for _, kind := range []schema.GroupVersionKind{crdKind, kube.ScaledObjects, kube.VerticalPodAutoscalers,
		{Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout"}} {
		s.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		s.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
	}
	return s
})

// client of the cluster.
func (p *patient) client() client.Client {
	p.t.Helper()
	s := knownTypes()
	b := fake.NewClientBuilder().WithScheme(s).WithInterceptorFuncs(p.refusals())
	for _, o := range p.objects {
		b = b.WithObjects(p.typed(s, o))
	}
	return b.Build()
}

func (p *patient) examine() *Report {
	p.t.Helper()
	d := &discoveryfake.FakeDiscovery{Fake: &clienttesting.Fake{}, FakedServerVersion: &version.Info{Major: "1", Minor: p.minor,
		GitVersion: "v1." + p.minor + ".0"}}
	for group, list := range p.resources {
		d.Resources = append(d.Resources, &metav1.APIResourceList{GroupVersion: group, APIResources: list})
	}
	o := p.options
	o.Connect = func(a Address) (*prom.Client, error) {
		p.asked = append(p.asked, a)
		return p.series.client(p.t), nil
	}
	c := Cluster{Server: "https://cluster", Reader: p.client(), Discovery: answering{d, p.down}, Access: p}
	r, err := Examine(p.t.Context(), c, o)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

type answering struct {
	*discoveryfake.FakeDiscovery
	down error
}

func (a answering) ServerVersion() (*version.Info, error) {
	if a.down != nil {
		return nil, a.down
	}
	return a.FakeDiscovery.ServerVersion()
}

// typed converts an object to its type, so that both ways of reading it agree.
func (p *patient) typed(s *runtime.Scheme, o *unstructured.Unstructured) client.Object {
	p.t.Helper()
	made, err := s.New(o.GroupVersionKind())
	if err != nil {
		p.t.Fatal(err)
	}
	if _, plain := made.(*unstructured.Unstructured); plain {
		return o
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, made, true); err != nil {
		p.t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
	return made.(client.Object)
}

// refusals are what may not be read.
func (p *patient) refusals() interceptor.Funcs {
	refused := func(o runtime.Object) error {
		name := fmt.Sprintf("%T", o)
		if u, ok := o.(runtime.Unstructured); ok {
			name = u.GetObjectKind().GroupVersionKind().Kind
		}
		for _, f := range p.forbidden {
			if strings.Contains(name, f) {
				return apierrors.NewForbidden(schema.GroupResource{Resource: f}, "", errors.New("no"))
			}
		}
		return nil
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := refused(o); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := refused(list); err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
	}
}

// Allowed is everything but what is denied.
func (p *patient) Allowed(_ context.Context, user string, groups []string, what authorizationv1.ResourceAttributes) (bool, error) {
	if user != "" && p.noReviews {
		return false, apierrors.NewForbidden(schema.GroupResource{Resource: "subjectaccessreviews"}, "", errors.New("no"))
	}
	if user != "" && (user != "system:serviceaccount:loadline-system:loadline" || !slices.Contains(groups,
		"system:serviceaccounts:loadline-system")) {
		return false, fmt.Errorf("asked for %s of %v", user, groups)
	}
	if p.denied["everywhere"] && what.Namespace == "" {
		return false, nil // there are Roles, and no ClusterRole
	}
	return !p.denied["everything"] && !p.denied[what.Verb+" "+resourceName(what)], nil
}
