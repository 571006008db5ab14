package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

var (
	pods   = schema.GroupResource{Resource: "pods"}
	bigger = loadline.Setting{CPURequest: loadline.Some(0.5)}
)

// refusals as the API server of Kubernetes 1.36 words them.
func overCapacity() error {
	err := apierrors.NewForbidden(pods, "a",
		errors.New("node didn't have enough allocatable resources: cpu, requested: 17000, allocatable: 16000"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: causeNodeCapacity}}
	return err
}

func noPermission() error {
	return apierrors.NewForbidden(pods, "a", errors.New(`User "x" cannot patch resource "pods/resize" in API group ""`))
}

func invalid(field, text string) error {
	err := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil)
	err.ErrStatus.Message = `Pod "a" is invalid: ` + field + ": " + text
	return err
}

func unknownPath() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{}}}
}

// cluster of one Deployment with some pods.
func cluster(t *testing.T, pods ...*corev1.Pod) (*server, *Workloads) {
	objects := []client.Object{deployment("web", int32(len(pods))), replicaSet("web")}
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	s := newServer(t, objects...)
	w := s.workloads(service("web"))
	s.look(t, w)
	return s, w
}

func results(outcomes []Outcome) string {
	of := map[string]Result{}
	for _, o := range outcomes {
		of[o.Pod] = o.Result
	}
	var text []string
	for _, pod := range slices.Sorted(maps.Keys(of)) {
		text = append(text, pod+" "+string(of[pod]))
	}
	return strings.Join(text, ", ")
}

func TestResize(t *testing.T) {
	resized := withSize(resources("500m", "1", "100Mi", "200Mi"), corev1.PodQOSBurstable)
	inForce := func(r corev1.ResourceRequirements) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", Resources: &r}}
		}
	}
	for _, row := range []struct {
		name   string
		pod    *corev1.Pod
		answer error
		want   Result
		why    string
		asked  bool
	}{
		{"a pod that has another size is resized", readyPod("web", "a"), nil, InProgress, "", true},
		{"one that has it is left alone", readyPod("web", "a", resized, inForce(resources("500m", "1", "100Mi", "200Mi"))), nil, Done, "",
			false},
		{"one that was resized and is not there yet", readyPod("web", "a", resized, inForce(resources("200m", "1", "100Mi", "200Mi"))), nil,
			InProgress, "", false},
		{"deferred by its node", readyPod("web", "a", resized, pending(corev1.PodReasonDeferred, noon)), nil, Deferred,
			"node n1 has no room for it now: too little CPU", false},
		{"infeasible on its node", readyPod("web", "a", resized, pending(corev1.PodReasonInfeasible, noon)), nil, Infeasible,
			"can never hold it", false},
		{"resized something else while another was infeasible", readyPod("web", "a", pending(corev1.PodReasonInfeasible, noon)), nil,
			InProgress, "", true},
		{"refused at once for the node's capacity", readyPod("web", "a"), overCapacity(), Infeasible,
			"node n1 can never hold it: node didn't have", true},
		{"refused by a quota", readyPod("web", "a"), apierrors.NewForbidden(pods, "a", errors.New("exceeded quota: q")), Refused,
			"exceeded quota: q", true},
		{"refused as invalid", readyPod("web", "a"), invalid("spec", "Pod running on node without support for resize"), Refused,
			"without support", true},
		{"the cluster is too old", readyPod("web", "a"), unknownPath(), Refused, "1.33", true},
		{"gone", readyPod("web", "a"), apierrors.NewNotFound(pods, "a"), Gone, "", true},
		{"another pod of the same name", readyPod("web", "a"), invalid("metadata.uid", "field is immutable"), Gone, "", true},
		{"in the midst of other changes", readyPod("web", "a"), apierrors.NewConflict(pods, "a", errors.New("modified")), Waiting, "",
			true},
		{"best effort", readyPod("web", "a", withSize(corev1.ResourceRequirements{}, corev1.PodQOSBestEffort)), nil, Refused,
			"best-effort", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, w := cluster(t, row.pod)
			s.refuse["a"] = row.answer
			got, err := w.Resize(context.Background(), 0, bigger, Resizing{})
			if err != nil || len(got) != 1 || got[0].Result != row.want || !strings.Contains(got[0].Why, row.why) {
				t.Errorf("got %+v, %v", got, err)
			}
			if asked := s.count("patch resize") > 0; asked != row.asked {
				t.Errorf("calls: %q", s.calls)
			}
		})
	}
}

func TestResizeWithoutPermissionIsAnError(t *testing.T) {
	s, w := cluster(t, readyPod("web", "a"))
	s.refuse["a"] = noPermission()
	if _, err := w.Resize(context.Background(), 0, bigger, Resizing{}); !errors.Is(err, ErrForbidden) {
		t.Errorf("got %v", err)
	}
}

