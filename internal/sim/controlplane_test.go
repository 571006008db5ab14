package sim

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// ledger is a kubelet that records its notifications, and whose pods use a fixed amount.
type ledger struct {
	ready, draining, stopped, resized, lost []int
	cores, bytes                            float64         // per pod
	memory                                  map[int]float64 // by slot
	nodesChanged                            int
	cp                                      *ControlPlane
}

func (l *ledger) PodReady(slot int)          { l.ready = append(l.ready, slot) }
func (l *ledger) PodDraining(slot int)       { l.draining = append(l.draining, slot) }
func (l *ledger) PodStopped(slot int)        { l.stopped = append(l.stopped, slot) }
func (l *ledger) PodResized(slot int)        { l.resized = append(l.resized, slot) }
func (l *ledger) PodStarting(int)            {}
func (l *ledger) PodMemory(slot int) float64 { return l.memory[slot] }
func (l *ledger) NodeChanged(int)            { l.nodesChanged++ }
func (l *ledger) PodLost(slot int)           { l.lost = append(l.lost, slot) }
func (l *ledger) PodUsage(slot int, now time.Duration) (float64, float64) {
	up := (now - l.cp.Pod(slot).Bound).Seconds()
	return l.cores * up, l.bytes * up
}

func plane(t *testing.T, app *loadline.App, cfg Config) (*ControlPlane, *ledger, *Meter) {
	t.Helper()
	cfg.App = app
	cfg = cfg.WithDefaults()
	k := &ledger{}
	m := NewMeter(app, 0)
	cp := NewControlPlane(cfg, m, k)
	k.cp = cp
	cp.Start()
	return cp, k, m
}

func oneService(replicas int) *loadline.App {
	return &loadline.App{
		Services: []loadline.Service{{
			Name: "a", Replicas: replicas, Workers: 1, Startup: loadline.Dist{Mean: 10 * time.Second},
			Size: loadline.Size{CPURequest: 1, CPULimit: 1, MemoryRequest: 1 << 30, MemoryLimit: 1 << 30},
		}},
		Nodes: []loadline.Node{{Name: "n1", Cores: 4, Memory: 16 << 30}, {Name: "n2", Cores: 2, Memory: 16 << 30}},
	}
}

func replicas(n int) loadline.Plan {
	return loadline.Plan{Services: []loadline.ServicePlan{{Setting: loadline.Setting{Replicas: loadline.Some(n)}}}}
}

func phases(cp *ControlPlane) map[loadline.PodPhase]int {
	out := map[loadline.PodPhase]int{}
	for _, slot := range cp.Slots(0) {
		out[cp.Pod(slot).Phase]++
	}
	return out
}

func TestPodsGoThroughTheirPhases(t *testing.T) {
	cp, k, m := plane(t, oneService(1), Config{})
	if got := phases(cp); got[loadline.PodReady] != 1 {
		t.Fatalf("at the start: %v", got)
	}
	cp.Apply(replicas(3), time.Second)
	if got := phases(cp); got[loadline.PodStarting] != 2 {
		t.Fatalf("after scaling out: %v", got)
	}
	if next := cp.Next(); next != 11*time.Second {
		t.Fatalf("next at %v, want the end of the start-up at 11 s", next)
	}
	cp.Run(11 * time.Second)
	if got := phases(cp); got[loadline.PodReady] != 3 {
		t.Fatalf("after start-up: %v", got)
	}
	newest := cp.Slots(0)[2]
	cp.Apply(replicas(2), 20*time.Second)
	if len(k.draining) != 1 || k.draining[0] != newest {
		t.Fatalf("draining %v, want the newest pod, %d", k.draining, newest)
	}
	cp.Run(50 * time.Second)
	if len(cp.Slots(0)) != 2 || len(k.stopped) != 1 {
		t.Errorf("after the grace of 30 s: %d pods, stopped %v", len(cp.Slots(0)), k.stopped)
	}
	if m.Changes != 2 {
		t.Errorf("%v changes counted, want 2", m.Changes)
	}
	cp.Apply(replicas(2), 51*time.Second)
	if m.Changes != 2 {
		t.Error("a plan that changes nothing was counted as a change")
	}
}

func TestPlacementSpreadsAndWaitsForRoom(t *testing.T) {
	cp, _, _ := plane(t, oneService(6), Config{})
	onNode := map[int]int{}
	for _, slot := range cp.Slots(0) {
		onNode[cp.Pod(slot).Node]++
	}
	if onNode[0] != 4 || onNode[1] != 2 {
		t.Fatalf("pods per node: %v, want 4 and 2", onNode)
	}
	cp.Apply(replicas(8), 0)
	if got := phases(cp); got[loadline.PodPending] != 2 {
		t.Fatalf("beyond the cores: %v", got)
	}
	cp.Apply(replicas(7), time.Second)
	if got := phases(cp); got[loadline.PodPending] != 1 || got[loadline.PodDraining] != 0 {
		t.Fatalf("pending pods are the first to go: %v", got)
	}
	cp.Apply(loadline.Plan{Services: []loadline.ServicePlan{{Setting: loadline.Setting{CPURequest: loadline.Some(0.5)}}}}, 2*time.Second)
	cp.Run(10 * time.Second) // the resizes are in force; the pending pod has the new size
	cp.Apply(replicas(6), 11*time.Second)
	if got := phases(cp); got[loadline.PodReady] != 6 || got[loadline.PodPending] != 0 {
		t.Errorf("after shrinking: %v", got)
	}
}

