package advice

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

// Check is what the event engine shows of today's sizes and of the proposed ones.
type Check struct {
	Neighbours float64 `json:"neighbours"` // share of the nodes' cores that others use and request
	Stretch    string  `json:"stretch"`
	Runs       int     `json:"runs"`
	OverToday  float64 `json:"over_slo_today"` // share of requests over the SLO, of the worst run
	OverAfter  float64 `json:"over_slo_after"`
	Kept       bool    `json:"kept"`   // at most 1 % in every run
	Raised     float64 `json:"raised"` // factor on the CPU requests that use alone suggested; 1 = none
}

const (
	checkNeighbours = 0.7
	checkLength     = 30 * time.Minute // of the busiest stretch
	checkLead       = 5 * time.Minute
	checkRuns       = 2
	raiseBy         = 1.25
	mostRaises      = 6
	raiseAbove      = 0.75 * result.CountsIf // share over the SLO: the twin is not exact
	costLength      = 7 * 24 * time.Hour     // that the fluid engine runs over at most
)

// confirmation runs the twin with today's sizes and with the proposed ones.
type confirmation struct {
	*Rightsizing
	load       *workload.Workload
	neighbours pool.Neighbours // that the history shows
	peak       []int           // most replicas of each service in the history
	seed       uint64
	progress   func(float64)

	busiest  *workload.Workload
	replicas [][2]float64 // by service: mean replicas today and after, over the history
}

func (c *confirmation) run(ctx context.Context) error {
	var err error
	if c.busiest, err = busiest(c.load); err != nil {
		return err
	}
	c.Check = Check{Neighbours: max(checkNeighbours, c.neighbours.Use), Runs: checkRuns, Raised: 1,
		Stretch: fmt.Sprintf("the busiest %v of the history", c.busiest.Duration())}
	if c.Check.OverToday, err = c.over(ctx, c.app); err != nil {
		return err
	}
	c.progress(0.3)
	if err := c.settle(ctx); err != nil {
		return err
	}
	c.progress(0.8)
	return c.scale(ctx)
}

// settle raises the proposed CPU requests until the SLO holds. Where no lower request keeps it,
// they stay as they are today.
func (c *confirmation) settle(ctx context.Context) error {
	for n := range mostRaises {
		over, err := c.over(ctx, c.resized())
		if err != nil {
			return err
		}
		c.Check.OverAfter, c.Check.Kept = over, over <= result.CountsIf
		if over <= raiseAbove || !c.raise() {
			return nil
		}
		c.progress(0.3 + 0.5*float64(n+1)/mostRaises)
	}
	over, err := c.over(ctx, c.resized())
	c.Check.OverAfter, c.Check.Kept = over, over <= result.CountsIf
	return err
}

// raise the CPU requests that are proposed: up to today's where today's sizes keep the SLO, else
// beyond them. It reports whether any was raised.
func (c *confirmation) raise() bool {
	raised := false
	todayKeeps := c.Check.OverToday <= result.CountsIf
	for i := range c.Services {
		p := &c.Services[i]
		if p.Use.CPU == nil || todayKeeps && p.size.CPURequest >= p.Today.CPURequest {
			continue
		}
		request := math.Ceil(raiseBy*p.size.CPURequest*100-1e-6) / 100
		if todayKeeps {
			request = min(request, p.Today.CPURequest)
		}
		p.size.CPURequest = request
		if p.size.CPULimit > 0 {
			p.size.CPULimit = max(p.size.CPULimit, request)
		}
		p.After = amountsOf(p.size)
		raised = true
	}
	if raised {
		c.Check.Raised *= raiseBy
	}
	return raised
}

// resized is the application with the proposed sizes.
func (c *confirmation) resized() *loadline.App {
	app := *c.app
	app.Services = slices.Clone(c.app.Services)
	for i := range app.Services {
		app.Services[i].Size = c.Services[i].size
	}
	return &app
}

