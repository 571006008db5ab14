package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/reserve"
)

// room is a cluster with a class and the LoadLines of some applications.
type room struct {
	t        *testing.T
	r        *reserves
	c        client.Client
	now      time.Time
	registry *prometheus.Registry
}

const standard = `
metadata: {name: standard, uid: c-1, generation: 1, annotations: {loadline.dev/is-default-class: "true"}}
spec:
  prices: {coreHour: "0.1", gibHour: "0.01", currency: EUR}
  reserve:
    policy: Placeholder
    max: {cpu: 8, memory: 64Gi}
    namespace: room
    priorityClassName: low
    image: pause
`

// application in a mode, that wants some cores kept free and has pods of one core.
func applicationWith(name string, mode v1alpha1.Mode, wants string) *v1alpha1.LoadLine {
	text := fmt.Sprintf(`
metadata: {name: %[1]s, namespace: %[1]s}
spec: {mode: %[2]s}
status:
  mode: %[2]s
  reserve: {cpu: %[3]s, memory: 1Gi}
  services: [{name: web, applied: {replicas: 4, cpuRequest: "1", memoryRequest: 1Gi}}]
`, name, mode, wants)
	var l v1alpha1.LoadLine
	if err := yaml.UnmarshalStrict([]byte(text), &l); err != nil {
		panic(err)
	}
	return &l
}

func newRoom(t *testing.T, class string, lines ...*v1alpha1.LoadLine) *room {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme, schedulingv1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	var c v1alpha1.LoadLineClass
	if err := yaml.UnmarshalStrict([]byte(class), &c); err != nil {
		t.Fatal(err)
	}
	never := corev1.PreemptNever
	objects := []client.Object{&c, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "low"}, Value: -10,
		PreemptionPolicy: &never}}
	for _, l := range lines {
		objects = append(objects, l)
	}
	server := fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).WithStatusSubresource(&v1alpha1.LoadLineClass{}).Build()
	o := &room{t: t, c: server, now: noon}
	o.restart(nil)
	return o
}

// restart the controller: what it had in memory is gone.
func (o *room) restart(lease *Lease) {
	o.registry = prometheus.NewRegistry()
	o.r = newReserves(New(o.t.Context(), Options{Client: o.c, Live: o.c, Log: slog.New(slog.DiscardHandler), Lease: lease,
		Now: func() time.Time { return o.now }, Metrics: NewMetrics(o.registry)}))
}

// update the reserve after a while, and return the class.
func (o *room) update(after time.Duration) *v1alpha1.LoadLineClass {
	o.t.Helper()
	o.now = o.now.Add(after)
	result, err := o.r.Reconcile(o.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "standard"}})
	if err != nil || result.RequeueAfter != reserve.Every {
		o.t.Fatalf("%+v, %v", result, err)
	}
	return o.class()
}

func (o *room) class() *v1alpha1.LoadLineClass {
	o.t.Helper()
	var c v1alpha1.LoadLineClass
	if err := o.c.Get(context.Background(), client.ObjectKey{Name: "standard"}, &c); err != nil {
		o.t.Fatal(err)
	}
	return &c
}

// placeholders there are; -1 = there is no Deployment.
func (o *room) placeholders(namespace string) int {
	o.t.Helper()
	var d appsv1.Deployment
	err := o.c.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "loadline-reserve-standard"}, &d)
	if apierrors.IsNotFound(err) {
		return -1
	}
	if err != nil {
		o.t.Fatal(err)
	}
	return int(*d.Spec.Replicas)
}

// run lets so many placeholder pods be ready.
func (o *room) run(pods int32) {
	o.t.Helper()
	var d appsv1.Deployment
	if err := o.c.Get(context.Background(), client.ObjectKey{Namespace: "room", Name: "loadline-reserve-standard"}, &d); err != nil {
		o.t.Fatal(err)
	}
	d.Status.ReadyReplicas = pods
	if err := o.c.Status().Update(context.Background(), &d); err != nil {
		o.t.Fatal(err)
	}
}

// edit the class as a user does.
func (o *room) edit(change func(*v1alpha1.LoadLineClass)) {
	o.t.Helper()
	c := o.class()
	change(c)
	c.Generation++
	if err := o.c.Update(context.Background(), c); err != nil {
		o.t.Fatal(err)
	}
}

func heldBecause(t *testing.T, c *v1alpha1.LoadLineClass, reason string) {
	t.Helper()
	got := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReserveHeld)
	if got == nil || got.Reason != reason {
		t.Errorf("ReserveHeld is %+v, want %s", got, reason)
	}
}

func TestTwoApplicationsShareAReserve(t *testing.T) {
	o := newRoom(t, standard, applicationWith("shop", v1alpha1.Act, "3"), applicationWith("blog", v1alpha1.Act, "4"),
		applicationWith("lab", v1alpha1.Recommend, "7"))
	c := o.update(0)
	heldBecause(t, c, v1alpha1.ReasonReservePending)
	if n := o.placeholders("room"); n != 5 { // the root of 3*3 + 4*4, of pods of one core
		t.Errorf("%d placeholders", n)
	}
	o.run(5)
	c = o.update(reserve.Every)
	heldBecause(t, c, v1alpha1.ReasonHeld)
	s := c.Status.Reserve
	if s.Wanted.CPU.String() != "5" || s.Held.CPU.String() != "5" || s.Held.Memory.String() != "5Gi" || s.Pods != 5 ||
		s.By != v1alpha1.ReservePlaceholder || s.Namespace != "room" || s.CostPerHour != "0.55 EUR" || c.Status.LoadLines != 3 {
		t.Errorf("%+v, %d LoadLines", s, c.Status.LoadLines)
	}
	var names []string
	for _, a := range s.Applications {
		names = append(names, fmt.Sprintf("%s/%s %s %v", a.Namespace, a.Name, a.Wanted.CPU, a.Counted))
	}
	if got := strings.Join(names, ", "); got != "lab/lab 7 false, blog/blog 4 true, shop/shop 3 true" {
		t.Errorf("applications: %s", got)
	}
	if got := gaugeOf(t, o.registry, "loadline_reserve_cores", "state", "held"); len(got) != 1 || got[0] != 5 {
		t.Errorf("the metric is %v", got)
	}
}

