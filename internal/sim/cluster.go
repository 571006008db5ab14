package sim

import (
	"context"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// Cluster puts a simulated cluster behind the interface that the loop uses for a real one: it
// is observed through metrics and accepts plans. It is also the clock: waiting advances the
// simulation.
type Cluster struct {
	engine    Engine
	app       *loadline.App
	seed      uint64
	observers []*observer // metrics systems, each with its own settings; the first is that of the whole
	now       time.Duration
	onScrape  func(*Reading)
	blind     bool // nothing is scraped
}

// NewCluster puts a metrics system in front of an engine. The seed is that of
// the run: lost scrapes and noise are drawn from it.
func NewCluster(app *loadline.App, engine Engine, metrics Metrics, seed uint64) *Cluster {
	return &Cluster{engine: engine, app: app, seed: seed, observers: []*observer{newObserver(app, metrics.withDefaults(), seed)}}
}

// OnScrape registers f to be called with every reading as exported, before loss, lag and noise.
// The reading is valid during the call only. Nothing else may read the engine: the fluid
// engine's quantiles cover the time since the last read.
func (c *Cluster) OnScrape(f func(*Reading)) { c.onScrape = f }

// StopMetrics stops or starts every metrics system. While they are stopped, nothing is scraped, and
// what was scraped before becomes stale.
func (c *Cluster) StopMetrics(stopped bool) { c.blind = stopped }

// Now is the simulated instant.
func (c *Cluster) Now() time.Time { return Time(c.now) }

// WaitUntil simulates until t and scrapes the metrics on the way.
func (c *Cluster) WaitUntil(ctx context.Context, t time.Time) error {
	until := Since(t)
	for at := c.nextScrape(); at <= until; at = c.nextScrape() {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.engine.AdvanceTo(at)
		c.now = at
		c.scrape()
	}
	if until > c.now {
		c.engine.AdvanceTo(until)
		c.now = until
	}
	return ctx.Err()
}

// nextScrape is when the next metrics system scrapes.
func (c *Cluster) nextScrape() time.Duration {
	next := c.observers[0].scrapeAt
	for _, o := range c.observers[1:] {
		next = min(next, o.scrapeAt)
	}
	return next
}

// scrape for the metrics systems that do so now. The engine is read once, since the quantiles of the
// fluid engine cover the time since the last read.
func (c *Cluster) scrape() {
	var read *Reading
	for _, o := range c.observers {
		if o.scrapeAt > c.now {
			continue
		}
		if r := o.next(); read == nil {
			read = r
			c.engine.Read(read)
			if c.onScrape != nil {
				c.onScrape(read)
			}
		} else {
			r.copyFrom(read)
		}
		if !c.blind {
			o.store()
		}
		o.scrapeAt += o.metrics.Scrape
	}
}

// Observe fills into with what the metrics system returns now, reusing its slices. The caller
// may keep it: nothing in it is shared.
func (c *Cluster) Observe(ctx context.Context, into *loadline.Observation) error {
	// The first scrape is due at the first instant, before any wait.
	if err := c.WaitUntil(ctx, c.Now()); err != nil {
		return err
	}
	whole := loadline.TenantRange{Tenant: loadline.Tenant{Services: len(c.app.Services), Kinds: len(c.app.Kinds)}}
	c.observers[0].observe(c.now, c.engine.ControlPlane(), whole, into)
	return nil
}

// Apply hands a plan to the control plane.
func (c *Cluster) Apply(ctx context.Context, plan loadline.Plan) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.engine.Apply(plan)
	return nil
}

// HoldReserve keeps room free on nodes, in pods of the given size. It is the cluster's, and part of no
// application's pass.
func (c *Cluster) HoldReserve(room, pod loadline.Room) {
	c.engine.Apply(loadline.Plan{Reserve: loadline.Some(room), ReservePod: pod})
}

// Allocation appends the desired allocation of each service.
func (c *Cluster) Allocation(into []loadline.Allocation) []loadline.Allocation {
	return append(into, c.engine.ControlPlane().Allocation()...)
}

// Tenant is one of the applications of a cluster, behind the same interface. Only its own services
// and kinds are observed and changed through it, by their indices in the application alone. Nodes
// are those of all.
type Tenant struct {
	*Cluster
	of       loadline.TenantRange
	observer *observer
	services []loadline.ServicePlan // of the plan in hand
}

// Tenant puts a metrics system in front of one application. Those with the same settings share one.
func (c *Cluster) Tenant(of loadline.TenantRange, metrics Metrics) *Tenant {
	metrics = metrics.withDefaults()
	i := slices.IndexFunc(c.observers, func(o *observer) bool { return o.metrics == metrics })
	if i < 0 {
		i = len(c.observers)
		c.observers = append(c.observers, newObserver(c.app, metrics, c.seed))
	}
	return &Tenant{Cluster: c, of: of, observer: c.observers[i]}
}

// Observe fills into with what the metrics system has of the application.
func (t *Tenant) Observe(ctx context.Context, into *loadline.Observation) error {
	if err := t.WaitUntil(ctx, t.Now()); err != nil {
		return err
	}
	t.observer.observe(t.now, t.engine.ControlPlane(), t.of, into)
	return nil
}

// Apply hands a plan for the application's own services to the control plane.
func (t *Tenant) Apply(ctx context.Context, plan loadline.Plan) error {
	t.services = append(t.services[:0], plan.Services...)
	for i := range t.services {
		t.services[i].Service += t.of.FirstService
	}
	plan.Services = t.services
	if err := ctx.Err(); err != nil {
		return err
	}
	t.engine.Apply(plan)
	return nil
}

// Allocation appends the desired allocation of each of the application's services.
func (t *Tenant) Allocation(into []loadline.Allocation) []loadline.Allocation {
	all := t.engine.ControlPlane().Allocation()
	return append(into, all[t.of.FirstService:t.of.FirstService+t.of.Services]...)
}
