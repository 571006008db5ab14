package simulate

import (
	"strconv"

	"github.com/loadline/loadline/internal/sim"
)

// nodeWatch follows what pods and others use of each node, from reading to reading.
type nodeWatch struct {
	seconds []float64         // by slot: CPU of the application's pods since the last reading
	pods    []int             // by slot: pods of the application
	last    map[int64]float64 // by pod: CPU seconds at the last reading
	present map[int64]float64 // likewise, in the making
}

// watch takes a reading.
func (w *nodeWatch) watch(r *sim.Reading, cp *sim.ControlPlane) {
	nodes := len(cp.Nodes())
	w.seconds, w.pods = append(w.seconds[:0], make([]float64, nodes)...), append(w.pods[:0], make([]int, nodes)...)
	if w.last == nil {
		w.last, w.present = map[int64]float64{}, map[int64]float64{}
	}
	clear(w.present)
	for s := range r.Services {
		for _, pod := range r.Services[s].Pods {
			w.present[pod.ID] = pod.CPUSeconds
			if n := cp.Pod(pod.Slot).Node; n >= 0 && n < nodes {
				w.pods[n]++
				w.seconds[n] += max(pod.CPUSeconds-w.last[pod.ID], 0)
			}
		}
	}
	w.last, w.present = w.present, w.last
}

// othersCPU is the cores that others use of a node on which pods use the given cores: what they
// want, as far as the pods leave it. The kernel leaves no core idle that is wanted, so on a full
// node others have exactly the rest.
func othersCPU(n *sim.Node, pods float64) float64 { return min(n.Others.Want, max(n.Cores-pods, 0)) }

// nodeName is the name of a node, or of its slot if it has none.
func nodeName(n *sim.Node, slot int) string {
	if n.Name != "" {
		return n.Name
	}
	return "node-" + strconv.Itoa(slot)
}
