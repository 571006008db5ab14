package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
	"github.com/loadline/loadline/internal/sim/fluid"
	"github.com/loadline/loadline/internal/simulate"
)

// PlayerOptions configure a player.
type PlayerOptions struct {
	App       *loadline.App // its services are the Deployments or StatefulSets of the same names
	Namespace string

	// Noise makes arrivals Poisson counts drawn from the seed instead of their means, so that
	// metrics vary as in reality.
	Noise bool
	Seed  uint64

	// Requests is a load of which every request is played on its own, in the event engine, from
	// the moment at which the player starts. It cannot be changed then. Nil = the load is what
	// SetRate, SetKind and Follow set, and the fluid engine plays it.
	Requests sim.Arrivals

	// Disturbances by the player's time, such as a release that takes more CPU.
	Disturbances []sim.Disturbance
}

// Player simulates an application's real pods under load in wall time: the ready pods and their
// sizes, by the API server, serve a load that the test sets; the metrics of such pods are
// exported, to Prometheus by Jobs and to metrics-server by the nodes' kubelets.
//
// It uses the fluid engine, because its load may change at any time, and because without noise
// the same pods and the same load give the same figures; or the event engine, for a load that is
// known in advance. The engine's pods are paired with the real ones one by one. It does nothing that
// real pods do not do: a service's Hold is ignored (there is no activator), and start-up is the
// cluster's.
type Player struct {
	app       *loadline.App // as it is played: no pods of its own
	namespace string
	admin     client.Client
	cache     cache.Cache
	address   string // of the metrics
	server    *http.Server
	cancel    context.CancelFunc
	done      sync.WaitGroup

	mu       sync.Mutex
	began    time.Time
	now      time.Duration // simulated up to this instant
	engine   engine
	load     load
	recorder *simulate.Exposition
	reading  sim.Reading
	services []servicePlayed
	optional []bool                   // by service
	pods     map[types.UID]*podPlayed // all that ever were
	faults   map[string]Fault
	frozen   map[string][]byte
	hidden   map[string]bool // pods whose containers are not measured
	reserved reserved
}

// engine is what the player needs of one.
type engine interface {
	sim.Engine
	PodResized(slot int)
}

// tick is how often the player reads the pods. Metrics are computed for the instant of the
// scrape, so that nothing else depends on it.
const tick = 100 * time.Millisecond

// Play starts a player for one test.
func (c *Cluster) Play(t testing.TB, o PlayerOptions) *Player {
	t.Helper()
	p, err := c.newPlayer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop(); c.kubelets.leave(p) })
	return p
}

func (c *Cluster) newPlayer(ctx context.Context, o PlayerOptions) (*Player, error) {
	app := *o.App
	app.Services = slices.Clone(app.Services)
	for i := range app.Services {
		s := &app.Services[i]
		s.Replicas, s.Size, s.Startup, s.Hold = 0, loadline.Size{}, loadline.Dist{}, 0
	}
	app.Nodes = nil
	for _, n := range c.options.Nodes {
		app.Nodes = append(app.Nodes, loadline.Node{Name: n.Name, Cores: float64(n.Cores), Memory: n.Memory})
	}
	p := &Player{
		app: &app, namespace: o.Namespace, admin: c.client,
		recorder: simulate.NewExposition(&app, o.Namespace),
		services: make([]servicePlayed, len(app.Services)), optional: app.Optional(),
		pods: map[types.UID]*podPlayed{}, faults: map[string]Fault{}, frozen: map[string][]byte{},
	}
	p.load.rates = make([]float64, len(app.Kinds))
	p.began = time.Now()
	p.engine = p.newEngine(o)
	var err error
	p.cache, err = cache.New(c.Config(Admin), cache.Options{
		Scheme: c.client.Scheme(), DefaultNamespaces: map[string]cache.Config{o.Namespace: {}},
	})
	if err != nil {
		return nil, err
	}
	return p, p.start(ctx, c)
}

func (p *Player) newEngine(o PlayerOptions) engine {
	if o.Requests != nil {
		return event.New(sim.Config{App: p.app, Load: o.Requests, Seed: o.Seed, Disturbances: o.Disturbances})
	}
	e := fluid.New(sim.Config{App: p.app, Load: &p.load, Seed: o.Seed, Disturbances: o.Disturbances}, time.Second)
	if o.Noise {
		e.AddNoise()
	}
	return e
}

