package sandbox

import (
	"fmt"
	"maps"
	"slices"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/sim"
)

// add an event to the feed.
func (s *side) add(e Event) { s.events = keepLast(append(s.events, e)) }

// decided puts a decision that changes something into words. A decision that fails is noted once,
// until one succeeds.
func (s *side) decided(d *loadline.Decision) {
	at := sim.Since(d.At).Seconds()
	if d.Err != nil {
		if text := d.Err.Error(); text != s.held {
			s.held = text
			s.add(Event{At: at, Type: "hold", Text: "Nothing changes: " + text})
		}
		return
	}
	if s.held != "" {
		s.held = ""
		s.add(Event{At: at, Type: "hold", Text: "Decides again."})
	}
	if len(d.Plan.Services) == 0 {
		return
	}
	e := Event{At: at, Type: "decision"}
	replicas, sizes := 0, 0
	for _, p := range d.Plan.Services {
		c := Change{Service: s.scene.app.Services[p.Service].Name, Text: p.Setting.Describe()}
		if p.Setting.Replicas.Set {
			replicas++
		} else {
			sizes++
		}
		for i := range d.Proposal.Services {
			if of := &d.Proposal.Services[i]; of.Service == p.Service {
				c.Why = of.Reason
			}
		}
		for i := range d.Changed {
			if g := &d.Changed[i]; g.Service == p.Service {
				c.Guards = append(c.Guards, g.Guard+": "+g.Reason)
			}
		}
		e.Changes = append(e.Changes, c)
	}
	e.Text = summary(replicas, sizes)
	s.add(e)
}

// summary of a decision: services whose number of replicas changes, and those of which only the size
// does.
func summary(replicas, sizes int) string {
	services := func(n int) string {
		if n == 1 {
			return "1 service"
		}
		return fmt.Sprintf("%d services", n)
	}
	switch {
	case sizes == 0:
		return "Scales " + services(replicas)
	case replicas == 0:
		return "Resizes " + services(sizes)
	}
	return fmt.Sprintf("Scales %s and resizes %d more", services(replicas), sizes)
}

// rungChanged notes which policy the guards let decide.
func (s *side) rungChanged(t guard.Transition) {
	s.rung = t.To.String()
	s.add(Event{At: sim.Since(t.At).Seconds(), Type: "rung", Text: fmt.Sprintf("Guard: from %v to %v, %s", t.From, t.To, t.Why)})
}

// look notes the nodes that have come, gone or failed since the last look.
func (s *side) look() {
	at := s.run.At().Seconds()
	nodes := s.run.ControlPlane().Nodes()
	there := make(map[string]bool, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		state := n.State()
		if state == sim.NodeGone {
			continue
		}
		there[n.Name] = true
		was := s.nodes[n.Name]
		if was == string(state) {
			continue
		}
		s.nodes[n.Name] = string(state)
		text := ""
		switch {
		case state == sim.NodeComing:
			text = fmt.Sprintf("Node %s is bought.", n.Name)
		case state == sim.NodeUp && was == string(sim.NodeComing):
			text = fmt.Sprintf("Node %s is ready.", n.Name)
		case state == sim.NodeLost:
			text = fmt.Sprintf("Node %s has failed.", n.Name)
		}
		if text != "" {
			s.add(Event{At: at, Type: "node", Text: text})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		if there[name] {
			continue
		}
		if s.nodes[name] != string(sim.NodeLost) {
			s.add(Event{At: at, Type: "node", Text: fmt.Sprintf("Node %s is given back.", name)})
		}
		delete(s.nodes, name)
	}
}
