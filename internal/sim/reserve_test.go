package sim

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

// TestPlaceholdersGiveWay: two nodes of 4 and 2 cores, pods of 1 core, 3 cores of placeholders.
func TestPlaceholdersGiveWay(t *testing.T) {
	cp, _, _ := plane(t, oneService(2), Config{Reserve: 2.5, NodeGrace: time.Millisecond, Toleration: -1})
	requested := func() float64 { return cp.Nodes()[0].Requested.Cores + cp.Nodes()[1].Requested.Cores }
	if pending, each := cp.ReservePending(); pending != 0 || each.Cores != 1 || requested() != 5 {
		t.Fatalf("%d pending of %+v, %v cores requested, want 3 placeholders beside 2 pods", pending, each, requested())
	}
	cp.Apply(replicas(5), time.Second)
	if got := phases(cp); got[loadline.PodStarting] != 3 {
		t.Errorf("%v: pods must not wait while placeholders have the room", got)
	}
	if pending, _ := cp.ReservePending(); pending != 2 || requested() != 6 {
		t.Errorf("%d placeholders pending, %v cores requested, want 2 and all 6", pending, requested())
	}
	cp.Apply(replicas(7), 2*time.Second)
	if got := phases(cp); got[loadline.PodStarting] != 4 || got[loadline.PodPending] != 1 {
		t.Errorf("%v: six cores hold six pods", got)
	}
	cp.Run(15 * time.Second)
	cp.Apply(replicas(4), 16*time.Second)
	for _, slot := range append([]int(nil), cp.Slots(0)...) {
		cp.Drained(slot, 17*time.Second)
	}
	cp.Run(30 * time.Second)
	if pending, _ := cp.ReservePending(); pending != 1 || requested() != 6 {
		t.Errorf("%d placeholders pending, %v cores requested: two come back into the room of two pods", pending, requested())
	}
	cp.LoseNode(0, 31*time.Second)
	cp.Run(45 * time.Second)
	if pending, _ := cp.ReservePending(); pending != 3 || cp.Nodes()[1].Requested.Cores != 2 {
		t.Errorf("%d placeholders pending, %v cores requested on the node that is left", pending, cp.Nodes()[1].Requested.Cores)
	}
}

// TestTheReserveMoves: an elastic pool of 2-core nodes, pods of 1 core. A reserve brings nodes, holds
// them against consolidation, gives way at once, and ends with its nodes.
func TestTheReserveMoves(t *testing.T) {
	app := oneService(2)
	app.Nodes = nil
	cp, _, _ := plane(t, app, elastic(pool.Pool{Types: []pool.Type{plain(2, 3.6)}}))
	reserve := func(cores float64, memory int64, at time.Duration) {
		cp.Apply(loadline.Plan{Reserve: loadline.Some(loadline.Room{Cores: cores, Memory: memory})}, at)
	}
	runUntil(cp, 10*time.Second)
	reserve(2.5, 4<<30, 10*time.Second) // three pods by cores, four by memory
	if pending, _ := cp.ReservePending(); pending != 4 || up(cp) != 1 {
		t.Fatalf("%d placeholders pending on %d nodes, want 4 and 1", pending, up(cp))
	}
	runUntil(cp, 60*time.Second)
	if pending, _ := cp.ReservePending(); pending != 0 || up(cp) != 3 {
		t.Fatalf("%d placeholders pending on %d nodes 50 s later, want 0 and 3", pending, up(cp))
	}
	runUntil(cp, 20*time.Minute)
	if up(cp) != 3 {
		t.Fatalf("%d nodes after 20 minutes: wanted placeholders hold theirs", up(cp))
	}
	cp.Apply(replicas(5), 20*time.Minute)
	if got := phases(cp); got[loadline.PodPending] != 0 {
		t.Errorf("%v: placeholders must give way at once", got)
	}
	runUntil(cp, 22*time.Minute)
	if pending, _ := cp.ReservePending(); pending != 0 || up(cp) != 5 {
		t.Errorf("%d placeholders pending on %d nodes, want those of new nodes beside 5 pods", pending, up(cp))
	}
	cp.Apply(replicas(2), 22*time.Minute)
	reserve(0, 0, 22*time.Minute)
	runUntil(cp, 60*time.Minute)
	if up(cp) != 1 {
		t.Errorf("%d nodes without a reserve, want 1", up(cp))
	}
}

// TestAResizeThatDoesNotFitRecreatesThePod: three pods of 1 core on nodes of 4 and 2 cores; one
// of the two on the small node cannot have 1.9.
func TestAResizeThatDoesNotFitRecreatesThePod(t *testing.T) {
	for _, after := range []time.Duration{0, 5 * time.Minute} {
		cp, _, _ := plane(t, oneService(3), Config{RecreateAfter: after})
		size := loadline.Setting{CPURequest: loadline.Some(1.9), CPULimit: loadline.Some(1.9)}
		cp.Apply(loadline.Plan{Services: []loadline.ServicePlan{{Setting: size}}}, time.Second)
		run := func(until time.Duration) {
			for next := cp.Next(); next <= until; next = cp.Next() {
				cp.Run(next)
				for _, slot := range append([]int(nil), cp.Slots(0)...) {
					cp.Drained(slot, next)
				}
			}
		}
		old := func() (pods int) {
			for _, slot := range cp.Slots(0) {
				if cp.Pod(slot).Size.CPURequest == 1 {
					pods++
				}
			}
			return pods
		}
		cp.Apply(replicas(4), 2*time.Second) // of the new size: no room for it
		run(4 * time.Minute)
		waiting := old()
		run(20 * time.Minute)
		t.Logf("after %v: %d, then %d pods of the old size, %v", after, waiting, old(), phases(cp))
		if after == 0 && old() != waiting {
			t.Errorf("%d pods of the old size, then %d: a resize waits for room", waiting, old())
		}
		if waiting == 0 || after > 0 && old() >= waiting {
			t.Errorf("%d pods of the old size, then %d: the pod must have been recreated", waiting, old())
		}
		if cp.Ready(0) < 2 {
			t.Errorf("%d ready", cp.Ready(0))
		}
	}
}
