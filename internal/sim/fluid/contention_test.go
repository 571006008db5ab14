package fluid

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
	"github.com/loadline/loadline/internal/sim/pool"
)

// rivals are two services without limits on one node, each with its weight, its load as a share
// of the node, and its replicas.
type rivals struct {
	cores    float64
	weight   [2]float64
	load     [2]float64
	replicas [2]int
}

func (r rivals) String() string {
	return fmt.Sprintf("%g cores, weights %v, loads %v, replicas %v", r.cores, r.weight, r.load, r.replicas)
}

func (r rivals) app() (*loadline.App, constant) {
	app := &loadline.App{Nodes: []loadline.Node{{Name: "n", Cores: r.cores, Memory: 1 << 40}}}
	var load constant
	for i, cpu := range []loadline.Dist{lognormalCPU(5, .5), lognormalCPU(10, .8)} {
		s := server(fmt.Sprint("s", i), cpu, 0, 1000, 1000, r.replicas[i])
		s.Size = loadline.Size{CPURequest: r.weight[i] / float64(r.replicas[i])}
		app.Services = append(app.Services, s)
		app.Kinds = append(app.Kinds, loadline.Kind{Name: fmt.Sprint("k", i), Share: 1, Root: tree(i)})
		load = append(load, r.load[i]*r.cores/cpu.Mean.Seconds())
	}
	return app, load
}

// On a node that is full now and then, both engines delay visits alike, by weights.
func TestTheEnginesAgreeOnContentionByChance(t *testing.T) {
	var off []float64
	for _, r := range []rivals{
		{1, [2]float64{.1, .1}, [2]float64{.3, .3}, [2]int{1, 1}},
		{1, [2]float64{.1, .1}, [2]float64{.4, .4}, [2]int{1, 1}},
		{1, [2]float64{.5, .05}, [2]float64{.4, .4}, [2]int{1, 1}},
		{1, [2]float64{.05, .5}, [2]float64{.2, .6}, [2]int{1, 1}},
		{1, [2]float64{.02, .9}, [2]float64{.1, .7}, [2]int{1, 1}},
		{4, [2]float64{.1, .1}, [2]float64{.4, .4}, [2]int{1, 1}},
		{4, [2]float64{.1, 3}, [2]float64{.1, .7}, [2]int{1, 8}},
		{4, [2]float64{.05, 3}, [2]float64{.1, .8}, [2]int{1, 16}},
		{4, [2]float64{1, 1}, [2]float64{.4, .45}, [2]int{4, 4}},
		{4, [2]float64{2, .2}, [2]float64{.4, .45}, [2]int{4, 4}},
		{8, [2]float64{.05, 6}, [2]float64{.05, .75}, [2]int{1, 32}},
		{8, [2]float64{.05, 6}, [2]float64{.05, .85}, [2]int{1, 32}},
		{8, [2]float64{2, 2}, [2]float64{.05, .85}, [2]int{1, 32}},
	} {
		app, load := r.app()
		cfg := sim.Config{App: app, Load: load, Seed: 3, WarmUp: 20 * time.Second}
		truth, fluid := event.New(cfg), New(cfg, 5*time.Second)
		for _, e := range []sim.Engine{truth, fluid} {
			e.AdvanceTo(3 * time.Minute)
			e.Finish()
		}
		for i := range 2 {
			a, b := truth.Meter().Kinds[i].Latency, fluid.Meter().Kinds[i].Latency
			t.Logf("%v, service %d: mean %.1f ms (event %.1f, %+.0f %%), p99 %.1f ms (event %.1f, %+.0f %%)", r, i, b.Mean()/1e6, a.Mean()/1e6,
				100*(b.Mean()/a.Mean()-1), b.Quantile(.99)/1e6, a.Quantile(.99)/1e6, 100*(b.Quantile(.99)/a.Quantile(.99)-1))
			off = append(off, math.Abs(b.Quantile(.99)/a.Quantile(.99)-1))
		}
	}
	slices.Sort(off)
	median, worst := off[len(off)/2], off[len(off)-1]
	t.Logf("p99: median error %.0f %%, largest %.0f %%", 100*median, 100*worst)
	if median > .2 || worst > .55 {
		t.Errorf("p99 off by %.0f %% in the median, must be 20, and by %.0f %% at most, must be 55", 100*median, 100*worst)
	}
}

// A start-up that uses CPU is an amount of work in both engines: it lasts longer under a limit
// and beside others on a full node, and it is counted as used.
func TestStartUpsUseCPU(t *testing.T) {
	for _, c := range []struct {
		name   string
		limit  float64
		others float64 // cores that another service would use
		after  time.Duration
	}{
		{"alone", 0, 0, 10 * time.Second},
		{"under a limit of half its cores", 1, 0, 20 * time.Second},
		{"beside one that uses the whole node", 0, 3, 20 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			slow := server("slow", lognormalCPU(5, .5), 0, 100, 100, 1)
			slow.StartupCPU, slow.Size = 2, loadline.Size{CPURequest: .5, CPULimit: c.limit}
			busy := server("busy", lognormalCPU(10, .5), 0, 1000, 1000, 1)
			busy.Size = loadline.Size{CPURequest: .5}
			app := &loadline.App{
				Services: []loadline.Service{slow, busy}, Nodes: []loadline.Node{{Name: "n", Cores: 2, Memory: 1 << 40}},
				Kinds: []loadline.Kind{{Name: "a", Share: 1, Root: tree(0)}, {Name: "b", Share: 1, Root: tree(1)}},
			}
			cfg := sim.Config{App: app, Load: constant{0.01, c.others * 100}, Seed: 2}
			for name, e := range map[string]sim.Engine{"event": event.New(cfg), "fluid": New(cfg, time.Second)} {
				e.AdvanceTo(time.Minute)
				var before, after sim.Reading
				e.Read(&before)
				e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(2)}))
				at := time.Minute
				for ; at < 2*time.Minute && e.ControlPlane().Ready(0) < 2; at += 100 * time.Millisecond {
					e.AdvanceTo(at)
				}
				near(t, name+": seconds until ready", (at - time.Minute).Seconds(), c.after.Seconds(), .12)
				e.Read(&after)
				used := after.Services[0].Of[loadline.ServiceCPU] - before.Services[0].Of[loadline.ServiceCPU]
				near(t, name+": CPU seconds of the start-up", used, 20, .05)
			}
		})
	}
}

// Neighbours count in the CPU of a node, as far as they get it.
func TestNeighboursCountInTheNodesCPU(t *testing.T) {
	app, load := rivals{4, [2]float64{.1, .1}, [2]float64{.1, .1}, [2]int{1, 1}}.app()
	cfg := sim.Config{App: app, Load: load, Seed: 4}
	cfg.Cluster.Neighbours = pool.Neighbours{Use: .5, Request: .5, Vary: -1}
	for name, e := range map[string]sim.Engine{"event": event.New(cfg), "fluid": New(cfg, 5*time.Second)} {
		e.AdvanceTo(2 * time.Minute)
		var r sim.Reading
		e.Read(&r)
		near(t, name+": cores in use on the node", r.Nodes[0].CPUSeconds/120, 4*.7, .04)
	}
}
