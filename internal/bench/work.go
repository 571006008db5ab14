package bench

import (
	"sync"

	"github.com/loadline/loadline/internal/apps"
)

// workMeter tracks the total and the completed work, in simulated visits.
type workMeter struct {
	mu          sync.Mutex
	runs        int
	done        int
	total, made float64
	tell        func(Progress)
}

func newWorkMeter(runs int, tell func(Progress)) *workMeter {
	return &workMeter{runs: runs, tell: tell}
}

func (m *workMeter) plan(cost float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total += cost
}

// skip removes planned work that was done before.
func (m *workMeter) skip(cost float64) { m.plan(-cost) }

// begin starts a piece of work: the returned function takes its progress, 0 to 1.
func (m *workMeter) begin(cost float64) func(share float64) {
	counted := 0.0
	return func(share float64) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.made += cost * (share - counted)
		counted = share
		m.say()
	}
}

// ended counts a run.
func (m *workMeter) ended() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
	m.say()
}

func (m *workMeter) finished() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.done
}

func (m *workMeter) say() {
	if m.tell != nil && m.total > 0 {
		m.tell(Progress{Done: m.done, Runs: m.runs, Share: min(1, m.made/m.total)})
	}
}

// cost of a run, approximately, in visits.
func (c *cell) cost(engine string) float64 {
	visits := 1.0
	for _, v := range apps.Mix(c.app.Model, apps.Visits(c.app.Model)) {
		visits += v
	}
	cost := c.loads[0].Requests()*visits + burstCost*c.neighbourBursts()
	if engine == "fluid" {
		cost /= 5
	}
	return cost
}

// burstCost of one piece of the neighbours' work, in visits.
const burstCost = 0.35

// neighbourBursts of a run, on as many nodes as the mean load needs where that is not fixed.
func (c *cell) neighbourBursts() float64 {
	n := c.cluster.Neighbours.WithDefaults()
	if n.Use == 0 || n.Burst < 0 {
		return 0
	}
	cores := 0.0
	for _, node := range c.app.Model.Nodes {
		cores += node.Cores
	}
	if len(c.cluster.Pools) > 0 {
		cores = 0
		for _, p := range c.cluster.Pools {
			cores += float64(p.Nodes) * p.Types[0].Cores
		}
	}
	if cores == 0 { // elastic
		for _, s := range c.app.Model.Services {
			cores += float64(s.Replicas) * s.Size.CPURequest / max(1-n.Request, 0.05)
		}
	}
	return n.Use * cores * c.duration().Seconds() / n.Burst.Seconds()
}
