package simulate

import (
	"math"
	"time"

	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim"
)

// nodeRecorder records the nodes that pods of the application are on. A node is absent in the
// steps in which there were none.
type nodeRecorder struct {
	watched nodeWatch
	names   []string // in order of appearance
	nodes   map[string]*nodeSteps
}

type nodeSteps struct {
	open [history.NodeMetrics]mean
	done [history.NodeMetrics]history.Series
}

// add adds a part of the time since the last reading, which watched has taken.
func (t *nodeRecorder) add(cp *sim.ControlPlane, part, since time.Duration) {
	for i := range cp.Nodes() {
		n := &cp.Nodes()[i]
		if i >= len(t.watched.pods) || !n.Up || t.watched.pods[i] == 0 {
			continue
		}
		name := nodeName(n, i)
		s := t.nodes[name]
		if s == nil {
			if t.nodes == nil {
				t.nodes = map[string]*nodeSteps{}
			}
			s = &nodeSteps{}
			t.nodes[name] = s
			t.names = append(t.names, name)
		}
		values := [history.NodeMetrics]float64{
			history.NodeCPUCapacity: n.Cores, history.NodeMemoryCapacity: float64(n.Memory),
			history.NodeCPUAllocatable: n.Offered.Cores, history.NodeMemoryAllocatable: float64(n.Offered.Memory),
			history.NodePods:             float64(t.watched.pods[i]),
			history.NodeOthersCPU:        othersCPU(n, t.watched.seconds[i]/since.Seconds()),
			history.NodeOthersMemory:     float64(n.Others.Memory),
			history.NodeOthersCPURequest: n.Others.Request.Cores, history.NodeOthersMemoryRequest: float64(n.Others.Request.Memory),
		}
		for m := history.NodeCPUCapacity; m < history.NodeMetrics; m++ {
			s.open[m].add(values[m], part.Seconds())
		}
	}
}

// close ends a step, the given one from the start.
func (t *nodeRecorder) close(step int) {
	for _, name := range t.names {
		s := t.nodes[name]
		for m := history.NodeCPUCapacity; m < history.NodeMetrics; m++ {
			for len(s.done[m]) < step {
				s.done[m] = append(s.done[m], float32(math.NaN()))
			}
			s.done[m] = append(s.done[m], float32(s.open[m].value()))
		}
		s.open = [history.NodeMetrics]mean{}
	}
}

// history is the recorded nodes.
func (t *nodeRecorder) history() []history.Node {
	var list []history.Node
	for _, name := range t.names {
		list = append(list, history.Node{Name: name, Series: t.nodes[name].done})
	}
	return list
}