func TestARefusalIsNotAskedForAgainAtOnce(t *testing.T) {
	s, w := cluster(t, readyPod("web", "a"))
	s.refuse["a"] = overCapacity()
	resize := func(to loadline.Setting) string {
		t.Helper()
		s.look(t, w)
		got, err := w.Resize(context.Background(), 0, to, Resizing{})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(results(got), ", asked ", s.count("patch resize"))
	}
	for i, step := range []struct {
		to   loadline.Setting
		wait time.Duration
		want string
	}{
		{bigger, 0, "a infeasible, asked 1"},
		{bigger, 0, "a infeasible, asked 1"},
		{loadline.Setting{CPURequest: loadline.Some(0.6)}, 0, "a infeasible, asked 2"}, // that is another question
		{loadline.Setting{CPURequest: loadline.Some(0.6)}, askAgain + time.Second, "a infeasible, asked 3"},
	} {
		s.now = s.now.Add(step.wait)
		if got := resize(step.to); got != step.want {
			t.Errorf("step %d: %s", i, got)
		}
	}
}

func TestContainersAreRestartedOneAfterTheOther(t *testing.T) {
	restarting := func(p *corev1.Pod) {
		p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU,
			RestartPolicy: corev1.RestartContainer}}
	}
	s, w := cluster(t, readyPod("web", "a", restarting), readyPod("web", "b", restarting), readyPod("web", "c", restarting))
	got, err := w.Resize(context.Background(), 0, bigger, Resizing{})
	if err != nil || len(s.resized) != 1 || strings.Count(results(got), "waiting") != 2 {
		t.Errorf("got %s, %v", results(got), err)
	}
	s, w = cluster(t, readyPod("web", "a", restarting), readyPod("web", "b", unready, restarting))
	got, err = w.Resize(context.Background(), 0, bigger, Resizing{})
	if err != nil || len(s.resized) != 0 || results(got) != "a waiting, b waiting" {
		t.Errorf("while one is not ready: got %s, %v", results(got), err)
	}
}

func TestEviction(t *testing.T) {
	resized := withSize(resources("500m", "1", "100Mi", "200Mi"), corev1.PodQOSBurstable)
	best := withSize(corev1.ResourceRequirements{}, corev1.PodQOSBestEffort)
	draining := func(p *corev1.Pod) {
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: noon}, []string{"x/y"}
	}
	for _, row := range []struct {
		name   string
		pods   []*corev1.Pod
		answer error
		want   string
		why    string // of the first outcome that is not done
		fault  error
	}{
		{name: "one of those that cannot be resized", pods: []*corev1.Pod{readyPod("web", "a", best), readyPod("web", "b", best),
			readyPod("web", "c", resized)}, want: "a evicted, b refused, c done"},
		{name: "none, if all can be resized", pods: []*corev1.Pod{readyPod("web", "a"), readyPod("web", "b")},
			want: "a in progress, b in progress"},
		{name: "infeasible on its node", pods: []*corev1.Pod{readyPod("web", "a", resized),
			readyPod("web", "b", resized, pending(corev1.PodReasonInfeasible, noon))}, want: "a done, b evicted"},
		{name: "deferred for a while", pods: []*corev1.Pod{readyPod("web", "a", resized),
			readyPod("web", "b", resized, pending(corev1.PodReasonDeferred, noon.Add(-time.Minute)))}, want: "a done, b deferred"},
		{name: "deferred for long", pods: []*corev1.Pod{readyPod("web", "a", resized),
			readyPod("web", "b", resized, pending(corev1.PodReasonDeferred, noon.Add(-time.Hour)))}, want: "a done, b evicted"},
		{name: "never the only one", pods: []*corev1.Pod{readyPod("web", "a", best)}, want: "a refused", why: "it is the only one"},
		{name: "never while another is not ready", pods: []*corev1.Pod{readyPod("web", "a", best), readyPod("web", "b", resized, unready)},
			want: "a refused, b done", why: "pod b is not ready"},
		{name: "never while another is on its way out", pods: []*corev1.Pod{readyPod("web", "a", best),
			readyPod("web", "b", resized, draining)}, want: "a refused", why: "pod b is not ready"},
		{name: "but the one that is not ready itself", pods: []*corev1.Pod{readyPod("web", "a", best, unready),
			readyPod("web", "b", resized)}, want: "a evicted, b done"},
		{name: "its budget does not allow it", pods: []*corev1.Pod{readyPod("web", "a", best), readyPod("web", "b", resized)},
			answer: apierrors.NewTooManyRequests("disruption budget", 1), want: "a refused, b done", why: "disruption budget"},
		{name: "without the permission", pods: []*corev1.Pod{readyPod("web", "a", best), readyPod("web", "b", resized)},
			answer: apierrors.NewForbidden(pods, "a", errors.New("no")), want: "a refused, b done", fault: ErrForbidden},
		{name: "gone meanwhile", pods: []*corev1.Pod{readyPod("web", "a", best), readyPod("web", "b", resized)},
			answer: apierrors.NewNotFound(pods, "a"), want: "a gone, b done"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, w := cluster(t, row.pods...)
			s.evicting = row.answer
			got, err := w.Resize(context.Background(), 0, bigger, Resizing{Recreate: true})
			if !errors.Is(err, row.fault) || results(got) != row.want || len(got) > 0 && !strings.Contains(got[0].Why, row.why) {
				t.Errorf("got %+v, %v", got, err)
			}
			if n := strings.Count(row.want, "evicted"); len(s.evicted) != n {
				t.Errorf("evicted: %q", s.evicted)
			}
		})
	}
}

