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
	// At 230 s the pods of the two new nodes have ended. The old nodes are full, but nothing has
	// changed on them for long: the pods of the first fit on the new nodes. One may be evicted
	// at a time: at 230 s, and at 240 s when its replacement is ready. With the end of the
	// second at 270 s the node is removed. At 280 s the third node, with one pod, is next; it
	// is removed at 310 s.
	want := 270 + 400 + (310 - 101) + (400 - 101.0)
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
