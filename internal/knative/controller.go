package knative

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"
)

// Manager is the field manager of what is written.
const Manager = "loadline"

// Options of a Controller. All but Decisions are needed.
type Options struct {
	Client    client.Client // reads from a cache
	Live      client.Reader // reads from the API server
	Namespace string        // of Knative Serving
	Decisions Decisions     // of LoadLines; nil = there are none
	Log       *slog.Logger
	Now       func() time.Time
	Scraper   *Scraper
}

// Controller of the PodAutoscalers of the class.
type Controller struct {
	Options
	poked chan event.GenericEvent

	mu        sync.Mutex
	tracked   map[types.NamespacedName]*tracked
	config    Config
	configAt  time.Time
	blindness string // why activators are not read, as it was logged last
}

// tracked is what is known of a revision between two reconciliations.
type tracked struct {
	name     types.NamespacedName
	settings Settings
	source   source
	replicas int32
	ready    []string // addresses of its ready pods

	rule   *Rule // of the goroutine of Start
	made   Settings
	loads  []Load
	wanted *Wanted // nil = unknown
	delay  delay
}

// New returns a controller that decides nothing before Start.
func New(o Options) *Controller {
	return &Controller{Options: o, poked: make(chan event.GenericEvent, 1024), tracked: map[types.NamespacedName]*tracked{}}
}

// SetupWithManager subscribes to PodAutoscalers of the class, to what belongs to them, and to the
// pods of revisions.
func (c *Controller) SetupWithManager(m ctrl.Manager) error {
	if _, err := m.GetRESTMapper().RESTMapping(PodAutoscalers.GroupKind(), PodAutoscalers.Version); err != nil {
		if meta.IsNoMatchError(err) {
			return fmt.Errorf("the cluster has no %s of %s: install Knative Serving, or leave --knative out: %w", PodAutoscalers.Kind,
				PodAutoscalers.GroupVersion(), err)
		}
		return fmt.Errorf("find Knative Serving: %w", err)
	}
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetAnnotations()[ClassAnnotation] == Class })
	ofRevision := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()[RevisionLabel] != "" })
	pod := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		name := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetLabels()[RevisionLabel]}
		if !c.tracks(name) {
			return nil
		}
		return []reconcile.Request{{NamespacedName: name}}
	})
	err := ctrl.NewControllerManagedBy(m).Named("knative").
		For(object(PodAutoscalers), builder.WithPredicates(ours)).
		Owns(object(ServerlessServices)).
		Watches(&corev1.Pod{}, pod, builder.WithPredicates(ofRevision)).
		WatchesRawSource(ctrlsource.Channel(c.poked, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 8}).
		Complete(c)
	if err != nil {
		return err
	}
	return m.Add(c)
}

func object(kind schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return o
}

func (c *Controller) tracks(name types.NamespacedName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tracked[name] != nil
}

func (c *Controller) forget(name types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tracked, name)
}

// Reconcile one PodAutoscaler.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	o := object(PodAutoscalers)
	if err := c.Client.Get(ctx, request.NamespacedName, o); err != nil {
		if apierrors.IsNotFound(err) {
			c.forget(request.NamespacedName)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, err
	}
	if o.GetAnnotations()[ClassAnnotation] != Class || o.GetDeletionTimestamp() != nil {
		c.forget(request.NamespacedName) // another class has it now, or nobody
		return reconcile.Result{}, nil
	}
	seen, err := c.look(ctx, o)
	if err != nil {
		return reconcile.Result{}, err
	}
	outcome := Decide(seen)
	if err := c.apply(ctx, seen, outcome); err != nil {
		if apierrors.IsConflict(err) { // the cache is behind
			return reconcile.Result{RequeueAfter: 100 * time.Millisecond}, nil
		}
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: outcome.After}, nil
}

// look collects what a decision depends on, and tells the ticks of it.
func (c *Controller) look(ctx context.Context, o *unstructured.Unstructured) (Seen, error) {
	pa, err := read[PodAutoscaler](o)
	if err != nil {
		return Seen{}, err
	}
	s := Seen{Now: c.Now(), PA: pa}
	config := c.configOf(ctx)
	if s.Settings, err = SettingsOf(pa, config); err != nil {
		c.Log.Warn("annotations of a revision are not used", "namespace", pa.Namespace, "revision", pa.Name, "error", err)
	}
	sks := object(ServerlessServices)
	switch err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), sks); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return Seen{}, err
	case !metav1.IsControlledBy(sks, o):
		s.NotOwned = sks.GetName()
		return s, nil
	default:
		if s.SKS, err = read[ServerlessService](sks); err != nil {
			return Seen{}, err
		}
	}
	ready, err := c.readyPods(ctx, pa)
	if err != nil {
		return Seen{}, err
	}
	s.Ready = int32(len(ready))
	if s.Replicas, err = c.replicas(ctx, pa); err != nil {
		return Seen{}, err
	}
	from, err := sourceOf(ctx, c.Client, pa)
	if err != nil {
		return Seen{}, err
	}
	s.Wanted = c.track(client.ObjectKeyFromObject(o), s, from, ready)
	return s, nil
}