// A new pod would have the desired size, which may be smaller.
func TestRaisingOnlyEvictsNothing(t *testing.T) {
	best := withSize(corev1.ResourceRequirements{}, corev1.PodQOSBestEffort)
	s, w := cluster(t, readyPod("web", "a", best), readyPod("web", "b"))
	got, err := w.Resize(context.Background(), 0, bigger, Resizing{Recreate: true, RaiseOnly: true})
	if err != nil || len(s.evicted) > 0 || results(got) != "a refused, b in progress" {
		t.Errorf("got %s, %v, evicted %q", results(got), err, s.evicted)
	}
}

// Without the admission policy a new pod is no better than an old one.
func TestEvictionEndsIfItDoesNotHelp(t *testing.T) {
	best := withSize(corev1.ResourceRequirements{}, corev1.PodQOSBestEffort)
	s, w := cluster(t, readyPod("web", "a", best), readyPod("web", "b", best))
	ctx := context.Background()
	if got, err := w.Resize(ctx, 0, bigger, Resizing{Recreate: true}); err != nil || len(s.evicted) != 1 {
		t.Fatalf("got %s, %v", results(got), err)
	}
	if err := s.Delete(ctx, readyPod("web", s.evicted[0])); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(ctx, readyPod("web", "new", best,
		func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(noon.Add(time.Second)) })); err != nil {
		t.Fatal(err)
	}
	s.now = noon.Add(time.Minute)
	s.look(t, w)
	got, err := w.Resize(ctx, 0, bigger, Resizing{Recreate: true})
	if err != nil || len(s.evicted) != 1 || !strings.Contains(fmt.Sprint(got), "does not have the size either") {
		t.Errorf("got %+v, %v after evicting %q", got, err, s.evicted)
	}
}

func TestResizeFaultsInTheState(t *testing.T) {
	requestsOnly := service("web")
	requestsOnly.Axes = []v1alpha1.Axis{v1alpha1.VerticalRequests}
	horizontal := service("web")
	horizontal.Axes = []v1alpha1.Axis{v1alpha1.Horizontal}
	guaranteed := withSize(resources("1", "1", "1Gi", "1Gi"), corev1.PodQOSGuaranteed)
	best := withSize(corev1.ResourceRequirements{}, corev1.PodQOSBestEffort)
	for _, row := range []struct {
		name    string
		service *v1alpha1.Service
		pod     *corev1.Pod
		want    string
	}{
		{"none", service("web"), readyPod("web", "a"), ""},
		{"deferred", service("web"), readyPod("web", "a", pending(corev1.PodReasonDeferred, noon)), "a deferred"},
		{"infeasible", service("web"), readyPod("web", "a", pending(corev1.PodReasonInfeasible, noon)), "a infeasible"},
		{"best effort", service("web"), readyPod("web", "a", best), "a refused"},
		{"guaranteed, both axes", service("web"), readyPod("web", "a", guaranteed), ""},
		{"guaranteed, one axis", requestsOnly, readyPod("web", "a", guaranteed), "a refused"},
		{"sizes are not ours to move", horizontal, readyPod("web", "a", best), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newServer(t, deployment("web", 1), replicaSet("web"), row.pod)
			if got := results(s.look(t, s.workloads(row.service))[0].Resize); got != row.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// A resize is for the pod as Look found it: a size that another process has set
// since is not overwritten, and a change of its status alone is no obstacle.
func TestResizeIsConditional(t *testing.T) {
	change := func(s *server, change func(*corev1.Pod)) {
		var p corev1.Pod
		if err := s.Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: "a"}, &p); err != nil {
			panic(err)
		}
		change(&p)
		if err := s.Update(context.Background(), &p); err != nil {
			panic(err)
		}
	}
	for _, row := range []struct {
		name      string
		meanwhile func(*corev1.Pod)
		want      Result
		patches   int
	}{
		{"the status changes", func(p *corev1.Pod) { p.Status.Message = "busy" }, InProgress, 2},
		{"another process resizes the container", func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = resources("900m", "2", "100Mi", "200Mi")
		}, Waiting, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newServer(t, deployment("web", 1), replicaSet("web"), readyPod("web", "a"))
			w := s.workloads(service("web"))
			s.look(t, w)
			changed := false
			s.between = func(call string) {
				if call == "patch resize" && !changed {
					changed = true
					change(s, row.meanwhile)
				}
			}
			outcomes, err := w.Resize(context.Background(), 0, loadline.Setting{CPURequest: loadline.Some(0.5)}, Resizing{})
			if err != nil || len(outcomes) != 1 || outcomes[0].Result != row.want || s.count("patch resize") != row.patches {
				t.Errorf("%+v, %v after %q", outcomes, err, s.calls)
			}
			if resized := s.resized["a"] != ""; resized != (row.want == InProgress) {
				t.Errorf("resized: %v", resized)
			}
		})
	}
}
