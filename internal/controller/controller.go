package controller

import (
	"context"
	"hash/fnv"
	"log/slog"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/kedascaler"
	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/notify"
)

// Options of a Controller. Client, Log and Now are needed.
type Options struct {
	Client client.Client // reads from a cache
	Live   client.Reader // reads from the API server; nil = Client does
	Log    *slog.Logger
	Now    func() time.Time

	Events  events.EventRecorder // nil = none are written
	Board   *kedascaler.Board    // nil = KEDA is not served
	Metrics *Metrics             // nil = none are kept
	// ScalerHosts are hosts under which KEDA's triggers address us.
	ScalerHosts []string

	// Prometheus is the address for LoadLines that have none, and whose class has none; may be empty.
	Prometheus string
	// AllowPrometheus is where the servers of LoadLines may be.
	AllowPrometheus prom.AllowList
	// Answers is the memory for the answers of all of them; nil = the default.
	Answers *prom.Budget

	// Namespace of this process, with the Secrets and ConfigMaps of classes.
	Namespace string
	// Reserves: this process holds the reserves of classes. One process in a cluster may,
	// and it must see all LoadLines.
	Reserves bool

	Models    string // folder of registries
	Fleet     *Fleet // where students meet their teachers; nil = they decide alone
	Decisions string // folder of logs; empty = none are kept
	// DecisionsMax is the size of all logs together, DecisionsKeep how long one stays after its
	// LoadLine is deleted; 0 = the defaults.
	DecisionsMax  int64
	DecisionsKeep time.Duration
	// Recorded is called with each decision that is recorded, in the pass: it must be quick. nil = nothing is.
	Recorded func(namespace, name string, app *loadline.App, r *decisionlog.Record)
	// Notify tells other systems of a notice. It must not wait. nil = none are told.
	Notify func(notify.Notice)
	DryRun bool   // nothing is written, whatever the mode
	Lease  *Lease // that every write needs; nil = none
	// CPUTime of the calling thread, by which estimates are limited; nil = they are not measured.
	CPUTime func() time.Duration
	// Agent selects the LoadLines to run: those with this value of the label
	// v1alpha1.AgentLabel; empty = those without it.
	Agent string
	// Sharding selects among these.
	Sharding Sharding
}

// Controller runs every LoadLine that it is notified of.
type Controller struct {
	Options

	open      openFunc                        // assemble, except in tests
	restorer  func(namespace string) restorer // restorerIn, except in tests
	classless bool                            // the cluster has no LoadLineClasses
	life      context.Context                 // of the applications
	stop      context.CancelFunc
	mu        sync.Mutex
	runs      map[types.NamespacedName]*runner
	released  map[types.NamespacedName]*runner // see release
	replays   chan struct{}                    // a place for each application whose past is being read
	estimates chan struct{}                    // the place of the estimate that is running
	shares    *shares                          // what LoadLines ask of Prometheus together
	logs      *decisionlog.Store               // nil = none are kept, or logless says why
	logless   error
}

// openFunc puts an application together as the resource says; latest is the
// resource as it is at any later time.
type openFunc func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error)

// New returns a controller whose applications run until the context ends.
func New(life context.Context, o Options) *Controller {
	life, stop := context.WithCancel(life)
	c := &Controller{
		Options: o, life: life, stop: stop, runs: map[types.NamespacedName]*runner{}, released: map[types.NamespacedName]*runner{},
		replays: make(chan struct{}, replaysAtOnce), estimates: make(chan struct{}, 1),
	}
	if c.Live == nil {
		c.Live = c.Client
	}
	if c.Answers == nil {
		c.Answers = prom.NewBudget(prom.DefaultBudget)
	}
	c.shares = newShares(c.Log)
	c.Client = Fenced(c.Client, c.Lease)
	c.newStore()
	c.open, c.restorer = c.assemble, c.restorerIn
	return c
}

// Start sweeps decision logs until the end of the context, and then waits until every application has ended.
// As a runnable of the manager it has the lease released only afterwards: no write of
// this process follows the release.
func (c *Controller) Start(ctx context.Context) error {
	c.sweepLogs(ctx)
	<-ctx.Done()
	c.stop()
	c.Wait()
	return nil
}

// ending reports whether the process is being stopped.
func (c *Controller) ending() bool { return c.life.Err() != nil }

func (c *Controller) metricsOf(l *v1alpha1.LoadLine) *applicationMetrics {
	if c.Metrics == nil {
		return nil
	}
	return c.Metrics.of(l.Namespace, l.Name)
}

// Reconcile starts, restarts or ends a LoadLine. It is called in the process that
// holds the lease only, and for one LoadLine at a time.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var result reconcile.Result
	err := contained(c.Log, "reconcile "+request.String(), func() (err error) {
		result, err = c.reconcile(ctx, request.NamespacedName)
		return err
	})
	return result, err
}

