package sim

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

// plain is a type without anything reserved.
func plain(cores float64, price float64) pool.Type {
	return pool.Type{Name: "plain", Cores: cores, Memory: int64(cores) * 4 << 30, Price: price, Reserved: &pool.Amount{}}
}

// elastic is a cluster of one elastic pool without start-up times of pods.
func elastic(p pool.Pool) Config {
	p.Elastic = true
	if p.Start.Mean == 0 {
		p.Start = loadline.Dist{Mean: 40 * time.Second}
	}
	return Config{Cluster: pool.Cluster{Pools: []pool.Pool{p}}, PodStart: &PodStart{}}
}

func up(cp *ControlPlane) (n int) {
	for _, node := range cp.Nodes() {
		if node.Up {
			n++
		}
	}
	return n
}

func close64(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(b)) }

func TestAnElasticPoolBuysNodesForPendingPodsAndGivesThemBack(t *testing.T) {
	app := oneService(4)
	app.Nodes = nil
	cp, _, m := plane(t, app, elastic(pool.Pool{Types: []pool.Type{plain(2, 3.6)}}))
	if up(cp) != 2 || cp.Ready(0) != 4 {
		t.Fatalf("at the start %d nodes and %d ready pods, want 2 and 4", up(cp), cp.Ready(0))
	}
	runUntil(cp, 100*time.Second)
	cp.Apply(replicas(7), 100*time.Second)
	if cp.Next() != 101*time.Second {
		t.Errorf("the batch ends at %v, want 101 s", cp.Next())
	}
	runUntil(cp, 140*time.Second)
	if up(cp) != 2 {
		t.Fatalf("%d nodes before the start-up of 40 s is over", up(cp))
	}
	runUntil(cp, 151*time.Second)
	if up(cp) != 4 || cp.Ready(0) != 7 {
		t.Fatalf("at 151 s %d nodes and %d ready pods, want 4 and 7", up(cp), cp.Ready(0))
	}
	runUntil(cp, 200*time.Second)
	cp.Apply(replicas(4), 200*time.Second)
	runUntil(cp, 400*time.Second) // the pods of both nodes end at 230 s, after their grace
	if up(cp) != 2 {
		t.Errorf("%d nodes long after scaling in, want 2", up(cp))
	}
	cp.Settle(400 * time.Second)
	// At 230 s the pods of the two new nodes have ended. Pods of the old nodes do not move to
	// them, because they have changed. At 260 s both are found empty; the budget allows for one,
	// whose removal begins after the validation, at 275 s, and ends at 280 s. The other one is
	// found at 285 s, and its removal ends at 305 s.
	want := 2*400 + (280 - 101) + (305 - 101.0)
	if !close64(m.NodeSeconds, want) || !close64(m.Bill, want*3.6/3600) || !close64(m.NodeCoreSeconds, 2*want) {
		t.Errorf("%v node seconds, %v core seconds, bill %v; want %v, %v, %v", m.NodeSeconds, m.NodeCoreSeconds, m.Bill,
			want, 2*want, want*3.6/3600)
	}
	if m.NodesAdded != 4 || m.NodesRemoved != 2 {
		t.Errorf("%v nodes added, %v removed; want 4 and 2", m.NodesAdded, m.NodesRemoved)
	}
}

func TestNeighboursTakeRoomAndShareTheBill(t *testing.T) {
	app := oneService(2)
	app.Nodes = nil
	cfg := elastic(pool.Pool{Types: []pool.Type{plain(4, 3.6)}})
	cfg.Cluster.Neighbours = pool.Neighbours{Use: 0.25, Request: 0.5, Memory: 0.75, Vary: -1}
	cfg.Cluster.Prices = pool.Prices{CoreHour: 1, GiBHour: 0.25} // 4 cores and 16 GiB: half each
	cp, k, m := plane(t, app, cfg)
	k.cores = 0.5
	if up(cp) != 1 {
		t.Fatalf("%d nodes; two cores are free on each", up(cp))
	}
	n := cp.Nodes()[0]
	if n.Requested != (pool.Amount{Cores: 4, Memory: 14 << 30}) || n.Others.Want != 1 {
		t.Errorf("requested %v, others %v", n.Requested, n.Others)
	}
	runUntil(cp, 90*time.Second)
	cp.Settle(100 * time.Second)
	// Cores: 2 of 2+2 in use or requested. Memory: 2 of 2+12 GiB.
	want := 100 * (0.5*0.5 + 0.5*2/14)
	if !close64(m.NodeSeconds, want) || !close64(m.Bill, want*3.6/3600) || !close64(m.NodeCoreSeconds, 200) {
		t.Errorf("%v node seconds, bill %v, %v core seconds; want %v, %v, 200", m.NodeSeconds, m.Bill, m.NodeCoreSeconds,
			want, want*3.6/3600)
	}
	if !close64(m.AllocatedCoreSeconds, 200) || !close64(m.UsedCoreSeconds, 100) {
		t.Errorf("allocated %v and used %v core seconds, want 200 and 100", m.AllocatedCoreSeconds, m.UsedCoreSeconds)
	}
}

