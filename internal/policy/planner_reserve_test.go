package policy

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// TestPlannerReservesRoomForTheLoadUntilANodeHasCome: pods start within 5 s, and loads of 100 req/s
// have risen by 50 in each 15 s before, up to 400.
func TestPlannerReservesRoomForTheLoadUntilANodeHasCome(t *testing.T) {
	for _, spec := range []string{"planner:reserve=on,vertical=off,feedback=off", "planner:vertical=off,feedback=off", "planner:reserve=3"} {
		r := newShopRun(t, spec, 2)
		p := plannerIn(r.policy)
		at := plannerStart.Add(-4 * time.Hour)
		for i := range 4 * 240 {
			load := 100.0
			if in := i % 40; in >= 28 {
				load = 100 + 50*float64(min(in-27, 6))
			}
			p.load.learn(at.Add(time.Duration(i)*15*time.Second), load)
		}
		for i := range p.services {
			for range 400 {
				p.services[i].starts.add(plannerStart, 5)
			}
		}
		var proposal loadline.Proposal
		for range 18 { // the replicas of the start are gone after the down-window
			proposal = r.step(t, 100)
		}
		if spec != "planner:reserve=on,vertical=off,feedback=off" {
			if proposal.Reserve.Set || r.policy.Needs().Reserve != 3 && spec == "planner:reserve=3" {
				t.Errorf("%s: reserve %+v, constant %v", spec, proposal.Reserve, r.policy.Needs().Reserve)
			}
			continue
		}
		// 5 ms * visits / (0.2 * 0.9 - 0.01) cores, at 350 req/s for both services: within 75 s.
		needed, have := 0.0, 0.0
		for i := range r.alloc {
			needed += 0.2 * float64(whole(350*float64(i+1)*shopCost/0.17))
			have += 0.2 * float64(r.alloc[i].Replicas)
		}
		room := proposal.Reserve.Value.Cores
		if !proposal.Reserve.Set || room < needed-have-0.5 || room > 1.3*needed-have || room < 1 {
			t.Errorf("%s: %.1f cores in reserve beside %.1f of pods, want %.1f together", spec, room, have, needed)
		}
	}
}

// TestPlannerProposesAReserveWhereOneIsHeld: without the setting reserve it is up to the cluster.
func TestPlannerProposesAReserveWhereOneIsHeld(t *testing.T) {
	for _, c := range []struct {
		spec       string
		held, want bool
	}{
		{"planner", false, false}, {"planner", true, true}, {"planner:limits=keep", true, true}, {"planner:reserve=off", true, false},
		{"planner:reserve=on", false, true}, {"planner:reserve=3", true, false},
	} {
		r := newShopRun(t, c.spec, 2)
		proposer, ok := r.policy.(interface{ ProposeReserve(held bool) })
		if !ok {
			t.Fatalf("%s: %T cannot be told of a reserve", c.spec, r.policy)
		}
		if got := r.step(t, 100).Reserve.Set; got != (c.spec == "planner:reserve=on") {
			t.Errorf("%s: a reserve is proposed before one is held: %v", c.spec, got)
		}
		proposer.ProposeReserve(c.held)
		if got := r.step(t, 100).Reserve.Set; got != c.want {
			t.Errorf("%s, held: %v: a reserve is proposed: %v", c.spec, c.held, got)
		}
		proposer.ProposeReserve(false)
		if got := r.step(t, 100).Reserve.Set; got != (c.spec == "planner:reserve=on") {
			t.Errorf("%s: a reserve is proposed that nobody holds: %v", c.spec, got)
		}
	}
}
