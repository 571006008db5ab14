package kube

import (
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

// Manager is Loadline's field manager in managedFields.
const Manager = "loadline"

// Errors of a service. They are wrapped, with the object's name.
var (
	ErrNotFound  = errors.New("not found")
	ErrNoScale   = errors.New("it has no scale subresource")
	ErrForbidden = errors.New("not allowed")
	ErrContainer = errors.New("it has no such container")
	ErrNotOurs   = errors.New("not scaled by Loadline")
	ErrPaused    = errors.New("paused")
	// ErrChanged means that the replicas were changed since the decision.
	ErrChanged = errors.New("it was changed in the meantime")
)

// Options are the options of a Workloads.
type Options struct {
	// Client reads from a cache if there is one, and writes. It reads these kinds:
	// Pod, ReplicaSet (metadata only), Deployment, StatefulSet,
	// HorizontalPodAutoscaler (autoscaling/v2), LoadLine; ScaledObject and
	// VerticalPodAutoscaler as unstructured.
	Client client.Client
	// Live reads from the API server directly: workloads of other kinds, and objects
	// of which the cache is out of date. nil = Client.
	Live client.Reader

	Namespace string
	Owner     types.NamespacedName // the LoadLine
	// Services in the order of the application. A nil entry is a known service that
	// Loadline does not scale: the Deployment of its name is read.
	Services []*v1alpha1.Service
	Names    []string // of the services
	Nodes    []string // of the application's nodes, for PodObservation.Node; may be empty

	// ScalerHosts are the hosts at which KEDA reaches Loadline, such as
	// "loadline-keda.loadline-system": a trigger whose scalerAddress is one of them,
	// or a name below it, is Loadline's.
	ScalerHosts []string

	Now func() time.Time // nil = time.Now
}

// Workloads connects one application to its cluster. One loop uses it: Scale and
// Resize may be called for several services concurrently, Look may not be called
// at the same time.
type Workloads struct {
	client      client.Client
	live        client.Reader
	namespace   string
	owner       types.NamespacedName
	targets     []target
	byWorkload  map[Ref]int // only those that Loadline scales
	nodes       map[string]int
	scalerHosts []string
	now         func() time.Time

	absent map[schema.GroupVersionKind]time.Time // kinds that the cluster does not have, and when that was checked

	mu      sync.Mutex
	seen    []sight // per service, of the last Look
	memory  []memory
	refused map[types.UID]refusal
}

// memory holds what was done to a service.
type memory struct {
	written string    // the workload's resourceVersion after our last write
	evicted time.Time // when we evicted a pod of it
}

// New returns the Workloads of an application. It reads nothing yet.
func New(o Options) *Workloads {
	w := &Workloads{
		client: o.Client, live: o.Live, namespace: o.Namespace, owner: o.Owner, scalerHosts: o.ScalerHosts, now: o.Now,
		byWorkload: map[Ref]int{}, nodes: map[string]int{}, absent: map[schema.GroupVersionKind]time.Time{},
		refused: map[types.UID]refusal{}, memory: make([]memory, len(o.Services)),
	}
	if w.live == nil {
		w.live = o.Client
	}
	if w.now == nil {
		w.now = time.Now
	}
	for i, s := range o.Services {
		t := newTarget(s, o.Names[i])
		w.targets = append(w.targets, t)
		if s != nil {
			w.byWorkload[t.key()] = i
		}
	}
	for i, name := range o.Nodes {
		w.nodes[name] = i
	}
	return w
}
