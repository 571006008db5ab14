package doctor

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/suggest"
)

// exam is the state of one examination.
type exam struct {
	Cluster
	Options
	report *Report

	minor     int  // of Kubernetes 1.x; 0 = not known
	resizable bool // pods have the subresource resize
	hasKEDA   bool

	lines      []v1alpha1.LoadLine
	defined    bool               // LoadLines are served
	deployment *appsv1.Deployment // of the controller; nil = none found
	namespaces []string           // that the controller watches; none = all
	resources  map[string]known   // by group and version
	connected  map[string]connection
	silent     bool // the given Prometheus does not answer
	spaces     map[string]*space
}

// known is the discovery result of a group and version.
type known struct {
	list *metav1.APIResourceList
	err  error
}

func newExam(c Cluster, o Options) *exam {
	return &exam{
		Cluster: c, Options: o, report: &Report{Server: c.Server},
		resources: map[string]known{}, connected: map[string]connection{}, spaces: map[string]*space{},
	}
}

func (e *exam) of(a Area) about { return about{report: e.report, area: a} }

func (e *exam) at(share float64, about string) {
	if e.Progress != nil {
		e.Progress(share, about)
	}
}

// served reports whether the API server has a resource, such as "pods/resize" of "v1".
func (e *exam) served(groupVersion, name string) (bool, error) {
	list, err := e.group(groupVersion)
	if err != nil || list == nil {
		return false, err
	}
	for _, r := range list.APIResources {
		if r.Name == name {
			return true, nil
		}
	}
	return false, nil
}

// group has the resources of a group and version; nil if there is none.
func (e *exam) group(groupVersion string) (*metav1.APIResourceList, error) {
	if r, asked := e.resources[groupVersion]; asked {
		return r.list, r.err
	}
	list, err := e.Discovery.ServerResourcesForGroupVersion(groupVersion)
	if apierrors.IsNotFound(err) {
		list, err = nil, nil
	}
	e.resources[groupVersion] = known{list, err}
	return list, err
}

// survey reads the LoadLines, because the needs of applications determine how serious a missing
// feature is.
func (e *exam) survey(ctx context.Context) {
	a := e.of(OfInstallation)
	defined, err := e.served(v1alpha1.GroupVersion.String(), "loadlines")
	if err != nil {
		a.warn("loadlines", "run it again; if it persists, check the API server's log",
			"it is unknown whether the cluster has the resource LoadLine: %v", err)
		return
	}
	e.defined = defined
	if !defined {
		for _, n := range e.LoadLines {
			a.fault("loadlines", applyCRD, "LoadLine %s cannot exist: the cluster does not have the resource.", n)
		}
		return
	}
	if len(e.LoadLines) == 0 {
		var list v1alpha1.LoadLineList
		if err := e.Reader.List(ctx, &list); err != nil {
			e.unseen(a, "loadlines", "LoadLines of all namespaces", err, "; or name some: loadline doctor NAMESPACE/NAME")
			return
		}
		for i := range list.Items {
			e.lines = append(e.lines, *e.completed(ctx, a, &list.Items[i]))
		}
		if len(e.lines) == 0 {
			a.note("loadlines", "kubectl apply -n NAMESPACE -f deploy/samples/first-look.yaml, after naming your services in it",
				"There is no LoadLine yet, so Loadline scales nothing.")
		}
		return
	}
	for _, n := range e.LoadLines {
		var l v1alpha1.LoadLine
		err := e.Reader.Get(ctx, n, &l)
		switch {
		case err == nil:
			e.lines = append(e.lines, *e.completed(ctx, a, &l))
		case apierrors.IsNotFound(err):
			a.fault("loadlines", fmt.Sprintf("kubectl get loadlines -n %s", n.Namespace), "There is no LoadLine %s.", n)
		default:
			e.unseen(a, "loadlines", "LoadLine "+n.String(), err, "")
		}
	}
}

// completed is a LoadLine with the services that its selector finds.
func (e *exam) completed(ctx context.Context, a about, l *v1alpha1.LoadLine) *v1alpha1.LoadLine {
	full, err := kube.Completed(ctx, e.Reader, l)
	if err != nil {
		e.unseen(a, "loadlines", "the workloads that LoadLine "+key(l)+" selects", err, "")
		return l
	}
	return full
}

// any reports whether any service of any LoadLine satisfies a condition.
func (e *exam) any(is func(*v1alpha1.LoadLine, *v1alpha1.Service) bool) bool {
	for i := range e.lines {
		for j := range e.lines[i].Spec.Services {
			if is(&e.lines[i], &e.lines[i].Spec.Services[j]) {
				return true
			}
		}
	}
	return false
}

// unseen reports that something could not be read.
func (e *exam) unseen(a about, check, what string, err error, otherwise string) {
	do := "run it again; if it persists, check the API server's log"
	switch {
	case apierrors.IsForbidden(err):
		do = "ask for the permissions in docs/doctor.md" + otherwise
	case meta.IsNoMatchError(err):
		do = "kubectl api-resources"
	}
	a.warn(check, do, "%s could not be read: %s.", upper(what), why(err))
}

// why something could not be read, in few words where they suffice.
func why(err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return "you may not read that"
	case meta.IsNoMatchError(err):
		return "the cluster does not have the kind"
	}
	return err.Error()
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// space is a namespace with its lists, which are read once.
type space struct {
	lists  map[schema.GroupVersionKind]listing
	lines  listed[v1alpha1.LoadLine]
	ranges listed[corev1.LimitRange]
}

type listing struct {
	items []unstructured.Unstructured
	err   error
}

type listed[T any] struct {
	done  bool
	items []T
	err   error
}

func (e *exam) space(namespace string) *space {
	s := e.spaces[namespace]
	if s == nil {
		s = &space{lists: map[schema.GroupVersionKind]listing{}}
		e.spaces[namespace] = s
	}
	return s
}

// all objects of a kind in a namespace; none if the cluster does not have the kind.
func (e *exam) all(ctx context.Context, namespace, resource string, kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	s := e.space(namespace)
	if l, known := s.lists[kind]; known {
		return l.items, l.err
	}
	var l listing
	there, err := e.served(kind.GroupVersion().String(), resource)
	switch {
	case err != nil:
		l.err = err
	case there:
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		l.err = e.Reader.List(ctx, list, client.InNamespace(namespace))
		l.items = list.Items
	}
	s.lists[kind] = l
	return l.items, l.err
}

// neighbours are the LoadLines of a namespace.
func (e *exam) neighbours(ctx context.Context, namespace string) ([]v1alpha1.LoadLine, error) {
	s := e.space(namespace)
	if !s.lines.done {
		var list v1alpha1.LoadLineList
		s.lines.err = e.Reader.List(ctx, &list, client.InNamespace(namespace))
		for i := range list.Items {
			if full, err := kube.Completed(ctx, e.Reader, &list.Items[i]); err == nil {
				list.Items[i] = *full
			}
		}
		s.lines.items, s.lines.done = list.Items, true
	}
	return s.lines.items, s.lines.err
}

// count with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// some names, not all of them.
func some(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// hint is the closest known name, or some of the known ones.
func hint(name string, known []string) string {
	if near := suggest.Of(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	if len(known) > 0 {
		return " (known: " + some(known) + ")"
	}
	return ""
}
