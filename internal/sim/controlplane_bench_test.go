package sim

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

// BenchmarkControlPlane: one op is a minute with 240 pods on some 60 nodes, neighbours whose
// use changes, and a change of scale every 15 s.
func BenchmarkControlPlane(b *testing.B) {
	var services []loadline.Service
	for range 12 {
		services = append(services, svc(20, 0.8, 2<<30))
	}
	cfg := elastic(pool.Pool{Types: []pool.Type{plain(4, 1), plain(8, 2.1)}})
	cfg.Cluster.Neighbours = pool.Neighbours{Use: 0.3, Request: 0.2, Shape: pool.Shape{Step: time.Minute, Factor: []float64{0.5, 1.5}}}
	cfg.App, cfg.PodStart = sized(services...), nil
	k := &ledger{}
	cp := NewControlPlane(cfg.WithDefaults(), NewMeter(cfg.App, 0), k)
	k.cp = cp
	cp.Start()
	now, actions := time.Duration(0), 0
	minute := func(i int) {
		for quarter := range 4 {
			for cp.Next() <= now {
				cp.Run(cp.Next())
				actions++
			}
			for _, slot := range k.draining {
				cp.Drained(slot, now)
			}
			k.ready, k.draining, k.stopped, k.resized = k.ready[:0], k.draining[:0], k.stopped[:0], k.resized[:0]
			plan := replicas(18 + (i+quarter)%5)
			plan.Services[0].Service = (4*i + quarter) % len(services)
			cp.Apply(plan, now)
			now += 15 * time.Second
		}
	}
	for i := range 60 {
		minute(i)
	}
	actions = 0
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		minute(i)
	}
	b.ReportMetric(float64(actions)/float64(b.N), "actions/op")
}
