package validate

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
)

// unlimited workers: a thread or a process for every request.
const unlimited = math.MaxInt32

// constant is a load of constant rates until it ends, per kind.
type constant struct {
	rates []float64
	ends  time.Duration // sim.Never = no end
}

func (c constant) Rate(kind int, t time.Duration) (float64, time.Duration) {
	if t < c.ends {
		return c.rates[kind], c.ends
	}
	return 0, sim.Never
}

// simulate runs the event engine once.
func simulate(cfg sim.Config, duration time.Duration) *sim.Meter {
	e := event.New(cfg)
	e.AdvanceTo(duration)
	e.Finish()
	return e.Meter()
}

// server is a service of the measurements: ready from the start, without scaling.
func server(name string, cpu loadline.Dist, wait time.Duration, replicas int, size loadline.Size) loadline.Service {
	return loadline.Service{
		Name: name, CPU: cpu, Wait: loadline.Dist{Mean: wait},
		Workers: unlimited, Backlog: unlimited, Replicas: replicas, Size: size,
		Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: max(replicas, 1), MaxCPU: math.Inf(1)},
	}
}

// visit is one call of a service, then its stages.
func visit(service int, stages ...[]loadline.Call) loadline.Call {
	return loadline.Call{Service: service, Probability: 1, Times: 1, Work: 1, Stages: stages}
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// each calls f for 0..n-1 on all cores. Results are stored by index, so their order does not
// depend on the number of cores.
func each(ctx context.Context, n int, f func(i int)) error {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		group.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	group.Wait()
	return ctx.Err()
}
