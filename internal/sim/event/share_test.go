package event

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
)

// onNodes puts an application on nodes of the given cores.
func onNodes(app *loadline.App, cores ...float64) *loadline.App {
	for i, c := range cores {
		app.Nodes = append(app.Nodes, loadline.Node{Name: fmt.Sprint("n", i), Cores: c, Memory: 64 << 30})
	}
	return app
}

func neighbours(use, request float64, burst time.Duration) pool.Cluster {
	return pool.Cluster{Neighbours: pool.Neighbours{Use: use, Request: request, Burst: burst, Vary: -1}}
}

// nodeCores is the mean number of cores that a node has used.
func nodeCores(e *Engine, node int) float64 {
	var r sim.Reading
	e.Read(&r)
	return r.Nodes[node].CPUSeconds / r.At.Seconds()
}

// On a node with room the number of bursts is Poisson, whatever their length.
func TestNeighboursUseTheirShareAtRandomTimes(t *testing.T) {
	app := onNodes(station(loadline.Dist{Mean: ms(1)}, 1, many, 0, 1), 16)
	e := New(sim.Config{App: app, Load: constant{1}, Seed: 3, Cluster: neighbours(0.2, 0.2, 0)})
	sum, squares, n := 0.0, 0.0, 0.0
	for at := time.Duration(0); at < 30*time.Minute; at += 50 * time.Millisecond {
		e.AdvanceTo(at)
		x := e.nodes[0].others.want
		sum, squares, n = sum+x, squares+x*x, n+1
	}
	mean := sum / n
	near(t, "bursts at work", mean, 3.2, 0.02)
	near(t, "their variance", squares/n-mean*mean, 3.2, 0.05)
	near(t, "cores of the node", nodeCores(e, 0), 3.2+0.001, 0.02)
}

// Steady neighbours leave a server the rest of the core, or its part by weight if that is more:
// an M/G/1 queue with processor sharing at that speed.
func TestAServerBesideSteadyNeighboursIsAQueueOfItsShare(t *testing.T) {
	for _, c := range []struct {
		name              string
		use, request, own float64
		speed             float64
	}{
		{"neighbours want little and weigh much", 0.3, 0.9, 0.1, 0.7},
		{"neighbours want much and weigh little", 0.9, 0.1, 0.8, 0.8 / 0.9},
		{"equal weights", 0.8, 0.5, 0.5, 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := onNodes(station(loadline.Dist{Mean: ms(5), CV: 1}, 0, many, 0, 1), 1)
			app.Services[0].Size.CPURequest = c.own
			e := run(sim.Config{App: app, Load: constant{60}, Seed: 5, Cluster: neighbours(c.use, c.request, -1)}, 20*time.Minute)
			// One request runs on one thread: at most one core, here always more than the share.
			want := 0.005 / c.speed / (1 - 60*0.005/c.speed)
			near(t, "mean latency", e.Meter().Kinds[0].Latency.Mean()/1e9, want, 0.05)
			near(t, "cores of the server", e.Meter().Services[0].CPUSeconds/1200, 0.3, 0.02)
		})
	}
}

// Work that has to wait is done later: both sides use what they want in the long run.
func TestBurstsThatWaitAreNotLost(t *testing.T) {
	app := onNodes(station(loadline.Dist{Mean: ms(5), CV: 1}, 0, many, 0, 1), 1)
	app.Services[0].Size.CPURequest = 0.3
	e := run(sim.Config{App: app, Load: constant{40}, Seed: 5, Cluster: neighbours(0.6, 0.6, ms(10))}, 20*time.Minute)
	near(t, "cores of the server", e.Meter().Services[0].CPUSeconds/1200, 0.2, 0.02)
	near(t, "cores of the node", nodeCores(e, 0), 0.8, 0.02)
}

// Neighbours that want more than the node has take what the server's weight leaves, and their
// backlog is bounded.
func TestTooManyBurstsAreRefused(t *testing.T) {
	app := onNodes(station(loadline.Dist{Mean: ms(5), CV: 1}, 0, many, 0, 1), 2)
	app.Services[0].Size.CPURequest = 0.5
	e := run(sim.Config{App: app, Load: constant{1000}, Seed: 5, Cluster: neighbours(1.5, 0.75, ms(10))}, 5*time.Minute)
	near(t, "cores of the node", nodeCores(e, 0), 2, 1e-3)
	near(t, "cores of the server", e.Meter().Services[0].CPUSeconds/300, 0.5, 0.02) // 0.5 of 0.5 + 1.5
	if n := e.nodes[0].others.bursts; n < 190 || n > 200 {                          // a second of two cores, 10 ms each
		t.Errorf("%d bursts at work, want nearly 200", n)
	}
}

