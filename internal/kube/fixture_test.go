package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/loadline/loadline/api/v1alpha1"
)

const namespace = "shop"

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// server is a fake API server. It keeps objects as controller-runtime's fake client
// does, which knows no apply on the scale subresource, no resize and no refusals:
// these are played here as the real one was seen to behave. What only the real one
// can show is tested in test/cluster.
type server struct {
	client.WithWatch
	now   time.Time
	calls []string // "list Pod", "patch scale"

	owner    map[string]string // of a Deployment's replicas
	between  func(verb string) // another writer, just before a call is executed
	resized  map[string]string // patches by pod
	refuse   map[string]error  // of resizes, by pod
	evicted  []string
	evicting error
}

func newServer(t *testing.T, objects ...client.Object) *server {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, autoscalingv2.AddToScheme, corev1.AddToScheme,
		policyv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &server{now: noon, owner: map[string]string{}, resized: map[string]string{}, refuse: map[string]error{}}
	s.WithWatch = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithReturnManagedFields().Build(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			gvk, err := c.GroupVersionKindFor(list)
			if err != nil {
				return err
			}
			s.called("list " + strings.TrimSuffix(gvk.Kind, "List"))
			return c.List(ctx, list, opts...)
		},
		SubResourceGet:    s.getScale,
		SubResourcePatch:  s.patch,
		SubResourceCreate: s.evict,
	})
	return s
}

func (s *server) called(call string) {
	s.calls = append(s.calls, call)
	if between := s.between; between != nil {
		s.between = nil
		between(call)
		s.between = between
	}
}

func (s *server) deployment(name string) *appsv1.Deployment {
	var d appsv1.Deployment
	if err := s.Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: name}, &d); err != nil {
		panic(err)
	}
	return &d
}

// set changes a Deployment as another writer.
func (s *server) set(name, manager string, change func(*appsv1.Deployment)) {
	d := s.deployment(name)
	before := *d.Spec.Replicas
	change(d)
	if before != *d.Spec.Replicas {
		d.Generation++ // which the fake client leaves alone
	}
	if err := s.Update(context.Background(), d, client.FieldOwner(manager)); err != nil {
		panic(err)
	}
	if before != *d.Spec.Replicas {
		s.owner[name] = manager
	}
}

func (s *server) getScale(_ context.Context, _ client.Client, sub string, o, into client.Object, _ ...client.SubResourceGetOption) error {
	s.called("get " + sub)
	if o.GetObjectKind().GroupVersionKind().Kind == "Bare" {
		return apierrors.NewNotFound(schema.GroupResource{}, o.GetName())
	}
	body := into.(*unstructured.Unstructured)
	if o.GetObjectKind().GroupVersionKind().Kind == "Rollout" {
		body.Object["spec"] = map[string]any{"replicas": int64(3)}
		body.Object["status"] = map[string]any{"replicas": int64(2), "selector": "app=front"}
		return nil
	}
	return s.fill(body, s.deployment(o.GetName()))
}

func (s *server) fill(body *unstructured.Unstructured, d *appsv1.Deployment) error {
	body.SetUID(d.UID)
	body.SetResourceVersion(d.ResourceVersion)
	return unstructured.SetNestedField(body.Object, int64(*d.Spec.Replicas), "spec", "replicas")
}

func (s *server) patch(_ context.Context, _ client.Client, sub string, o client.Object, patch client.Patch,
	opts ...client.SubResourcePatchOption) error {
	s.called("patch " + sub)
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	options := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
	if options.FieldManager != Manager {
		return fmt.Errorf("field manager %q", options.FieldManager)
	}
	if sub == "resize" {
		if err := s.refuse[o.GetName()]; err != nil {
			return err
		}
		return s.resize(o.GetName(), data)
	}
	var want struct {
		Metadata metav1.ObjectMeta
		Spec     struct{ Replicas int32 }
	}
	if err := json.Unmarshal(data, &want); err != nil {
		return err
	}
	if patch.Type() != types.ApplyPatchType {
		s.calls = append(s.calls, string(patch.Type())+" "+want.Metadata.ResourceVersion)
		return nil
	}
	d := s.deployment(o.GetName())
	forced := options.Force != nil && *options.Force
	owned := s.owner[d.Name] != "" && s.owner[d.Name] != Manager
	if want.Metadata.ResourceVersion != "" && want.Metadata.ResourceVersion != d.ResourceVersion || owned && !forced {
		return apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "deployments"}, d.Name,
			fmt.Errorf("the object has been modified"))
	}
	s.set(d.Name, Manager, func(d *appsv1.Deployment) { d.Spec.Replicas = &want.Spec.Replicas })
	return s.fill(options.SubResourceBody.(*unstructured.Unstructured), s.deployment(d.Name))
}