func TestTheMaximumIsNeverExceeded(t *testing.T) {
	o := newRoom(t, standard, applicationWith("shop", v1alpha1.Act, "100"))
	c := o.update(0)
	if n := o.placeholders("room"); n != 8 || c.Status.Reserve.Wanted.CPU.String() != "8" {
		t.Errorf("%d placeholders, %+v", n, c.Status.Reserve)
	}
}

func TestNothingIsHeldByDefault(t *testing.T) {
	off := strings.Replace(standard, "policy: Placeholder", `policy: "Off"`, 1)
	o := newRoom(t, off, applicationWith("shop", v1alpha1.Act, "3"))
	c := o.update(0)
	heldBecause(t, c, v1alpha1.ReasonReserveOff)
	if n := o.placeholders("room"); n != -1 || c.Status.Reserve.Wanted.CPU.String() != "3" {
		t.Errorf("%d placeholders, %+v", n, c.Status.Reserve)
	}
}

func TestARestartedControllerContinuesWithTheReserve(t *testing.T) {
	shop := applicationWith("shop", v1alpha1.Act, "3")
	o := newRoom(t, standard, shop)
	o.update(0)
	o.restart(nil)
	shop.Status.Reserve = nil // it wants nothing any more
	if err := o.c.Update(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	o.update(time.Second)
	if n := o.placeholders("room"); n < 1 {
		t.Errorf("%d placeholders: the reserve was given up with the process", n)
	}
	o.update(11 * time.Minute)
	if n := o.placeholders("room"); n != 0 {
		t.Errorf("%d placeholders after eleven minutes", n)
	}
}

func TestOffAndMovedReservesAreDeleted(t *testing.T) {
	o := newRoom(t, standard, applicationWith("shop", v1alpha1.Act, "3"))
	o.update(0)
	o.edit(func(c *v1alpha1.LoadLineClass) { c.Spec.Reserve.Namespace = "elsewhere" })
	o.restart(nil) // whatever process notices it
	o.update(time.Second)
	if was, is := o.placeholders("room"), o.placeholders("elsewhere"); was != -1 || is != 3 {
		t.Errorf("%d where it was, %d where it is", was, is)
	}
	o.edit(func(c *v1alpha1.LoadLineClass) { c.Spec.Reserve.Policy = v1alpha1.ReserveOff })
	c := o.update(time.Second)
	if n := o.placeholders("elsewhere"); n != -1 || c.Status.Reserve.By != "" {
		t.Errorf("%d placeholders, %+v", n, c.Status.Reserve)
	}
}

func TestTroubleWithAReserveIsReported(t *testing.T) {
	for name, row := range map[string]struct{ old, to, reason string }{
		"no such priority class": {"priorityClassName: low", "priorityClassName: other", v1alpha1.ReasonPriorityClassInvalid},
		"no CapacityBuffers":     {"policy: Placeholder", "policy: CapacityBuffer", v1alpha1.ReasonNoCapacityBuffers},
	} {
		t.Run(name, func(t *testing.T) {
			o := newRoom(t, strings.Replace(standard, row.old, row.to, 1), applicationWith("shop", v1alpha1.Act, "3"))
			c := o.update(0)
			heldBecause(t, c, row.reason)
			if o.placeholders("room") != -1 {
				t.Error("something is held")
			}
		})
	}
}

// Another process holds the lease: this one writes nothing.
func TestAStaleProcessHoldsNoReserve(t *testing.T) {
	o := newRoom(t, standard, applicationWith("shop", v1alpha1.Act, "3"))
	o.restart(&Lease{Live: o.c, Key: client.ObjectKey{Namespace: "ns", Name: "gone"}, Identity: "me", Duration: 15 * time.Second,
		Now: func() time.Time { return o.now }})
	_, err := o.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "standard"}})
	if err == nil || o.placeholders("room") != -1 || o.class().Status.Reserve != nil {
		t.Errorf("%v, %d placeholders", err, o.placeholders("room"))
	}
}

func TestADeletedClassIsForgotten(t *testing.T) {
	o := newRoom(t, standard, applicationWith("shop", v1alpha1.Act, "3"))
	o.update(0)
	if err := o.c.Delete(t.Context(), o.class()); err != nil {
		t.Fatal(err)
	}
	result, err := o.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "standard"}})
	if err != nil || result.RequeueAfter != 0 || len(o.r.shared) != 0 {
		t.Errorf("%+v, %v, %d records", result, err, len(o.r.shared))
	}
	if got := gaugeOf(t, o.registry, "loadline_reserve_cores", "class", "standard"); len(got) != 0 {
		t.Errorf("series are left: %v", got)
	}
}

func TestOnlyStaleErrorsEndAnUpdate(t *testing.T) {
	if err := staleOnly(fmt.Errorf("apply: %w", errStale)); err == nil {
		t.Error("a stale process goes on")
	}
	if err := staleOnly(errors.New("conflict")); err != nil {
		t.Errorf("%v", err)
	}
}
