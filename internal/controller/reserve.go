package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/reserve"
	"github.com/loadline/loadline/internal/resource"
	"github.com/loadline/loadline/internal/sim/pool"
)

// reserves holds the reserve of each class. It knows the applications by the status of
// their LoadLines, whichever process runs them.
type reserves struct {
	*Controller
	mu     sync.Mutex
	shared map[string]*reserve.Shared // by class
}

func newReserves(c *Controller) *reserves {
	return &reserves{Controller: c, shared: map[string]*reserve.Shared{}}
}

// Reconcile updates the reserve of a class, again and again.
func (r *reserves) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result := reconcile.Result{RequeueAfter: reserve.Every}
	err := contained(r.Log, "reserve of "+request.Name, func() error {
		var class v1alpha1.LoadLineClass
		if err := r.Client.Get(ctx, request.NamespacedName, &class); err != nil {
			if client.IgnoreNotFound(err) == nil { // its objects are deleted with it
				r.forget(request.Name)
				result = reconcile.Result{}
				return nil
			}
			return err
		}
		if !class.DeletionTimestamp.IsZero() || r.DryRun {
			return nil
		}
		return r.update(withPass(ctx, r.Now(), reserve.Every), &class)
	})
	return result, err
}

// update the reserve of a class: wishes, size, objects, status, metrics.
func (r *reserves) update(ctx context.Context, class *v1alpha1.LoadLineClass) error {
	now := r.Now()
	all, err := r.demands(ctx, class)
	if err != nil {
		return err
	}
	prices, err := resource.PricesOf(class)
	if err != nil {
		return err
	}
	pods, wanted := r.size(now, class, all)
	status := class.Status.DeepCopy()
	status.ObservedGeneration, status.LoadLines = class.Generation, int32(all.loadLines)
	if status.Reserve == nil {
		status.Reserve = &v1alpha1.ReserveStatus{}
	}
	held, condition, err := r.hold(ctx, class, status, pods)
	if err != nil {
		return err // stale, or the status cannot be written: nothing was held
	}
	s := status.Reserve
	s.Wanted, s.Held = resource.Amount(wanted), resource.Amount(pods.RoomOf(held))
	s.Pods, s.PodSize = int32(pods.Count), resource.Amount(pods.Size)
	cost := reserve.Cost(pods.RoomOf(held), prices, nodeOf(class))
	s.CostPerHour = loadline.DescribeNumber(cost) + " " + prices.Currency
	s.Applications = all.listed()
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReserveHeld, Status: condition.status, Reason: condition.reason,
		Message: resource.Text(condition.message), ObservedGeneration: class.Generation, LastTransitionTime: metav1.NewTime(now),
	})
	r.Metrics.reserve(class.Name, wanted, pods.RoomOf(held), cost)
	return r.writeClass(ctx, class, *status)
}

// demands of the LoadLines of a class.
type demands struct {
	loadLines int
	wishes    []reserve.Wish // of those that act
	shown     []v1alpha1.ApplicationReserve
}

func (r *reserves) demands(ctx context.Context, class *v1alpha1.LoadLineClass) (demands, error) {
	var d demands
	var classes v1alpha1.LoadLineClassList
	if err := r.Client.List(ctx, &classes); err != nil {
		return d, err
	}
	var all v1alpha1.LoadLineList
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil { // they are only read
		return d, err
	}
	for i := range all.Items {
		l := &all.Items[i]
		of, err := resource.ClassOf(l, classes.Items)
		if err != nil || of == nil || of.Name != class.Name || !l.DeletionTimestamp.IsZero() {
			continue
		}
		d.loadLines++
		d.add(l)
	}
	return d, nil
}

// add a LoadLine. Only what acts counts: the others change nothing, so no pods come.
func (d *demands) add(l *v1alpha1.LoadLine) {
	wish := reserve.Wish{Name: l.Namespace + "/" + l.Name, Wanted: resource.RoomOf(l.Status.Reserve)}
	acts := l.Spec.Mode == v1alpha1.Act && l.Status.Mode == v1alpha1.Act
	if l.Status.Reserve != nil {
		d.shown = append(d.shown, v1alpha1.ApplicationReserve{Namespace: l.Namespace, Name: l.Name, Wanted: *l.Status.Reserve, Counted: acts})
	}
	if !acts {
		return
	}
	for i := range l.Status.Services {
		a := l.Status.Services[i].Applied
		if a == nil || a.Replicas == nil {
			continue
		}
		pod := resource.RoomOf(&v1alpha1.Amount{CPU: a.CPURequest, Memory: a.MemoryRequest})
		wish.Count(pod, int(*a.Replicas), l.Status.Reserve != nil)
	}
	d.wishes = append(d.wishes, wish)
}