// readyPods are the addresses of a revision's ready pods.
func (c *Controller) readyPods(ctx context.Context, pa *PodAutoscaler) ([]string, error) {
	var pods corev1.PodList
	if err := c.Client.List(ctx, &pods, client.InNamespace(pa.Namespace), client.MatchingLabels{RevisionLabel: pa.Name},
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the pods of revision %s/%s: %w", pa.Namespace, pa.Name, err)
	}
	var ready []string
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning {
			continue
		}
		for _, condition := range p.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				ready = append(ready, p.Status.PodIP)
			}
		}
	}
	return ready, nil
}

// target is the object to scale, with its name only.
func target(pa *PodAutoscaler) *unstructured.Unstructured {
	o := object(schema.FromAPIVersionAndKind(pa.Spec.ScaleTargetRef.APIVersion, pa.Spec.ScaleTargetRef.Kind))
	o.SetNamespace(pa.Namespace)
	o.SetName(pa.Spec.ScaleTargetRef.Name)
	return o
}

// replicas that the target asks for.
func (c *Controller) replicas(ctx context.Context, pa *PodAutoscaler) (int32, error) {
	scale := object(schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"})
	if err := c.Client.SubResource("scale").Get(ctx, target(pa), scale); err != nil {
		return 0, fmt.Errorf("the scale of %s %s/%s: %w", pa.Spec.ScaleTargetRef.Kind, pa.Namespace, pa.Spec.ScaleTargetRef.Name, err)
	}
	n, _, _ := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	return int32(n), nil
}

// apply an outcome: the mode before the scale on the way up and after it on the way down would make
// no difference, since a ServerlessService without ready pods sends requests to activators anyway.
func (c *Controller) apply(ctx context.Context, s Seen, o Outcome) error {
	if s.NotOwned == "" {
		if err := c.writeSKS(ctx, s, o); err != nil {
			return err
		}
	}
	if o.Replicas.Set {
		if err := c.writeScale(ctx, s, o.Replicas.Value); err != nil {
			return err
		}
	}
	return c.writeStatus(ctx, s.PA, o.Status)
}

func (c *Controller) writeSKS(ctx context.Context, s Seen, o Outcome) error {
	spec := ServerlessServiceSpec{Mode: o.Mode, ObjectRef: s.PA.Spec.ScaleTargetRef, ProtocolType: s.PA.Spec.ProtocolType,
		NumActivators: o.Activators}
	if s.SKS != nil && s.SKS.Spec == spec {
		return nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return err
	}
	sks := object(ServerlessServices)
	sks.SetNamespace(s.PA.Namespace)
	sks.SetName(s.PA.Name)
	if s.SKS != nil {
		return c.patch(ctx, sks, map[string]any{"metadata": map[string]any{"resourceVersion": s.SKS.ResourceVersion}, "spec": fields}, "")
	}
	annotations := map[string]string{}
	for k, v := range s.PA.Annotations {
		if k != annotation+"metric" { // as Serving's own autoscalers do
			annotations[k] = v
		}
	}
	sks.SetLabels(s.PA.Labels)
	sks.SetAnnotations(annotations)
	sks.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(&s.PA.ObjectMeta, PodAutoscalers)})
	sks.Object["spec"] = fields
	if err := c.Client.Create(ctx, sks, client.FieldOwner(Manager)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create ServerlessService %s/%s: %w", s.PA.Namespace, s.PA.Name, err)
	}
	return nil
}

func (c *Controller) writeScale(ctx context.Context, s Seen, to int32) error {
	if err := c.patch(ctx, target(s.PA), map[string]any{"spec": map[string]any{"replicas": to}}, "scale"); err != nil {
		return err
	}
	why := "bounds"
	if s.Wanted.Set {
		why = s.Wanted.Value.Why
	}
	c.Log.Info("scaled a revision", "namespace", s.PA.Namespace, "revision", s.PA.Name, "from", s.Replicas, "to", to, "why", why)
	return nil
}

// writeStatus if it changed.
func (c *Controller) writeStatus(ctx context.Context, pa *PodAutoscaler, status PodAutoscalerStatus) error {
	was, err := json.Marshal(pa.Status)
	if err != nil {
		return err
	}
	is, err := json.Marshal(status)
	if err != nil {
		return err
	}
	if string(was) == string(is) {
		return nil
	}
	o := object(PodAutoscalers)
	o.SetNamespace(pa.Namespace)
	o.SetName(pa.Name)
	return c.patch(ctx, o, map[string]any{"metadata": map[string]any{"resourceVersion": pa.ResourceVersion}, "status": status}, "status")
}

// patch merges fields into an object or a subresource.
func (c *Controller) patch(ctx context.Context, o *unstructured.Unstructured, fields map[string]any, subresource string) error {
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	what, patch := fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName()), client.RawPatch(types.MergePatchType, data)
	switch subresource {
	case "":
		err = c.Client.Patch(ctx, o, patch, client.FieldOwner(Manager))
	case "scale":
		body := object(schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"})
		err = c.Client.SubResource(subresource).Patch(ctx, o, patch, client.FieldOwner(Manager), client.WithSubResourceBody(body))
	default:
		err = c.Client.SubResource(subresource).Patch(ctx, o, patch, client.FieldOwner(Manager))
	}
	if err != nil {
		return fmt.Errorf("write the %s of %s: %w", orSpec(subresource), what, err)
	}
	return nil
}

func orSpec(subresource string) string {
	if subresource == "" {
		return "spec"
	}
	return subresource
}
