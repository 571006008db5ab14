package chaos

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// watcher notes what the API server stores: every version of workloads, pods, leases and
// LoadLines. It goes on after each outage where it has stopped; if the API server has forgotten
// that version, what follows is marked as a gap.
type watcher struct {
	client dynamic.Interface
	apps   map[string]bool // namespaces

	mu       sync.Mutex
	replicas map[string]int // by workload
	changes  []Change
	specs    []Spec
	holders  []Holder
	pods     map[string]*Pod // by UID
	order    []string        // of pods
	done     sync.WaitGroup
}

func newWatcher(client dynamic.Interface, apps []string) *watcher {
	w := &watcher{client: client, apps: map[string]bool{}, replicas: map[string]int{}, pods: map[string]*Pod{}}
	for _, a := range apps {
		w.apps[a] = true
	}
	return w
}

// start watches until the context ends.
func (w *watcher) start(ctx context.Context) {
	for resource, see := range map[schema.GroupVersionResource]func(o *unstructured.Unstructured, gone, gap bool){
		{Group: "apps", Version: "v1", Resource: "deployments"}:             w.workload,
		{Version: "v1", Resource: "pods"}:                                   w.pod,
		{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}:   w.lease,
		{Group: "loadline.dev", Version: "v1alpha1", Resource: "loadlines"}: w.loadLine,
	} {
		w.done.Go(func() { w.follow(ctx, resource, see) })
	}
}

// follow one resource.
func (w *watcher) follow(ctx context.Context, of schema.GroupVersionResource, see func(*unstructured.Unstructured, bool, bool)) {
	version, gap, lost := "", false, time.Now()
	for ctx.Err() == nil {
		if version == "" {
			list, err := w.client.Resource(of).List(ctx, metav1.ListOptions{})
			if err != nil {
				pause(ctx)
				continue
			}
			for i := range list.Items {
				w.show(&list.Items[i], false, gap, see)
			}
			if of.Resource == "pods" {
				w.vanished(list, lost)
			}
			version = list.GetResourceVersion()
		}
		stream, err := w.client.Resource(of).Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err != nil {
			if apierrors.IsGone(err) || apierrors.IsResourceExpired(err) {
				version, gap = "", true
			}
			pause(ctx)
			continue
		}
		version = w.read(stream, version, see)
		gap, lost = gap || version == "", time.Now()
	}
}

// read a stream until it ends, and return the version that it came to; "" = the API server has
// forgotten it.
func (w *watcher) read(stream watch.Interface, version string, see func(*unstructured.Unstructured, bool, bool)) string {
	defer stream.Stop()
	for e := range stream.ResultChan() {
		o, is := e.Object.(*unstructured.Unstructured)
		if e.Type == watch.Error || !is {
			return ""
		}
		version = o.GetResourceVersion()
		if e.Type != watch.Bookmark {
			w.show(o, e.Type == watch.Deleted, false, see)
		}
	}
	return version
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
	}
}

func (w *watcher) show(o *unstructured.Unstructured, gone, gap bool, see func(*unstructured.Unstructured, bool, bool)) {
	if !w.apps[o.GetNamespace()] {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	see(o, gone, gap)
}

// workload notes a change of its replicas. The first sight of it is none.
func (w *watcher) workload(o *unstructured.Unstructured, gone, gap bool) {
	key := o.GetNamespace() + "/" + o.GetName()
	if gone {
		delete(w.replicas, key)
		return
	}
	n, set, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if !set {
		return
	}
	was, known := w.replicas[key]
	w.replicas[key] = int(n)
	if known && was != int(n) {
		w.changes = append(w.changes, Change{At: time.Now(), App: o.GetNamespace(), Service: o.GetName(), From: was, To: int(n),
			Manager: ownerOfReplicas(o), Version: o.GetResourceVersion(), Gap: gap})
	}
}

// ownerOfReplicas is the field manager that set the replicas last.
func ownerOfReplicas(o *unstructured.Unstructured) string {
	owner := ""
	for _, m := range o.GetManagedFields() {
		if m.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Spec map[string]any `json:"f:spec"`
		}
		if err := json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields); err != nil {
			continue // the API server writes what can be read
		}
		if _, has := fields.Spec["f:replicas"]; has {
			if owner == "" || m.Subresource == "scale" { // that has no time, and takes the field over
				owner = m.Manager
			}
		}
	}
	return owner
}

// pod notes when it became ready and when it ceased to be.
func (w *watcher) pod(o *unstructured.Unstructured, gone, _ bool) {
	uid := string(o.GetUID())
	p := w.pods[uid]
	if p == nil {
		p = &Pod{App: o.GetNamespace(), Service: o.GetLabels()["app"], Name: o.GetName()}
		w.pods[uid] = p
		w.order = append(w.order, uid)
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	ready := false
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Ready" {
			ready = m["status"] == "True"
		}
	}
	switch now := time.Now(); {
	case p.Ready.IsZero() && ready:
		p.Ready = now
	case !p.Ready.IsZero() && p.Gone.IsZero() && (gone || !ready || o.GetDeletionTimestamp() != nil):
		p.Gone = now
	}
}

// vanished marks the pods that are not listed any more: they may have gone since the watch ended.
func (w *watcher) vanished(list *unstructured.UnstructuredList, lost time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	there := map[string]bool{}
	for i := range list.Items {
		there[string(list.Items[i].GetUID())] = true
	}
	for uid, p := range w.pods {
		if !there[uid] && !p.Ready.IsZero() && p.Gone.IsZero() {
			p.Gone = lost
		}
	}
}

// lease notes its holder.
func (w *watcher) lease(o *unstructured.Unstructured, gone, _ bool) {
	if gone || o.GetName() != "loadline.dev" {
		return
	}
	holder, _, _ := unstructured.NestedString(o.Object, "spec", "holderIdentity")
	text, _, _ := unstructured.NestedString(o.Object, "spec", "acquireTime")
	acquired, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		acquired = time.Now()
	}
	if n := len(w.holders); n > 0 && w.holders[n-1].Identity == holder {
		return
	}
	w.holders = append(w.holders, Holder{At: acquired, Identity: holder})
}

// loadLine notes its bounds.
func (w *watcher) loadLine(o *unstructured.Unstructured, gone, _ bool) {
	s := Spec{At: time.Now(), App: o.GetNamespace()}
	services, _, _ := unstructured.NestedSlice(o.Object, "spec", "services")
	for _, each := range services {
		m, ok := each.(map[string]any)
		if !ok || gone {
			continue
		}
		name, _, _ := unstructured.NestedString(m, "name")
		least, _, _ := unstructured.NestedInt64(m, "bounds", "replicas", "min")
		most, _, _ := unstructured.NestedInt64(m, "bounds", "replicas", "max")
		movedBy, _, _ := unstructured.NestedString(m, "movedBy")
		_, optional := m["optional"]
		s.Services = append(s.Services, ServiceSpec{Name: name, Min: int(least), Max: int(most), Optional: optional, ByKEDA: movedBy == "KEDA"})
	}
	for i := len(w.specs) - 1; i >= 0; i-- {
		if was := &w.specs[i]; was.App == s.App {
			if slices.Equal(was.Services, s.Services) {
				return
			}
			break
		}
	}
	w.specs = append(w.specs, s)
}

// serving are the names of the pods of an application that are ready now, NAMESPACE/NAME.
func (w *watcher) serving() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, uid := range w.order {
		if p := w.pods[uid]; !p.Ready.IsZero() && p.Gone.IsZero() {
			names = append(names, p.App+"/"+p.Name)
		}
	}
	return names
}
