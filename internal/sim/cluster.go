package sim

import (
	"context"
	"time"

	"github.com/loadline/loadline"
)

// Cluster puts a simulated cluster behind the interface that the loop uses for a real one: it
// is observed through metrics and accepts plans. It is also the clock: waiting advances the
// simulation.
type Cluster struct {
	engine   Engine
	observer *observer
	now      time.Duration
	scrapeAt time.Duration
	onScrape func(*Reading)
}

// NewCluster puts a metrics system in front of an engine. The seed is that of
// the run: lost scrapes and noise are drawn from it.
func NewCluster(app *loadline.App, engine Engine, metrics Metrics, seed uint64) *Cluster {
	return &Cluster{engine: engine, observer: newObserver(app, metrics.withDefaults(), seed)}
}

// OnScrape registers f to be called with every reading as exported, before loss, lag and noise.
// The reading is valid during the call only. Nothing else may read the engine: the fluid
// engine's quantiles cover the time since the last read.
func (c *Cluster) OnScrape(f func(*Reading)) { c.onScrape = f }

// Now is the simulated instant.
func (c *Cluster) Now() time.Time { return Time(c.now) }

// WaitUntil simulates until t and scrapes the metrics on the way.
func (c *Cluster) WaitUntil(ctx context.Context, t time.Time) error {
	until := Since(t)
	for c.scrapeAt <= until {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.engine.AdvanceTo(c.scrapeAt)
		c.now = c.scrapeAt
		c.scrape()
		c.scrapeAt += c.observer.metrics.Scrape
	}
	if until > c.now {
		c.engine.AdvanceTo(until)
		c.now = until
	}
	return ctx.Err()
}

func (c *Cluster) scrape() {
	r := c.observer.next()
	c.engine.Read(r)
	if c.onScrape != nil {
		c.onScrape(r)
	}
	c.observer.store()
}

// Observe fills into with what the metrics system returns now, reusing its slices. The caller
// may keep it: nothing in it is shared.
func (c *Cluster) Observe(ctx context.Context, into *loadline.Observation) error {
	// The first scrape is due at the first instant, before any wait.
	if err := c.WaitUntil(ctx, c.Now()); err != nil {
		return err
	}
	c.observer.observe(c.now, c.engine.ControlPlane(), into)
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

// Allocation appends the desired allocation of each service.
func (c *Cluster) Allocation(into []loadline.Allocation) []loadline.Allocation {
	return append(into, c.engine.ControlPlane().Allocation()...)
}