// resize records a patch of a pod without its resourceVersion, which is checked.
func (s *server) resize(pod string, data []byte) error {
	var p corev1.Pod
	if err := s.Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: pod}, &p); err != nil {
		return err
	}
	var patch map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return err
	}
	meta := patch["metadata"].(map[string]any)
	if v, conditional := meta["resourceVersion"]; conditional && v != p.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, pod, fmt.Errorf("the object has been modified"))
	}
	delete(meta, "resourceVersion")
	data, err := json.Marshal(patch)
	s.resized[pod] = string(data)
	return err
}

func (s *server) evict(_ context.Context, _ client.Client, sub string, o, body client.Object, _ ...client.SubResourceCreateOption) error {
	s.called("create " + sub)
	if e := body.(*policyv1.Eviction); e.DeleteOptions.Preconditions.UID == nil {
		return fmt.Errorf("eviction without the pod's UID")
	}
	if s.evicting == nil {
		s.evicted = append(s.evicted, o.GetName())
	}
	return s.evicting
}

func (s *server) count(call string) int {
	n := 0
	for _, c := range s.calls {
		if c == call {
			n++
		}
	}
	return n
}

// workloads over the server.
func (s *server) workloads(services ...*v1alpha1.Service) *Workloads {
	var names []string
	for i, service := range services {
		names = append(names, fmt.Sprint("service", i))
		if service != nil {
			names[i] = service.Name
		}
	}
	return New(Options{
		Client: s, Namespace: namespace, Owner: types.NamespacedName{Namespace: namespace, Name: "main"},
		Services: services, Names: names, Nodes: []string{"n0", "n1"},
		ScalerHosts: []string{"loadline-keda.loadline-system"}, Now: func() time.Time { return s.now },
	})
}

func (s *server) look(t *testing.T, w *Workloads) []State {
	t.Helper()
	states, err := w.Look(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// service of a Deployment whose replicas and sizes may be moved.
func service(name string) *v1alpha1.Service {
	bounds := &v1alpha1.QuantityBounds{Min: resource.MustParse("1m"), Max: resource.MustParse("1Ti")}
	return &v1alpha1.Service{
		Name: name, TargetRef: v1alpha1.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: name}, MovedBy: v1alpha1.ByScale,
		Axes:   []v1alpha1.Axis{v1alpha1.Horizontal, v1alpha1.VerticalRequests, v1alpha1.VerticalLimits},
		Bounds: v1alpha1.Bounds{Replicas: v1alpha1.ReplicaBounds{Max: 100}, CPU: bounds, Memory: bounds},
	}
}

// amounts are "cpu" and "memory", either of them perhaps empty.
func amounts(cpu, memory string) corev1.ResourceList {
	list := corev1.ResourceList{}
	if cpu != "" {
		list[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		list[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	return list
}

func resources(cpuRequest, cpuLimit, memoryRequest, memoryLimit string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: amounts(cpuRequest, memoryRequest), Limits: amounts(cpuLimit, memoryLimit)}
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("deployment-" + name)},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app",
					Resources: resources("200m", "1", "100Mi", "200Mi")}}},
			},
		},
		Status: appsv1.DeploymentStatus{Replicas: replicas, UpdatedReplicas: replicas},
	}
}

func replicaSet(of string) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: of + "-rs", UID: types.UID("replicaset-" + of),
		OwnerReferences: []metav1.OwnerReference{ownedBy("apps/v1", "Deployment", of, "deployment-"+of)},
	}}
}

func ownedBy(apiVersion, kind, name, uid string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(uid), Controller: new(true)}
}

// readyPod of a Deployment, with its template's size, unless it is changed.
func readyPod(of, name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	d := deployment(of, 1)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("pod-" +
				name), Labels: map[string]string{"app": of}, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour)),
			OwnerReferences: []metav1.OwnerReference{ownedBy("apps/v1", "ReplicaSet", of+"-rs", "replicaset-"+of)},
		},
		Spec: d.Spec.Template.Spec,
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(noon.Add(-time.Minute))}},
		},
	}
	pod.Spec.NodeName = "n1"
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func pending(reason string, since time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: reason, Message: "too little CPU",
			LastTransitionTime: metav1.NewTime(since),
		})
	}
}

func unready(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func withSize(r corev1.ResourceRequirements, class corev1.PodQOSClass) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers = slices.Clone(p.Spec.Containers)
		p.Spec.Containers[0].Resources = r
		p.Status.QOSClass = class
	}
}