// start follows the cluster and serves metrics until stop.
func (p *Player) start(ctx context.Context, c *Cluster) error {
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, kind := range []client.Object{&corev1.Pod{}, &appsv1.ReplicaSet{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}} {
		if _, err := p.cache.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.address = listener.Addr().String()
	p.server = &http.Server{Handler: p.handler()}
	p.done.Go(func() { _ = p.server.Serve(listener) }) // until it is closed
	p.done.Go(func() { _ = p.cache.Start(ctx) })       // it retries whatever fails
	if !p.cache.WaitForCacheSync(ctx) {
		return fmt.Errorf("play %s: its pods cannot be watched", p.namespace)
	}
	p.follow(ctx)
	p.done.Go(func() {
		for ticks := time.NewTicker(tick); ; {
			select {
			case <-ctx.Done():
				ticks.Stop()
				return
			case <-ticks.C:
				p.follow(ctx)
			}
		}
	})
	c.kubelets.join(p)
	return nil
}

func (p *Player) stop() {
	p.cancel()
	_ = p.server.Close()
	p.done.Wait()
}

// follow advances the engine to now, updates its pods to the cluster's, and reports crashed
// pods to the cluster.
func (p *Player) follow(ctx context.Context) {
	seen, err := p.look(ctx)
	if err != nil {
		return // the cache is stopping
	}
	p.mu.Lock()
	p.advance()
	p.reserve()
	crashed := p.crashed()
	p.pair(seen)
	p.mu.Unlock()
	for _, c := range crashed {
		p.report(ctx, c)
	}
}

// advance simulates until now. The lock is held.
func (p *Player) advance() {
	p.now = time.Since(p.began)
	p.engine.AdvanceTo(p.now)
}

// load is the load set by the test.
type load struct {
	rates  []float64    // by kind
	follow sim.Arrivals // instead of rates, if there is one
	from   time.Duration
}

// Rate fits sim.Arrivals.
func (l *load) Rate(kind int, t time.Duration) (float64, time.Duration) {
	if l.follow == nil {
		return l.rates[kind], sim.Never
	}
	rate, until := l.follow.Rate(kind, t-l.from)
	if until == sim.Never {
		return rate, until
	}
	return rate, until + l.from
}

// SetRate sets the total requests per second from now on, divided among kinds by their shares.
func (p *Player) SetRate(perSecond float64) {
	all := 0.0
	for i := range p.app.Kinds {
		all += p.app.Kinds[i].Share
	}
	rates := make([]float64, len(p.app.Kinds))
	for i := range rates {
		rates[i] = perSecond * p.app.Kinds[i].Share / all
	}
	p.change(func() { p.load.rates, p.load.follow = rates, nil })
}

// SetKind sets the rate of one kind of request and leaves the others.
func (p *Player) SetKind(t testing.TB, kind string, perSecond float64) {
	t.Helper()
	k := p.app.KindIndex(kind)
	if k < 0 {
		t.Fatalf("%s has no kind of request %q", p.app.Name, kind)
	}
	p.change(func() { p.load.rates[k], p.load.follow = perSecond, nil })
}

// Follow sets a load that begins now, for example a workload of internal/workload.
func (p *Player) Follow(a sim.Arrivals) {
	p.change(func() { p.load.follow, p.load.from = a, time.Since(p.began) })
}

// Began is the instant of the player's time 0, from which Requests count.
func (p *Player) Began() time.Time { return p.began }

// change sets the load; the previous one applies up to now.
func (p *Player) change(set func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance()
	set()
}

// Look gives access to the measurements so far: requests, latencies, SLO, cost. The meter is
// valid during the call only.
func (p *Player) Look(f func(m *sim.Meter)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance()
	p.engine.ControlPlane().Settle(p.now)
	f(p.engine.Meter())
}

// CPUSeconds is the CPU time of a pod's containers so far; false if the pod is unknown.
func (p *Player) CPUSeconds(pod string) (float64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read()
	for _, played := range p.pods {
		if played.name == pod {
			return played.cpu, true
		}
	}
	return 0, false
}