func (c *Controller) reconcile(ctx context.Context, name types.NamespacedName) (reconcile.Result, error) {
	var l v1alpha1.LoadLine
	if err := c.Client.Get(ctx, name, &l); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, err
		}
		c.end(name)
		c.releaser(name, nil)
		return reconcile.Result{}, nil
	}
	if !c.Sharding.Owns(&l) { // another process does all of this for it
		c.end(name)
		c.releaser(name, nil)
		return reconcile.Result{}, nil
	}
	if !l.DeletionTimestamp.IsZero() || !c.ours(&l) {
		c.end(name)
		return c.release(ctx, &l)
	}
	full, err := c.complete(ctx, &l)
	if err != nil {
		return reconcile.Result{}, err
	}
	c.adopt(ctx, name, full)
	return reconcile.Result{}, nil
}

// ours reports whether this process runs a LoadLine, or another agent does.
func (c *Controller) ours(l *v1alpha1.LoadLine) bool { return l.Labels[v1alpha1.AgentLabel] == c.Agent }

// adopt a LoadLine as it is now. A change of its spec, of what its selector finds or of its class restarts it, with
// what the status remembers; the next pass sees anything else.
func (c *Controller) adopt(ctx context.Context, name types.NamespacedName, l *v1alpha1.LoadLine) {
	r := c.runnerOf(name)
	if r != nil {
		was := r.latest.Load()
		switch {
		case was.UID == l.UID && was.Generation > l.Generation:
			return // the cache is behind what the runner has read
		case was.UID == l.UID && was.Generation == l.Generation && sameServices(was, l) && !c.classChanged(ctx, r):
			r.latest.Store(l)
			r.poke()
			return
		}
		r.stop() // without the lock: a pass may take as long as Prometheus does
		if was.UID != l.UID {
			r = nil // nothing of the former LoadLine is for this one
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ending() {
		c.runs[name] = c.start(c.life, l, c.offset(l), r)
	}
}

func (c *Controller) runnerOf(name types.NamespacedName) *runner {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs[name]
}

// offset spreads applications over their interval, so that many of them do not ask
// Prometheus at the same instant. A few begin at once.
func (c *Controller) offset(l *v1alpha1.LoadLine) time.Duration {
	const few = 16
	interval := l.Spec.Interval.Span()
	if len(c.runs) < few || interval <= 0 {
		return 0
	}
	h := fnv.New32a()
	h.Write([]byte(l.UID))
	return time.Duration(float64(interval) * float64(h.Sum32()) / (1 << 32))
}

// end a LoadLine that was deleted, or that another agent runs now.
func (c *Controller) end(name types.NamespacedName) {
	c.mu.Lock()
	r := c.runs[name]
	delete(c.runs, name)
	c.mu.Unlock()
	if r == nil {
		return
	}
	r.stop()
	c.metricsOf(r.latest.Load()).forget()
	if c.Board != nil {
		c.Board.Forget(kedascaler.Name{Namespace: name.Namespace, Name: name.Name})
	}
}

// Wait until every application has ended, after the context has.
func (c *Controller) Wait() {
	c.mu.Lock()
	runs := make([]*runner, 0, len(c.runs))
	for _, r := range c.runs {
		runs = append(runs, r)
	}
	c.mu.Unlock()
	for _, r := range runs {
		<-r.ended
	}
}

// SetupWithManager subscribes to LoadLines, and to pods that are created.
func (c *Controller) SetupWithManager(m ctrl.Manager) error {
	created := predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return true },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	if err := m.Add(c); err != nil {
		return err
	}
	if err := c.findClasses(context.Background()); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(m).
		For(&v1alpha1.LoadLine{}).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(c.selecting), builder.WithPredicates(labelled)).
		Watches(&appsv1.StatefulSet{}, handler.EnqueueRequestsFromMapFunc(c.selecting), builder.WithPredicates(labelled)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(c.sizesOf), builder.WithPredicates(created)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 8})
	if !c.classless {
		b = b.Watches(&v1alpha1.LoadLineClass{}, handler.EnqueueRequestsFromMapFunc(c.ofClasses),
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})))
	}
	if err := b.Complete(c); err != nil {
		return err
	}
	if c.classless || !c.Reserves {
		return nil
	}
	return ctrl.NewControllerManagedBy(m).
		For(&v1alpha1.LoadLineClass{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})). // not by its own status
		Complete(newReserves(c))
}

// sizesOf are the LoadLines that set the size of pods in this namespace, and are
// to look at one that was created.
func (c *Controller) sizesOf(_ context.Context, pod client.Object) []reconcile.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	var wake []reconcile.Request
	for name, r := range c.runs {
		_ = contained(c.Log, "look at a new pod", func() error { // of an informer's goroutine
			if name.Namespace == pod.GetNamespace() && movesSizes(r.latest.Load()) {
				wake = append(wake, reconcile.Request{NamespacedName: name})
			}
			return nil
		})
	}
	return wake
}

func movesSizes(l *v1alpha1.LoadLine) bool {
	if l.Spec.Mode != v1alpha1.Act {
		return false
	}
	for i := range l.Spec.Services {
		for _, a := range l.Spec.Services[i].Axes {
			if a != v1alpha1.Horizontal {
				return true
			}
		}
	}
	return false
}
