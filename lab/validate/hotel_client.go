package validate

import (
	"math"
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// With few connections the client is part of the system. Each sends on a schedule and has one
// request in flight; where the services are too slow it falls behind, and wrk2 counts a request
// from when it was due. After t seconds a connection that completes the share x of its requests
// is t*(1-x) behind, which is the latency of what it completes then.

// clientMean is the mean latency in ms of a client that misses a share of its requests: the
// mean lag over the counted seconds. Nothing is fitted.
func clientMean(missing float64) float64 {
	return 1000 * missing * (hotelCalibration + hotelSeconds) / 2
}

// clientP99Equal is the p99 if all connections fall behind equally.
func clientP99Equal(missing float64) float64 {
	return 1000 * missing * (hotelCalibration + 0.99*(hotelSeconds-hotelCalibration))
}

// clientP99Spread is the p99 if connections fall behind unequally, with exponential lags:
// kube-proxy binds a connection to one pod of the frontend, so that a few share a busy pod. The
// standard deviation of the data (about its mean) indicates such a spread.
func clientP99Spread(missing float64) float64 { return 1000 * missing * spreadP99() }

// spreadP99 solves P(lag > q) = 1 % by bisection, for the whole offered load
// missing.
var spreadP99 = sync.OnceValue(func() float64 {
	lo, hi := 0.0, 1000.0
	for range 60 {
		q := (lo + hi) / 2
		over, n := 0.0, 0.0
		for t := hotelCalibration; t <= hotelSeconds; t += 0.1 {
			over += math.Exp(-q / t)
			n++
		}
		if over/n > 0.01 {
			lo = q
		} else {
			hi = q
		}
	}
	return lo
})

// simulateClient runs the event engine: 32 connections as the workers of a client whose backlog
// is the schedule, in front of services with the given throughput. It shows that the engine
// models the client correctly.
func simulateClient(completed float64, seed uint64) (meanMs, p99Ms, throughput float64) {
	client := server("client", loadline.Dist{}, 0, 1, loadline.Size{})
	client.Workers = hotelConnections
	size := loadline.Size{CPURequest: 1, CPULimit: 1}
	services := server("services", loadline.Dist{Mean: time.Duration(1e9 / completed), CV: 1}, 0, 1, size)
	services.Workers = 1 // the one bottleneck, one core
	app := &loadline.App{
		Name: "hotel", Services: []loadline.Service{client, services},
		Kinds: []loadline.Kind{{Name: "request", Share: 1, Root: visit(0, []loadline.Call{visit(1)})}},
	}
	m := simulate(sim.Config{
		App: app, Seed: seed, CPU: sim.Shared, WarmUp: time.Duration(hotelCalibration * 1e9),
		Load: constant{rates: []float64{hotelOffered}, ends: sim.Never},
	}, time.Duration(hotelSeconds*1e9))
	k := &m.Kinds[0]
	return k.Latency.Mean() / 1e6, k.Latency.Quantile(0.99) / 1e6, k.Completed / hotelSeconds
}