// listed are the largest wishes.
func (d *demands) listed() []v1alpha1.ApplicationReserve {
	slices.SortStableFunc(d.shown, func(a, b v1alpha1.ApplicationReserve) int {
		return cmp.Or(-cmp.Compare(resource.RoomOf(&a.Wanted).Cores, resource.RoomOf(&b.Wanted).Cores),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	const most = 100
	return d.shown[:min(len(d.shown), most)]
}

// size of a reserve in pods, and what is wanted within the maximum. Without a maximum,
// which the policy Off does not need, it is shown in full.
func (r *reserves) size(now time.Time, class *v1alpha1.LoadLineClass, d demands) (reserve.Pods, loadline.Room) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.shared[class.Name]
	if s == nil {
		s = &reserve.Shared{}
		r.shared[class.Name] = s
		if was := class.Status.Reserve; was != nil && was.By != "" { // by the process before this one
			s.Resume(now, resource.RoomOf(was.Wanted), resource.RoomOf(was.PodSize))
		}
	}
	var most *loadline.Room
	if class.Spec.Reserve.Max != nil {
		limit := resource.Room(*class.Spec.Reserve.Max)
		most = &limit
	}
	return s.Pods(now, leadOf(class), d.wishes, most)
}

// leadOf is the time until the slowest pool has a new node.
func leadOf(class *v1alpha1.LoadLineClass) time.Duration {
	lead := time.Duration(0)
	for i := range class.Spec.NodePools {
		lead = max(lead, class.Spec.NodePools[i].Startup.Span())
	}
	return cmp.Or(lead, reserve.DefaultLead)
}

// nodeOf is the type of the first pool that has one, for its price.
func nodeOf(class *v1alpha1.LoadLineClass) pool.Type {
	for _, p := range class.Spec.NodePools {
		if p.InstanceType != "" {
			room := resource.Room(p.Allocatable)
			return pool.Type{Name: p.InstanceType, Cores: room.Cores, Memory: room.Memory}
		}
	}
	return pool.Type{}
}

// hold the reserve by its objects. By what and where is in the status before anything
// is created, so that it is found and deleted later, whatever happens.
func (r *reserves) hold(ctx context.Context, class *v1alpha1.LoadLineClass, status *v1alpha1.LoadLineClassStatus,
	pods reserve.Pods) (held int, condition verdict, err error) {
	k := kube.Reserve{Client: r.Client, Live: r.Live, Class: class}
	was, where := status.Reserve.By, status.Reserve.Namespace
	by, err := k.Resolve(class.Spec.Reserve.Policy)
	if err != nil {
		return 0, notHeld(err), nil
	}
	if by == v1alpha1.ReserveOff || by == "" {
		if was != "" {
			if err := k.Release(ctx, was, where); err != nil {
				return 0, notHeld(err), staleOnly(err)
			}
		}
		status.Reserve.By, status.Reserve.Namespace = "", ""
		return 0, no(v1alpha1.ReasonReserveOff, "spec.reserve.policy is Off: status.reserve.wanted is what would be kept free"), nil
	}
	moved := was != "" && (was != by || where != class.Spec.Reserve.Namespace)
	if moved {
		if err := k.Release(ctx, was, where); err != nil {
			return 0, notHeld(err), staleOnly(err)
		}
	}
	if moved || was == "" {
		status.Reserve.By, status.Reserve.Namespace = by, class.Spec.Reserve.Namespace
		if err := r.writeClass(ctx, class, *status); err != nil {
			return 0, verdict{}, err
		}
	}
	held, err = k.Hold(ctx, by, pods)
	switch {
	case err != nil:
		return 0, notHeld(err), staleOnly(err)
	case held < pods.Count:
		return held, no(v1alpha1.ReasonReservePending, fmt.Sprintf("%d of %d pods of the reserve have a place", held, pods.Count)), nil
	}
	return held, yes(v1alpha1.ReasonHeld, fmt.Sprintf("%d pods of the reserve have a place", held)), nil
}

// staleOnly is the error of a process that must not write any more; nil for others,
// which the condition reports.
func staleOnly(err error) error {
	if errors.Is(err, errStale) {
		return err
	}
	return nil
}

func notHeld(err error) verdict {
	reason := v1alpha1.ReasonFailed
	switch {
	case errors.Is(err, kube.ErrNoBufferAPI):
		reason = v1alpha1.ReasonNoCapacityBuffers
	case errors.Is(err, kube.ErrPriority):
		reason = v1alpha1.ReasonPriorityClassInvalid
	case apierrors.IsForbidden(err):
		reason = v1alpha1.ReasonForbidden
	}
	return no(reason, err.Error())
}

// writeClass writes the status of a class, if it has changed.
func (r *reserves) writeClass(ctx context.Context, class *v1alpha1.LoadLineClass, status v1alpha1.LoadLineClassStatus) error {
	if equality.Semantic.DeepEqual(class.Status, status) {
		return nil
	}
	changed := class.DeepCopy()
	changed.Status = status
	if err := r.Client.Status().Patch(ctx, changed, client.MergeFrom(class.DeepCopy())); err != nil {
		return client.IgnoreNotFound(err)
	}
	class.Status = *status.DeepCopy()
	return nil
}

func (r *reserves) forget(class string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.shared, class)
	r.Metrics.forgetReserve(class)
}