// over is the share of requests over the SLO in the worst run of the event engine, on nodes that
// others use.
func (c *confirmation) over(ctx context.Context, app *loadline.App) (float64, error) {
	crowded := *app
	crowded.Nodes = roomFor(c.app, app, c.peak, checkNeighbours)
	load, err := c.busiest.For(&crowded)
	if err != nil {
		return 0, err
	}
	worst := 0.0
	for n := range checkRuns {
		out, err := simulate.Run(ctx, simulate.Spec{
			App: &crowded, Load: load, Workload: c.busiest.Name, Policy: c.Policy, Engine: "event", Duration: c.busiest.Duration(),
			WarmUp: min(checkLead, c.busiest.Duration()/4), Seed: c.seed + uint64(n) + 1,
			Cluster: pool.Cluster{Neighbours: pool.Neighbours{Use: c.Check.Neighbours, Request: checkNeighbours}},
		})
		if err != nil {
			return 0, fmt.Errorf("check the sizes in the simulator: %w", err)
		}
		if over := float64(out.Result.Degraded()); !math.IsNaN(over) {
			worst = max(worst, over)
		}
	}
	return worst, nil
}

// roomFor is nodes with room for twice the most replicas of an application, at the larger of both
// sizes, beside others.
func roomFor(today, after *loadline.App, peak []int, others float64) []loadline.Node {
	const least, times = 8, 2
	size, need := float64(least), 0.0
	memory, wide := int64(0), int64(32<<30)
	for i := range today.Services {
		s, t := &today.Services[i], &after.Services[i]
		largest := max(s.Size.CPURequest, t.Size.CPURequest)
		bytes := max(s.Size.MemoryRequest, t.Size.MemoryRequest)
		size, wide = max(size, 2*largest/(1-others)), max(wide, 4*bytes)
		n := times * max(peak[i], s.Replicas, s.Bounds.MinReplicas, 1)
		need += float64(n) * largest
		memory += int64(n) * bytes
	}
	size = math.Ceil(size)
	count := 2 + int(max(need/(size*(1-others)), float64(memory)/float64(wide)))
	nodes := make([]loadline.Node, count)
	for i := range nodes {
		nodes[i] = loadline.Node{Name: fmt.Sprintf("node-%d", i+1), Cores: size, Memory: wide}
	}
	return nodes
}

// scale finds the replicas that today's policy keeps at both sizes, over the history, in the fluid
// engine.
func (c *confirmation) scale(ctx context.Context) error {
	load := c.load
	if load.Duration() > costLength {
		var err error
		if load, err = load.Slice(load.Duration()-costLength, load.Duration()); err != nil {
			return err
		}
	}
	c.replicas = make([][2]float64, len(c.app.Services))
	for k, app := range []*loadline.App{c.app, c.resized()} {
		roomy := *app
		roomy.Nodes = roomFor(c.app, c.resized(), c.peak, 0)
		arrivals, err := load.For(&roomy)
		if err != nil {
			return err
		}
		out, err := simulate.Run(ctx, simulate.Spec{
			App: &roomy, Load: arrivals, Workload: load.Name, Policy: c.Policy, Engine: "fluid", Duration: load.Duration(), Seed: c.seed + 1,
		})
		if err != nil {
			return fmt.Errorf("simulate the history: %w", err)
		}
		for i := range c.replicas {
			c.replicas[i][k] = float64(out.Result.Services[i].MeanReplicas)
		}
	}
	return nil
}

// busiest stretch of a workload, with its lead.
func busiest(w *workload.Workload) (*workload.Workload, error) {
	length := checkLength + checkLead
	if w.Duration() <= length {
		return w, nil
	}
	bins := max(1, int(checkLength/w.Step))
	sum, best, at := 0.0, -1.0, 0
	for i, rate := range w.Rates {
		sum += rate
		if i >= bins {
			sum -= w.Rates[i-bins]
		}
		if i >= bins-1 && sum > best {
			best, at = sum, i-bins+1
		}
	}
	from := max(time.Duration(at)*w.Step-checkLead, 0)
	return w.Slice(from, min(from+length, w.Duration()))
}
