package sim

import (
	"context"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

// doubled shows the readings of a fakeEngine for each of two tenants, and counts how often it is read.
type doubled struct {
	*fakeEngine
	one   Reading
	reads int
}

func (d *doubled) Read(r *Reading) {
	d.reads++
	d.fakeEngine.Read(&d.one)
	r.Resize(2, 2, 1)
	r.At, r.Nodes[0] = d.one.At, d.one.Nodes[0]
	for i := range r.Services {
		r.Services[i], r.Kinds[i] = d.one.Services[0], d.one.Kinds[0]
		r.Services[i].Pods = nil
	}
}

func twoTenantsApp() *loadline.App {
	app := testApp()
	app.Services, app.Kinds = append(app.Services, app.Services[0]), append(app.Kinds, app.Kinds[0])
	app.Services[1].Replicas = 3
	app.Tenants = []loadline.Tenant{{Name: "a", Services: 1, Kinds: 1}, {Name: "b", Services: 1, Kinds: 1}}
	return app
}

// What is lost of one application is missing for it alone.
func TestMissingMetricsOfATenantStayItsOwn(t *testing.T) {
	app := twoTenantsApp()
	metrics := Metrics{Scrape: 5 * time.Second, Window: 15 * time.Second}
	c := NewCluster(app, &doubled{fakeEngine: newFakeEngine(app)}, metrics, 1)
	of := app.TenantRanges()
	a, b := c.Tenant(of[0], metrics), c.Tenant(of[1], metrics)
	observeAt(t, c, time.Minute)
	for i := range c.observers[0].ring {
		s := &c.observers[0].ring[i]
		s.services[1].lost, s.kinds[1].lost = true, true
	}
	var own, other loadline.Observation
	for tenant, into := range map[*Tenant]*loadline.Observation{a: &own, b: &other} {
		if err := tenant.Observe(context.Background(), into); err != nil {
			t.Fatal(err)
		}
		if len(into.Services) != 1 || len(into.Kinds) != 1 || len(into.Nodes) != 1 {
			t.Fatalf("%d services, %d kinds, %d nodes", len(into.Services), len(into.Kinds), len(into.Nodes))
		}
	}
	near(t, "rate", own.Services[0].Rate, 10)
	near(t, "rate of requests", own.Kinds[0].Rate, 10)
	if other.Services[0].Rate.Present() || other.Kinds[0].Rate.Present() {
		t.Error("what was lost is there")
	}
	if len(own.Services[0].Pods) != 2 || len(other.Services[0].Pods) != 3 {
		t.Errorf("%d and %d pods, want 2 and 3", len(own.Services[0].Pods), len(other.Services[0].Pods))
	}
}

// A tenant's plans change its own services.
func TestPlansOfATenant(t *testing.T) {
	app := twoTenantsApp()
	c := NewCluster(app, &doubled{fakeEngine: newFakeEngine(app)}, Metrics{}, 1)
	b := c.Tenant(app.TenantRanges()[1], Metrics{})
	plan := loadline.Plan{Services: []loadline.ServicePlan{{Service: 0, Setting: loadline.Setting{Replicas: loadline.Some(7)}}}}
	if err := b.Apply(context.Background(), plan); err != nil {
		t.Fatal(err)
	}
	if all := c.Allocation(nil); all[0].Replicas != 2 || all[1].Replicas != 7 || plan.Services[0].Service != 0 {
		t.Errorf("replicas %d and %d, want 2 and 7", all[0].Replicas, all[1].Replicas)
	}
	if own := b.Allocation(nil); len(own) != 1 || own[0].Replicas != 7 {
		t.Errorf("allocation %+v", own)
	}
}

// Metrics systems with other settings scrape at their own intervals; the engine is read once at each
// instant, and what it shows is the same for all.
func TestTenantsWithTheirOwnMetrics(t *testing.T) {
	app := twoTenantsApp()
	engine := &doubled{fakeEngine: newFakeEngine(app)}
	c := NewCluster(app, engine, Metrics{Scrape: 5 * time.Second}, 1)
	slow := c.Tenant(app.TenantRanges()[1], Metrics{Scrape: 15 * time.Second, Window: 30 * time.Second, Lag: 15 * time.Second})
	observeAt(t, c, time.Minute)
	if engine.reads != 13 {
		t.Errorf("%d reads within a minute, want 13: every 5 s", engine.reads)
	}
	var o loadline.Observation
	if err := slow.Observe(context.Background(), &o); err != nil {
		t.Fatal(err)
	}
	near(t, "rate", o.Services[0].Rate, 10)
	near(t, "latency", o.Kinds[0].Latency.P50, 0.05)
	if at := Since(o.Services[0].Rate.At); at != 45*time.Second {
		t.Errorf("its newest sample is of %v, want 45 s", at)
	}
}

// Placeholder pods of another size replace those that are there.
func TestReservePodsOfAGivenSize(t *testing.T) {
	app := testApp()
	e := newFakeEngine(app)
	set := func(cores, pod float64, want int, each float64) {
		t.Helper()
		e.cp.Apply(loadline.Plan{Reserve: loadline.Some(loadline.Room{Cores: cores}), ReservePod: loadline.Room{Cores: pod}}, e.now)
		got, size := e.cp.ReservePods()
		if got != want || size != (pool.Amount{Cores: each}) {
			t.Errorf("%d pods of %+v, want %d of %v", got, size, want, each)
		}
		on := 1.0 // two pods of the application
		for range got {
			on += each
		}
		if n := e.cp.Nodes()[0].Requested.Cores; n != on {
			t.Errorf("%v cores are requested, want %v", n, on)
		}
	}
	set(1.5, 0, 3, 0.5)
	set(2, 1, 2, 1)
	set(4, 1, 4, 1)
	set(0, 1, 0, 1)
}
