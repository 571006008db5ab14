package twin

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim/pool"
)

// The assumed nodes, where the history does not show any.
const (
	nodeCores  = 16
	nodeMemory = 64 << 30
)

// ClusterReport is the nodes and neighbours that a history shows.
type ClusterReport struct {
	Nodes  int     `json:"nodes"`  // with pods of the application at once, at most; 0 = not measured
	Fewest int     `json:"fewest"` // at once
	Cores  float64 `json:"cores"`  // that pods may request, of the usual node
	Memory int64   `json:"memory"`

	Neighbours bool   `json:"neighbours"` // their use was measured
	Use        Number `json:"use"`        // shares of what nodes offer to pods; means
	Busiest    Number `json:"busiest"`    // 95th percentile of their use over time
	Request    Number `json:"request"`
	Memories   Number `json:"memory_share"`
}

// room is what nodes offer to pods and what others have of it, in one step, over all nodes with
// pods of the application.
type room struct {
	nodes                int
	cores, memory        float64
	use, request, memUse float64 // NaN = not measured
}

// offered is the size of a node that pods may request; capacity stands in.
func offered(n *history.Node, i int) (cores, memory float64) {
	cores, memory = value(n.Series[history.NodeCPUAllocatable], i), value(n.Series[history.NodeMemoryAllocatable], i)
	if math.IsNaN(cores) {
		cores = value(n.Series[history.NodeCPUCapacity], i)
	}
	if math.IsNaN(memory) {
		memory = value(n.Series[history.NodeMemoryCapacity], i)
	}
	return cores, memory
}

// roomAt adds up the nodes of a step.
func (p *past) roomAt(i int) (r room) {
	for k := range p.h.Nodes {
		n := &p.h.Nodes[k]
		cores, memory := offered(n, i)
		if !(cores > 0) || !(memory > 0) || value(n.Series[history.NodePods], i) == 0 {
			continue
		}
		of := func(m, instead history.NodeMetric) float64 {
			if v := value(n.Series[m], i); !math.IsNaN(v) {
				return v
			}
			return value(n.Series[instead], i)
		}
		r.nodes++
		r.cores += cores
		r.memory += memory
		r.use += value(n.Series[history.NodeOthersCPU], i)
		r.request += of(history.NodeOthersCPURequest, history.NodeOthersCPU)
		r.memUse += of(history.NodeOthersMemory, history.NodeOthersMemoryRequest)
	}
	return r
}

// cluster finds nodes and neighbours in the fitted part. Without nodes in the history the report
// is empty.
func (p *past) cluster() (nodes []loadline.Node, c pool.Cluster, r ClusterReport) {
	var use, request, memory []float64
	most := -1
	r.Fewest = math.MaxInt
	for i := range p.cut {
		at := p.roomAt(i)
		if at.nodes == 0 {
			continue
		}
		r.Fewest = min(r.Fewest, at.nodes)
		if at.nodes >= r.Nodes {
			r.Nodes, most = at.nodes, i
		}
		for _, x := range []struct {
			into  *[]float64
			share float64
		}{{&use, at.use / at.cores}, {&request, at.request / at.cores}, {&memory, at.memUse / at.memory}} {
			if !math.IsNaN(x.share) {
				*x.into = append(*x.into, x.share)
			}
		}
	}
	if most < 0 {
		return nil, c, ClusterReport{Use: Number(math.NaN()), Busiest: Number(math.NaN()), Request: Number(math.NaN()),
			Memories: Number(math.NaN())}
	}
	for k := range p.h.Nodes {
		n := &p.h.Nodes[k]
		cores, mem := offered(n, most)
		if cores > 0 && mem > 0 && value(n.Series[history.NodePods], most) != 0 {
			nodes = append(nodes, loadline.Node{Name: n.Name, Cores: round(cores, 4), Memory: int64(mem)})
		}
	}
	sizes := slices.Clone(nodes)
	slices.SortFunc(sizes, func(a, b loadline.Node) int { return cmp.Compare(a.Cores, b.Cores) })
	r.Cores, r.Memory = sizes[len(sizes)/2].Cores, sizes[len(sizes)/2].Memory
	r.Use, r.Request, r.Memories = share(use), share(request), share(memory)
	r.Neighbours = len(use) > 0
	slices.Sort(use)
	r.Busiest = Number(quantile(use, 0.95))
	known := func(n Number) float64 {
		if math.IsNaN(float64(n)) {
			return 0
		}
		return min(max(round(float64(n), 3), 0), 1)
	}
	if r.Neighbours {
		c.Neighbours = pool.Neighbours{Use: known(r.Use), Request: known(r.Request), Memory: known(r.Memories), Shape: p.othersShape()}
	}
	return nodes, c, r
}

