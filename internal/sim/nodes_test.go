package sim

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

func fixed(nodes int, p pool.Pool) Config {
	p.Nodes = nodes
	return Config{Cluster: pool.Cluster{Pools: []pool.Pool{p}}, PodStart: &PodStart{}}
}

func onNodes(cp *ControlPlane, service int) []int {
	count := make([]int, len(cp.Nodes()))
	for _, slot := range cp.Slots(service) {
		if n := cp.Pod(slot).Node; n >= 0 {
			count[n]++
		}
	}
	return count
}

// sized is an application of services with the given replicas and sizes, without nodes.
func sized(services ...loadline.Service) *loadline.App { return &loadline.App{Services: services} }

func svc(replicas int, cores float64, memory int64) loadline.Service {
	return loadline.Service{Replicas: replicas, Startup: loadline.Dist{Mean: 10 * time.Second},
		Size: loadline.Size{CPURequest: cores, MemoryRequest: memory}}
}

func equal(a []int, b ...int) bool {
	for i := range b {
		if len(a) != len(b) || a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestTheSchedulerScoresAsKubernetesDoes(t *testing.T) {
	for _, c := range []struct {
		name  string
		pool  pool.Pool
		first loadline.Service // one pod of 1 core and 4 GiB on node 0
		then  loadline.Service
		want  []int
	}{
		{"the emptier node is preferred", pool.Pool{}, svc(1, 1, 4<<30), svc(1, 1, 4<<30), []int{0, 1}},
		{"or the fuller one", pool.Pool{Placement: pool.MostAllocated}, svc(1, 1, 4<<30), svc(1, 1, 4<<30), []int{1, 0}},
		// Scores of 2 by resources and 2 by spreading, on nodes of 4 cores and 16 GiB. The second
		// pod: node 0 has (1-3/8)+1 and spreads to (ln4+2+2-ln4-2)/(ln4+2) = 0.59; node 1 more
		// of both.
		{"pods of a service spread", pool.Pool{Placement: pool.MostAllocated, Spread: true}, svc(0, 0, 0), svc(2, 1, 4<<30), []int{1, 1}},
		// Without the constraint the preference is weaker: 0.5+1+2*0.59 = 2.68 on the node that
		// has one, 0.25+1+2*1 = 3.25 on the other.
		{"also without a constraint of their own", pool.Pool{Placement: pool.MostAllocated}, svc(0, 0, 0), svc(2, 1, 4<<30), []int{1, 1}},
		// Memory is claimed by 7/8 on node 0 after the first pod. A pod of 2 cores and 1 GiB
		// balances it: (1-(0.5+0.9375)/2)+1-0.22 = 1.06 on node 0, 1.5 on node 1.
		// A pod of 2 cores beside one of 7 GiB: 0.53+1-0.03 = 1.5 on node 0, 0.75+1-0.25 = 1.5 on
		// node 1. Of equal scores the first is taken.
		{"balance counts as well", pool.Pool{}, svc(1, 0, 7<<30), svc(1, 2, 0), []int{1, 0}},
		{"room counts more than balance", pool.Pool{}, svc(1, 0, 14<<30), svc(1, 2, 1<<30), []int{0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.pool.Types = []pool.Type{plain(4, 1)}
			cp, _, _ := plane(t, sized(c.first, c.then), fixed(2, c.pool))
			if got := onNodes(cp, 1); !equal(got, c.want...) {
				t.Errorf("pods by node %v, want %v", got, c.want)
			}
		})
	}
}

func TestAFixedPoolHasRoomWithoutReservations(t *testing.T) {
	p := pool.Pool{Types: []pool.Type{{Cores: 4, Memory: 16 << 30, MaxPods: 6}}, Daemons: pool.Amount{Cores: 0.2}, DaemonPods: 2}
	cp, _, _ := plane(t, sized(svc(9, 0.1, 1)), fixed(2, p))
	// 6 % + 1 % + 2 * 0.5 % of a core are GKE's reservation, 2.6 GiB + 100 MiB its memory.
	n := cp.Nodes()[0]
	if !close64(n.Offered.Cores, 4-0.08-0.2) || n.Offered.Memory>>20 != 16384-2662-100+0 && n.Offered.Memory>>20 != 16384-2663-100 {
		t.Errorf("offered %v cores and %v MiB", n.Offered.Cores, n.Offered.Memory>>20)
	}
	if got := phases(cp); got[loadline.PodReady] != 8 || got[loadline.PodPending] != 1 {
		t.Errorf("with four places on each of two nodes: %v", got)
	}
	if w := n.Others.Want; w != 0.2 || n.Requested.Cores > 0.41 {
		t.Errorf("DaemonSets want %v cores; requested %v", w, n.Requested.Cores)
	}
}

func TestPodsStartMoreSlowlyWhenManyStartAtOnce(t *testing.T) {
	for _, c := range []struct {
		pods int
		want float64 // mean seconds, measured on three nodes
	}{{1, 1.58}, {10, 3.56}, {50, 11.2}, {100, 21.2}, {150, 31.3}} {
		s := svc(0, 0, 0)
		s.Startup = loadline.Dist{}
		cfg := fixed(3, pool.Pool{Types: []pool.Type{{Cores: 4, Memory: 16 << 30, MaxPods: 200}}})
		cfg.PodStart = nil
		cp, _, _ := plane(t, sized(s), cfg)
		cp.Apply(replicas(c.pods), 0)
		runUntil(cp, 5*time.Minute)
		sum := 0.0
		for _, slot := range cp.Slots(0) {
			sum += cp.Pod(slot).Ready.Seconds()
		}
		if mean := sum / float64(c.pods); mean < 0.75*c.want || mean > 1.25*c.want {
			t.Errorf("%d pods at once take %.1f s, measured %.1f s", c.pods, mean, c.want)
		}
	}
}

func TestANewNodePullsEachImageOnce(t *testing.T) {
	cfg := elastic(pool.Pool{Types: []pool.Type{plain(4, 1)}})
	cfg.PodStart = &PodStart{Alone: loadline.Dist{Mean: time.Second}, Each: 2 * time.Second, Pull: loadline.Dist{Mean: 8 * time.Second}}
	cp, _, _ := plane(t, sized(svc(4, 1, 1)), cfg)
	cp.Apply(replicas(7), 0)
	runUntil(cp, 2*time.Minute)
	// The node is there at 1+40 s, the image at 49 s. Turns are at 41, 43 and 45 s, containers
	// start at 50 s, and pods are ready 10 s later.
	for _, slot := range cp.Slots(0)[4:] {
		if at := cp.Pod(slot).Ready; at != 60*time.Second {
			t.Errorf("a pod on the new node is ready at %v, want 60 s", at)
		}
	}
	cp.Apply(replicas(8), 2*time.Minute)
	runUntil(cp, 3*time.Minute)
	if at := cp.Pod(cp.Slots(0)[7]).Ready; at != 131*time.Second {
		t.Errorf("a later pod is ready at %v, want 131 s: the image is there", at)
	}
}

func TestANodeShortOfMemoryEvictsWhatIsFarthestOverItsRequest(t *testing.T) {
	app := sized(svc(1, 0.1, 3<<30), svc(1, 0.1, 1<<30), svc(2, 0.1, 2<<30))
	cfg := fixed(1, pool.Pool{Types: []pool.Type{plain(4, 1)}, Daemons: pool.Amount{Memory: 1 << 30}})
	cfg.Cluster.Neighbours.Memory = 0.4 // of 15 GiB
	cp, k, m := plane(t, app, cfg)
	k.memory = map[int]float64{0: 3.2 * (1 << 30), 1: 2 * (1 << 30), 2: 1.9 * (1 << 30), 3: 1.9 * (1 << 30)}
	runUntil(cp, 10*time.Second) // 9.0 GiB of pods, 6 of neighbours, 1 of DaemonSets: within 16
	if m.Evictions != 0 {
		t.Fatalf("%v evictions within the memory", m.Evictions)
	}
	k.memory[0] += 0.1 * (1 << 30)
	runUntil(cp, 20*time.Second)
	if m.Evictions != 1 || len(k.stopped) != 1 || k.stopped[0] != 1 {
		t.Fatalf("%v evictions, stopped %v; want pod 1, 1 GiB over its request", m.Evictions, k.stopped)
	}
	if len(cp.Slots(1)) != 1 || cp.Pod(cp.Slots(1)[0]).Phase != loadline.PodStarting {
		t.Error("the evicted pod was not replaced")
	}
}

func TestResizesAreDeferredOrInfeasible(t *testing.T) {
	size := func(cores float64) loadline.Plan {
		return loadline.Plan{Services: []loadline.ServicePlan{{Setting: loadline.Setting{CPURequest: loadline.Some(cores)}}}}
	}
	cfg := fixed(1, pool.Pool{Types: []pool.Type{plain(4, 1)}})
	cfg.ResizeDelay = loadline.Dist{Mean: time.Second}
	cp, k, m := plane(t, sized(svc(1, 1, 1), svc(2, 1, 1)), cfg)
	cp.Apply(size(5), 0)
	runUntil(cp, 5*time.Second)
	if m.ResizesInfeasible != 1 || m.ResizesDeferred != 0 || cp.Pod(0).Size.CPURequest != 1 {
		t.Fatalf("5 cores on a node of 4: %v infeasible, %v deferred, size %v", m.ResizesInfeasible, m.ResizesDeferred, cp.Pod(0).Size)
	}
	cp.Apply(size(3), 5*time.Second)
	runUntil(cp, 30*time.Second)
	if m.ResizesDeferred != 1 || len(k.resized) != 0 {
		t.Fatalf("3 cores where 2 are free: %v deferred, resized %v", m.ResizesDeferred, k.resized)
	}
	fewer := replicas(1)
	fewer.Services[0].Service = 1
	cp.Apply(fewer, 30*time.Second)
	runUntil(cp, 60*time.Second)
	if len(k.resized) != 1 || cp.Nodes()[0].Requested.Cores != 4 {
		t.Errorf("after room was made: resized %v, %v cores requested", k.resized, cp.Nodes()[0].Requested.Cores)
	}
}

func TestAnUnderusedNodeIsReplacedByACheaperOne(t *testing.T) {
	cfg := elastic(pool.Pool{Types: []pool.Type{plain(2, 1), plain(4, 1.9)}})
	cp, k, m := plane(t, sized(svc(4, 1, 1)), cfg)
	if up(cp) != 1 || cp.Nodes()[0].Cores != 4 {
		t.Fatalf("%d nodes, the first of %v cores; want one of 4", up(cp), cp.Nodes()[0].Cores)
	}
	runUntil(cp, 100*time.Second)
	cp.Apply(replicas(2), 100*time.Second)
	runUntil(cp, 130*time.Second) // both pods end
	// The pass at 160 s finds it, and the validation ends at 175 s; the new node is there at 215 s.
	// One pod may be evicted at a time: the first at 215 s, the second when its replacement is
	// ready at 225 s.
	runUntil(cp, 214*time.Second)
	if up(cp) != 1 || cp.Ready(0) != 2 {
		t.Fatalf("before the new node is there: %d nodes, %d ready", up(cp), cp.Ready(0))
	}
	runUntil(cp, 224*time.Second)
	if cp.Ready(0) != 1 || len(k.draining) != 3 {
		t.Fatalf("at 224 s %d pods are ready and %d have been drained, want 1 and 3", cp.Ready(0), len(k.draining))
	}
	runUntil(cp, 300*time.Second)
	if up(cp) != 1 || cp.Ready(0) != 2 || m.Drained != 2 {
		t.Errorf("in the end %d nodes, %d ready, %v moved", up(cp), cp.Ready(0), m.Drained)
	}
	cp.Settle(300 * time.Second)
	// The second pod is drained from 225 to 255 s, and with it ends the old node.
	want := (255*1.9 + (300 - 175)) / 3600
	if !close64(m.Bill, want) {
		t.Errorf("a bill of %v, want %v", m.Bill, want)
	}
}

func TestTheLastPodOfAServiceKeepsItsNode(t *testing.T) {
	for _, last := range []bool{false, true} {
		cfg := elastic(pool.Pool{Types: []pool.Type{plain(2, 1)}, EvictLast: last})
		cp, _, m := plane(t, sized(svc(1, 1.1, 1), svc(2, 1, 1)), cfg)
		if up(cp) != 3 && up(cp) != 2 {
			t.Fatalf("%d nodes", up(cp))
		}
		before := up(cp)
		cp.Apply(loadline.Plan{Services: []loadline.ServicePlan{
			{Service: 0, Setting: loadline.Setting{CPURequest: loadline.Some(0.5)}},
			{Service: 1, Setting: loadline.Setting{Replicas: loadline.Some(1), CPURequest: loadline.Some(0.5)}},
		}}, 0)
		runUntil(cp, 10*time.Minute)
		if cp.draining != 0 {
			t.Errorf("evicting the last pod %v: %d nodes wait to be drained", last, cp.draining)
		}
		if last && (up(cp) != 1 || m.Drained == 0) || !last && (up(cp) != 2 || m.Drained != 0) {
			t.Errorf("evicting the last pod %v: %d of %d nodes stay, %v pods moved", last, up(cp), before, m.Drained)
		}
	}
}

func TestALostNodeOfAnElasticPoolIsReplaced(t *testing.T) {
	cfg := elastic(pool.Pool{Types: []pool.Type{plain(2, 1)}, ConsolidateAfter: -1})
	cp, _, _ := plane(t, sized(svc(4, 1, 1)), cfg)
	runUntil(cp, 100*time.Second)
	cp.LoseNode(0, 100*time.Second)
	runUntil(cp, 450*time.Second) // noticed at 150 s, replaced at 450 s
	if up(cp) != 1 || cp.Ready(0) != 2 || phases(cp)[loadline.PodPending] != 2 {
		t.Fatalf("%d nodes, pods %v", up(cp), phases(cp))
	}
	runUntil(cp, 501*time.Second)
	if up(cp) != 2 || cp.Ready(0) != 4 {
		t.Errorf("after the new node's start-up: %d nodes, %d ready", up(cp), cp.Ready(0))
	}
}

func TestNeighboursFollowTheirShape(t *testing.T) {
	cfg := fixed(1, pool.Pool{Types: []pool.Type{plain(4, 3.6)}})
	cfg.Cluster.Neighbours = pool.Neighbours{Use: 0.5, Vary: -1, Shape: pool.Shape{Step: time.Minute, Factor: []float64{0.5, 1.5}}}
	cp, k, m := plane(t, sized(svc(1, 1, 16<<30)), cfg)
	first := k.nodesChanged
	if w := cp.Nodes()[0].Others.Want; w != 1 {
		t.Errorf("at first they want %v cores, want 1", w)
	}
	runUntil(cp, time.Minute)
	if w := cp.Nodes()[0].Others.Want; w != 3 || k.nodesChanged != first+1 {
		t.Errorf("after a minute they want %v cores, want 3; %d notifications", w, k.nodesChanged-first)
	}
	runUntil(cp, 119*time.Second)
	cp.Settle(2 * time.Minute)
	// Memory is ours alone. Of the cores 1 of 2 in the first minute, then 1 of 4.
	if want := 4 * 60 * (0.5 + 0.25); !close64(m.NodeCoreSeconds, want) {
		t.Errorf("%v core seconds, want %v", m.NodeCoreSeconds, want)
	}
}

func TestBillsWithoutPools(t *testing.T) {
	prices := pool.Prices{CoreHour: 36, GiBHour: 3.6}
	for _, c := range []struct {
		name  string
		nodes []loadline.Node
		want  float64
	}{
		{"outside any node pods pay for what they request", nil, 60 * (0.01 + 0.001)},
		{"on the application's nodes, for those in use", []loadline.Node{{Cores: 4, Memory: 16 << 30}, {Cores: 4, Memory: 16 << 30}},
			60 * (0.04 + 0.016)},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := sized(svc(1, 1, 1<<30))
			app.Nodes = c.nodes
			cp, _, m := plane(t, app, Config{Cluster: pool.Cluster{Prices: prices}})
			runUntil(cp, 50*time.Second)
			cp.Settle(time.Minute)
			if !close64(m.Bill, c.want) {
				t.Errorf("a bill of %v, want %v", m.Bill, c.want)
			}
		})
	}
}