func TestALostNodeIsNoticedAndItsPodsComeBackElsewhere(t *testing.T) {
	cp, k, _ := plane(t, oneService(2), Config{})
	cp.LoseNode(0, time.Second)
	if len(k.lost) != 1 || len(k.stopped) != 0 || !cp.Nodes()[0].Lost || cp.Ready(0) != 2 {
		t.Fatalf("at the loss: lost %v, stopped %v, %d ready; the loss is not noticed yet", k.lost, k.stopped, cp.Ready(0))
	}
	runUntil(cp, 51*time.Second)
	if len(k.stopped) != 1 || cp.Ready(0) != 1 || len(cp.Slots(0)) != 2 {
		t.Fatalf("after the grace of 50 s: stopped %v, %d of %d ready", k.stopped, cp.Ready(0), len(cp.Slots(0)))
	}
	runUntil(cp, 350*time.Second)
	if len(cp.Slots(0)) != 2 || cp.Pod(cp.Slots(0)[0]).ID != 1 {
		t.Fatalf("before the toleration of 300 s: %d pods", len(cp.Slots(0)))
	}
	runUntil(cp, 361*time.Second)
	for _, slot := range cp.Slots(0) {
		if cp.Pod(slot).Node != 1 {
			t.Errorf("pod %d is on node %d", slot, cp.Pod(slot).Node)
		}
	}
	if got := phases(cp); got[loadline.PodReady] != 2 {
		t.Errorf("after toleration and start-up: %v", got)
	}
}

// runUntil performs every action up to an instant.
func runUntil(cp *ControlPlane, until time.Duration) {
	for cp.Next() <= until {
		cp.Run(cp.Next())
	}
}

func TestAResizeWithoutRoomIsDeferred(t *testing.T) {
	app := oneService(4)
	app.Nodes = app.Nodes[:1]
	cp, k, _ := plane(t, app, Config{ResizeDelay: loadline.Dist{Mean: time.Second}})
	size := func(cores float64) loadline.Plan {
		return loadline.Plan{Services: []loadline.ServicePlan{{Setting: loadline.Setting{CPURequest: loadline.Some(cores),
			CPULimit: loadline.Some(cores)}}}}
	}
	cp.Apply(size(2), 0)
	cp.Run(time.Second)
	if len(k.resized) != 0 {
		t.Fatalf("resized %v on a full node", k.resized)
	}
	cp.Apply(replicas(2), 2*time.Second)
	for _, slot := range k.draining {
		cp.Drained(slot, 3*time.Second)
	}
	cp.Run(cp.Next())
	if len(k.resized) != 2 {
		t.Errorf("%d pods resized after room was made, want 2", len(k.resized))
	}
}

func TestRestartsBackOff(t *testing.T) {
	cp, _, m := plane(t, oneService(1), Config{})
	now := time.Duration(0)
	var waits []time.Duration
	for range 4 {
		cp.Killed(cp.Slots(0)[0], now)
		at := cp.Pod(cp.Slots(0)[0]).due
		waits = append(waits, at-now)
		now = at
		cp.Run(now)
	}
	want := []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, 50 * time.Second} // start-up + 0, 10, 20, 40 s
	for i := range want {
		if waits[i] != want[i] {
			t.Errorf("restart %d takes %v, want %v", i+1, waits[i], want[i])
		}
	}
	if m.Services[0].Restarts != 4 {
		t.Errorf("%v restarts counted", m.Services[0].Restarts)
	}
}

func TestCostIsCountedFromBindingToDeletion(t *testing.T) {
	for _, c := range []struct {
		name        string
		cores, want float64
	}{
		{"below the request the request counts", 0.2, 60 * 1.0},
		{"above it the usage", 1.5, 60 * 1.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			cp, k, m := plane(t, oneService(1), Config{})
			k.cores = c.cores
			for cp.Next() <= 55*time.Second {
				cp.Run(cp.Next())
			}
			cp.Settle(time.Minute)
			if got := m.Services[0].CoreSeconds; got < c.want-1e-9 || got > c.want+1e-9 {
				t.Errorf("%v core seconds in a minute, want %v", got, c.want)
			}
			if m.ReplicaSeconds != 60 {
				t.Errorf("%v replica seconds", m.ReplicaSeconds)
			}
		})
	}
}