func share(values []float64) Number {
	if len(values) == 0 {
		return Number(math.NaN())
	}
	return Number(mean(values))
}

// shapeStep is the resolution of the neighbours' day.
const shapeStep = 15 * time.Minute

// othersShape is the neighbours' usual day, from the first held-out step on: a run of the twin
// on held-out load begins there. A history that has no whole day gives a constant.
func (p *past) othersShape() pool.Shape {
	const day = 24 * time.Hour
	if time.Duration(p.cut)*p.h.Step < day || p.h.Step > shapeStep {
		return pool.Shape{}
	}
	sums := make([]float64, day/shapeStep)
	counts := make([]float64, len(sums))
	for i := range p.cut {
		at := p.roomAt(i)
		if at.nodes == 0 || math.IsNaN(at.use) {
			continue
		}
		since := time.Duration(i-p.cut) * p.h.Step % day
		k := int((since+day)%day/shapeStep) % len(sums)
		sums[k] += at.use / at.cores
		counts[k]++
	}
	all := 0.0
	for k := range sums {
		if counts[k] == 0 {
			return pool.Shape{} // a time of the day was never measured
		}
		sums[k] /= counts[k]
		all += sums[k] / float64(len(sums))
	}
	if all == 0 {
		return pool.Shape{}
	}
	for k := range sums {
		sums[k] = round(sums[k]/all, 4)
	}
	return pool.Shape{Name: "history", Step: shapeStep, Factor: sums}
}

// setNodes gives the application the nodes that the history shows, and as many more of their
// size as twice the largest number of replicas need. Otherwise it assumes nodes with room for all
// replicas within the bounds.
func setNodes(p *past, t *Twin, models []model, n *notes) {
	nodes, cluster, r := p.cluster()
	t.Cluster, t.Report.Cluster = cluster, r
	app := t.App
	if len(nodes) == 0 {
		addNodes(app, n)
	}
	if !r.Neighbours {
		n.warn("the nodes are assumed to have no other users: metrics do not contain what other namespaces use of them")
	}
	if len(nodes) == 0 {
		return
	}
	if r.Fewest < r.Nodes {
		n.warn("the pods were on %d to %d nodes: the pool may be elastic, and the twin has %d fixed nodes. Give the pool to "+
			"simulations if it is (--pool cores=%g,memory=%dGi)", r.Fewest, r.Nodes, len(nodes), r.Cores, r.Memory>>30)
	}
	cores, memory := 0.0, 0.0
	for i := range app.Services {
		s := &app.Services[i]
		most := s.Replicas
		for _, c := range models[i].seen.replicas {
			most = max(most, c)
		}
		cores += 2 * float64(most) * s.Size.CPURequest
		memory += 2 * float64(most) * float64(s.Size.MemoryRequest)
	}
	free := func(share float64) float64 { return max(1-share, 0.05) }
	for _, node := range nodes {
		cores -= node.Cores * free(cluster.Neighbours.Request)
		memory -= float64(node.Memory) * free(cluster.Neighbours.Memory)
	}
	more := int(math.Ceil(max(cores/(r.Cores*free(cluster.Neighbours.Request)),
		memory/(float64(r.Memory)*free(cluster.Neighbours.Memory)), 0)))
	for i := range more {
		nodes = append(nodes, loadline.Node{Name: fmt.Sprintf("more-%d", i+1), Cores: r.Cores, Memory: r.Memory})
	}
	if more > 0 {
		n.warn("%d nodes of %g cores are added to the %d that the history shows: room for twice the largest number of replicas",
			more, r.Cores, r.Nodes)
	}
	app.Nodes = nodes
}