func TestNeighboursFollowTheirNode(t *testing.T) {
	app := onNodes(station(loadline.Dist{Mean: ms(1)}, 1, many, 0, 1), 4, 4)
	e := New(sim.Config{App: app, Load: constant{1}, Seed: 3, Cluster: neighbours(0.5, 0.5, 0)})
	e.AdvanceTo(time.Minute)
	e.cp.Nodes()[1].Up = false
	e.NodeChanged(1)
	gone := nodeCores(e, 1) * 60
	e.AdvanceTo(2 * time.Minute)
	if got := nodeCores(e, 1) * 120; got != gone || gone < 60 {
		t.Errorf("a node that is gone used %v core-seconds, then %v", gone, got)
	}
	if e.queue.pos[nodeTimer][1] >= 0 {
		t.Error("a node that is gone keeps a timer")
	}
	e.cp.Nodes()[1].Up = true
	e.cp.Nodes()[1].Others.Want = 1
	e.NodeChanged(1)
	e.AdvanceTo(22 * time.Minute)
	near(t, "cores after its return", (nodeCores(e, 1)*22*60-gone)/1200, 1, 0.03)
}

// Start-up is work: half the CPU takes twice the time.
func TestStartUpTakesTheCPUThatItGets(t *testing.T) {
	for _, c := range []struct {
		name     string
		limit    float64
		use      float64 // of steady neighbours with half of the weight
		cores    float64
		wantTime time.Duration
	}{
		{"alone", 0, 0, 4, 10 * time.Second},
		{"a CPU limit of half", 1, 0, 4, 20 * time.Second},
		{"a node of half", 0, 0, 1, 20 * time.Second},
		{"a full node", 0, 1, 1, 40 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := onNodes(station(loadline.Dist{Mean: ms(1)}, 0, many, 0, 0), c.cores)
			s := &app.Services[0]
			s.StartupCPU, s.Size.CPURequest, s.Size.CPULimit = 2, 0.5*c.cores, c.limit
			e := New(sim.Config{App: app, Load: constant{0}, Cluster: neighbours(c.use, 0.5, -1)})
			e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(1)}))
			e.AdvanceTo(c.wantTime - time.Millisecond)
			if e.cp.Ready(0) != 0 {
				t.Fatalf("ready before %v", c.wantTime)
			}
			checkNodes(t, e)
			e.AdvanceTo(c.wantTime + time.Millisecond)
			if e.cp.Ready(0) != 1 {
				t.Fatalf("not ready after %v", c.wantTime)
			}
			e.AdvanceTo(time.Minute)
			e.Finish()
			near(t, "CPU of the start-up", e.Meter().Services[0].CPUSeconds, 20, 1e-6)
			if cost := e.Meter().Services[0].CoreSeconds; cost < 20 {
				t.Errorf("it cost %v core-seconds and used 20", cost)
			}
			checkNodes(t, e)
		})
	}
}

func TestAPodThatIsRemovedWhileItStartsLeavesItsNode(t *testing.T) {
	app := onNodes(station(loadline.Dist{Mean: ms(1)}, 0, many, 0, 1), 4)
	app.Services[0].StartupCPU = 2
	e := New(sim.Config{App: app, Load: constant{10}})
	e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(3)}))
	e.AdvanceTo(3 * time.Second)
	if e.nodes[0].base != 4 {
		t.Errorf("two starting pods want %v cores, want 4", e.nodes[0].base)
	}
	e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(1)}))
	e.AdvanceTo(20 * time.Second)
	if n := &e.nodes[0]; n.base != 0 || len(n.slots) != 1 || n.crowded {
		t.Errorf("after they were removed the node has %+v", n)
	}
}

// A start-up takes CPU from the pods that serve beside it, down to their weights.
func TestAStartUpSlowsItsNode(t *testing.T) {
	app := onNodes(station(loadline.Dist{Mean: ms(10)}, 0, many, 0, 1), 1)
	s := server("java", loadline.Dist{Mean: ms(1)}, 0, many, 0, 0)
	s.StartupCPU, s.Size.CPURequest = 1, 0.3
	app.Services = append(app.Services, s)
	app.Services[0].Size.CPURequest = 0.1
	p50 := func(start int) float64 {
		e := New(sim.Config{App: app, Load: constant{5}, Seed: 1})
		e.Apply(set(1, loadline.Setting{Replicas: loadline.Some(start)}))
		e.AdvanceTo(9 * time.Second)
		return e.Meter().Kinds[0].Latency.Quantile(0.5) / 1e6
	}
	near(t, "median without a start-up", p50(0), 10, 0.02)
	near(t, "median beside a start-up", p50(1), 40, 0.02) // 0.1 of 0.1 + 0.3
}