func TestADisruptionThatNoLongerHoldsIsNotCarriedOut(t *testing.T) {
	cp, _, m := plane(t, sized(svc(4, 1, 1)), elastic(pool.Pool{Types: []pool.Type{plain(2, 1)}, EvictLast: true}))
	runUntil(cp, 5*time.Second)
	cp.Apply(replicas(2), 5*time.Second) // both pods of the second node end at 35 s
	runUntil(cp, 74*time.Second)
	if len(cp.found.nodes) != 1 || up(cp) != 2 {
		t.Fatalf("at 74 s %v is found, %d nodes; want the empty one, which is validated until 85 s", cp.found.nodes, up(cp))
	}
	cp.Apply(replicas(3), 74*time.Second)
	runUntil(cp, 10*time.Minute)
	if up(cp) != 2 || m.NodesRemoved != 0 || cp.Ready(0) != 3 {
		t.Errorf("%d nodes, %v removed, %d ready pods; want 2, 0, 3", up(cp), m.NodesRemoved, cp.Ready(0))
	}
}

func TestSeveralNodesAreNotReplacedByOneOfTheirOwnType(t *testing.T) {
	cp, _, m := plane(t, sized(svc(6, 1.5, 1)), elastic(pool.Pool{Types: []pool.Type{plain(4, 1)}, Budget: 1}))
	if up(cp) != 3 {
		t.Fatalf("%d nodes, want 3", up(cp))
	}
	// One pod stays on each of two nodes, and none on the third.
	runUntil(cp, time.Second)
	cp.Apply(replicas(2), time.Second)
	runUntil(cp, 10*time.Minute)
	if up(cp) != 1 || m.NodesAdded != 3 {
		t.Errorf("%d nodes, %v bought; want 1, and the 3 of the start", up(cp), m.NodesAdded)
	}
}

func TestTheHighestPriceForEachDisruptionIsConsideredFirst(t *testing.T) {
	cp, _, _ := plane(t, sized(svc(0, 1, 1)), elastic(pool.Pool{Types: []pool.Type{plain(2, 1), plain(4, 3)}}))
	for _, n := range []struct{ kind, pods int }{{0, 1}, {1, 3}, {1, 2}, {0, 0}} { // 1/2, 3/4, 3/3, 1/1
		cp.nodes[cp.addNode(cp.newNode(0, n.kind, nodeUp), 0)].pods = n.pods
	}
	cp.findCandidates(0, time.Minute)
	if !equal(cp.candidates, 2, 3, 1, 0) {
		t.Errorf("the order is %v, want [2 3 1 0]", cp.candidates)
	}
}

func TestNodesThatBecomeCalmLaterWaitForAChange(t *testing.T) {
	cp, _, _ := plane(t, sized(svc(8, 1, 1)), elastic(pool.Pool{Types: []pool.Type{plain(4, 1)}}))
	runUntil(cp, 100*time.Second)
	cp.Apply(replicas(2), 100*time.Second) // one pod stays on each node
	runUntil(cp, 140*time.Second)
	cp.Apply(replicas(3), 140*time.Second)
	// The pass at 160 s looks at the node without the new pod, whose pod may not move to the other
	// one yet. The next look is five minutes after the new pod was bound, and 15 s later the node
	// is drained.
	for _, c := range []struct {
		at   time.Duration
		want int
	}{{439 * time.Second, 2}, {10 * time.Minute, 1}} {
		runUntil(cp, c.at)
		if up(cp) != c.want || cp.Ready(0) != 3 {
			t.Errorf("at %v %d nodes and %d ready pods, want %d and 3", c.at, up(cp), cp.Ready(0), c.want)
		}
	}
}
