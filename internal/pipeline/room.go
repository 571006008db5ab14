package pipeline

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/twin"
	"github.com/loadline/loadline/internal/workload"
)

// on is the application and the cluster under a condition, from a time on.
func (p *proof) on(c *Condition, at time.Time) (*loadline.App, pool.Cluster) {
	app, cluster := p.folder.App, p.from(p.folder, at)
	for _, v := range c.Values {
		if c.Figure != twin.Neighbours {
			app, cluster = twin.Range{Figure: c.Figure, Service: v.Service}.On(app, cluster, v.Value)
			continue
		}
		n := &cluster.Neighbours
		n.Use, n.Shape = v.Value, pool.Shape{}
		if n.Request == 0 { // not known
			n.Request = v.Value
		}
		cluster = withRoom(app, cluster)
		roomy := *app
		roomy.Nodes = p.nodesFor(app, cluster)
		app = &roomy
	}
	return app, cluster
}

// withRoom lowers what neighbours request until a replica of every service fits a node: whatever they
// requested, the recorded pods did run.
func withRoom(app *loadline.App, cluster pool.Cluster) pool.Cluster {
	for cluster.Neighbours.Request > 0 && cluster.CheckApp(app) != nil {
		cluster.Neighbours.Request = max(0, cluster.Neighbours.Request-0.05)
	}
	return cluster
}

// nodesFor adds nodes like the first until neighbours leave room for the pods at the highest load,
// at half of their requests or today's target if that is lower, and a quarter more.
func (p *proof) nodesFor(app *loadline.App, cluster pool.Cluster) []loadline.Node {
	spec, _ := p.today(p.folder)
	use := 0.5
	if target := targetOf(spec) / 100; target > 0 {
		use = min(use, target)
	}
	cores, memory := 0.0, 0.0
	for i, busy := range busiestCores(app, p.folder.Selection, p.folder.HeldOut) {
		s := &app.Services[i]
		n := float64(s.Bounds.MaxReplicas)
		if s.Size.CPURequest > 0 {
			n = min(n, math.Ceil(1.25*busy/(use*s.Size.CPURequest))+1)
		}
		cores, memory = cores+n*s.Size.CPURequest, memory+n*float64(s.Size.MemoryRequest)
	}
	nodes := slices.Clone(app.Nodes)
	one := nodes[0]
	free := func(taken float64) float64 { return max(1-taken, 0.05) }
	need := max(cores/(one.Cores*free(cluster.Neighbours.Request)), memory/(float64(one.Memory)*free(cluster.Neighbours.Memory)))
	for len(nodes) < int(math.Ceil(need)) {
		one.Name = fmt.Sprintf("room-%d", len(nodes)+1)
		nodes = append(nodes, one)
	}
	return nodes
}

// busiestCores is the CPU of each service at the highest rate of loads.
func busiestCores(app *loadline.App, loads ...*workload.Workload) []float64 {
	most, cpu := make([]float64, len(app.Services)), apps.CPUSeconds(app)
	for _, w := range loads {
		load, err := w.For(app)
		if err != nil {
			continue // it is reported where the load is run
		}
		at := time.Duration(slices.Index(w.Rates, w.Max())) * w.Step
		for i := range most {
			cores := 0.0
			for kind := range app.Kinds {
				rate, _ := load.Rate(kind, at)
				cores += rate * cpu[kind][i]
			}
			most[i] = max(most[i], cores)
		}
	}
	return most
}