func TestIdleCPUTakesPartInSharing(t *testing.T) {
	app := onNodes(station(loadline.Dist{Mean: ms(10)}, 0, many, 0, 1), 1)
	idle := server("idle", loadline.Dist{Mean: ms(1)}, 0, many, 0, 1)
	idle.IdleCPU, idle.Size.CPURequest = 0.8, 0.5
	app.Services = append(app.Services, idle)
	app.Services[0].Size.CPURequest = 0.5
	e := run(sim.Config{App: app, Load: constant{60}, Seed: 1}, 10*time.Minute)
	// The server is busy nearly always and gets half; the idle CPU of the other gets the rest.
	near(t, "cores of the server", e.Meter().Services[0].CPUSeconds/600, 0.5, 0.01)
	near(t, "cores of the idle one", e.Meter().Services[1].CPUSeconds/600, 0.5, 0.01)
}

// kubeShare is the kubelet's tree of weights, solved by water-filling at each level.
func kubeShare(cores float64, pods []kubePod) []float64 {
	fill := func(cores float64, want, weight []float64) []float64 {
		got := make([]float64, len(want))
		settled := make([]bool, len(want))
		for range want {
			free, weights := cores, 0.0
			for i := range want {
				if settled[i] {
					free -= got[i]
				} else {
					weights += weight[i]
				}
			}
			for i := range want {
				if !settled[i] {
					got[i] = free * weight[i] / weights
				}
			}
			for i := range want {
				if !settled[i] && got[i] >= want[i] {
					got[i], settled[i] = want[i], true
				}
			}
		}
		return got
	}
	// Level one: each guaranteed pod, the burstable parent, the best-effort parent.
	var want, weight [3][]float64
	var member [3][]int
	for i, p := range pods {
		want[p.class] = append(want[p.class], p.want)
		weight[p.class] = append(weight[p.class], max(p.request, minWeight))
		member[p.class] = append(member[p.class], i)
	}
	sum := func(x []float64) (s float64) {
		for _, v := range x {
			s += v
		}
		return s
	}
	topWant := append(append([]float64(nil), want[0]...), sum(want[1]), sum(want[2]))
	topWeight := append(append([]float64(nil), weight[0]...), max(sum(weight[1]), minWeight), minWeight)
	top := fill(cores, topWant, topWeight)
	out := make([]float64, len(pods))
	for k, i := range member[0] {
		out[i] = top[k]
	}
	for class := 1; class < 3; class++ {
		for k, got := range fill(top[len(member[0])+class-1], want[class], weight[class]) {
			out[member[class][k]] = got
		}
	}
	return out
}

type kubePod struct {
	class         int // 0 guaranteed, 1 burstable, 2 best effort
	want, request float64
}

// flatShare is the engine's sharing of one node.
func flatShare(cores float64, pods []kubePod) []float64 {
	e := &Engine{nodes: []node{{cores: cores}}, replicas: make([]replica, len(pods)), services: make([]service, 1)}
	e.queue.grow(nodeTimer, 1)
	e.queue.grow(cpuTimer, len(pods))
	for i, p := range pods {
		r := &e.replicas[i]
		r.joined, r.request, r.limit = true, p.request, math.Inf(1)
		e.nodes[0].slots = append(e.nodes[0].slots, int32(i))
		for k := range int(p.want) {
			r.push(job{finish: 1e9, visit: int32(k)})
		}
		e.retime(int32(i))
	}
	out := make([]float64, len(pods))
	for i := range pods {
		out[i] = e.replicas[i].got
	}
	return out
}

// Flat weights are the kubelet's tree where node.go says so, and not where it says not.
func TestSharesAreTheKubeletsTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	differs := func(pods []kubePod) float64 {
		most := 0.0
		flat, tree := flatShare(4, pods), kubeShare(4, pods)
		for i := range pods {
			most = max(most, math.Abs(flat[i]-tree[i]))
		}
		return most
	}
	for range 300 {
		var burstable, mixed []kubePod
		for range 2 + rng.IntN(8) {
			p := kubePod{class: 1, want: float64(rng.IntN(5)), request: 0.05 + rng.Float64()/3}
			burstable = append(burstable, p)
			mixed = append(mixed, kubePod{class: rng.IntN(2), want: 4, request: p.request})
		}
		if d := differs(burstable); d > 1e-6 {
			t.Fatalf("burstable pods %+v: off by %v", burstable, d)
		}
		if d := differs(mixed); d > 1e-6 {
			t.Fatalf("guaranteed and burstable pods that all want more, %+v: off by %v", mixed, d)
		}
	}
	idle := []kubePod{{0, 4, 1}, {1, 4, 1}, {1, 0, 2}}
	if flat, tree := flatShare(4, idle), kubeShare(4, idle); math.Abs(flat[0]-2) > 1e-6 || math.Abs(tree[0]-1) > 1e-6 {
		t.Errorf("a guaranteed pod beside an idle burstable one gets %v, in the tree %v; want 2 and 1", flat[0], tree[0])
	}
	if d := differs([]kubePod{{1, 4, 0.002}, {2, 4, 0}, {2, 4, 0}}); d < 0.1 {
		t.Errorf("two best-effort pods are off by %v only; the comment of node claims more", d)
	}
}
