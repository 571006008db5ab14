package workload

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// app turns the merged trees into an application.
func (t *callTrees) app(o CallGraphOptions, report *CallGraphReport) *loadline.App {
	names := slices.SortedFunc(maps.Keys(t.kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.kinds[b].visits, t.kinds[a].visits), cmp.Compare(a, b))
	})
	if len(names) > o.MaxKinds {
		for _, left := range names[o.MaxKinds:] {
			report.KindsLeftOut++
			report.RequestsLeftOut += int(t.kinds[left].visits)
		}
		names = names[:o.MaxKinds]
	}
	counts := map[edge]float64{}
	for _, kind := range names {
		root := t.kinds[kind]
		report.CallsLeftOut += root.prune(root.visits, o.MinCalls)
		root.countEdges(counts)
	}
	kept := withoutCycles(counts)
	services := map[string]*moments{}
	for _, kind := range names {
		report.CallsFolded += t.kinds[kind].fold(kept)
		t.kinds[kind].gather(services)
	}

	app := &loadline.App{
		Name:        o.Name,
		Description: fmt.Sprintf("estimated from %d traces (%s)", report.Used, report.Format),
		Routing:     loadline.RouteLeastRequest,
	}
	for _, name := range slices.Sorted(maps.Keys(services)) {
		app.Services = append(app.Services, assumedService(name, *services[name], o.CPUShare))
	}
	requests := 0.0
	for _, kind := range names {
		requests += t.kinds[kind].visits
	}
	for _, kind := range names {
		root := t.kinds[kind]
		k := loadline.Kind{
			Name:  kind,
			Share: root.visits / requests,
			SLO:   loadline.SLO{Percentile: 99, Latency: sloLatency(root, o.SLOFactor)},
			Root:  root.call(app, services, root.visits, root.visits),
		}
		k.Timeout = 20 * k.SLO.Latency
		app.Kinds = append(app.Kinds, k)
	}
	// Capacity for four times the initial replicas.
	for i := range (len(app.Services) + 7) / 8 {
		app.Nodes = append(app.Nodes, loadline.Node{Name: fmt.Sprintf("node-%d", i+1), Cores: 16, Memory: 64 << 30})
	}
	report.Assumed = []string{
		fmt.Sprintf("%v of a visit's own time is CPU, the rest waiting", o.CPUShare),
		"a response time of 0 (under 1 ms) is 0.5 ms",
		fmt.Sprintf("SLO: 99 %% within %v times the mean response time of the kind; time-out at 20 times the SLO", o.SLOFactor),
		"per service: 16 workers, 128 backlog places, 128 MiB and 1 MiB per request, start-up 5 s (CV 0.3), 1 replica of 0.5 to 1 " +
			"core and 512 MiB, 1 to 50 replicas",
		"nodes of 16 cores and 64 GiB, one for every 8 services; least-request routing",
	}
	return app
}

// gather adds up the own time of each service over all its places.
func (n *callNode) gather(services map[string]*moments) {
	m := services[n.service]
	if m == nil {
		m = &moments{}
		services[n.service] = m
	}
	m.merge(n.own)
	for _, c := range n.sorted() {
		c.gather(services)
	}
}

func assumedService(name string, own moments, cpuShare float64) loadline.Service {
	mean := own.mean()
	if mean == 0 {
		mean = underMillisecond.Seconds()
	}
	cv := 0.0
	if own.n > 1 {
		// Folding adds to the sum alone, so the variance may come out below 0.
		cv = math.Sqrt(max(0, own.squares/own.n-own.mean()*own.mean())) / mean
	}
	cv = math.Round(min(cv, 3)*1000) / 1000
	return loadline.Service{
		Name:     name,
		CPU:      loadline.Dist{Mean: roundMicro(mean * cpuShare), CV: cv},
		Wait:     loadline.Dist{Mean: roundMicro(mean * (1 - cpuShare)), CV: cv},
		Workers:  16,
		Backlog:  128,
		Memory:   loadline.Memory{Base: 128 << 20, PerRequest: 1 << 20},
		Startup:  loadline.Dist{Mean: 5 * time.Second, CV: 0.3},
		Replicas: 1,
		Size:     loadline.Size{CPURequest: 0.5, CPULimit: 1, MemoryRequest: 512 << 20, MemoryLimit: 512 << 20},
		Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 50, MinCPU: 0.1, MaxCPU: 4,
			MinMemory: 256 << 20, MaxMemory: 4 << 30},
	}
}

func roundMicro(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds*1e6)) * time.Microsecond
}

// sloLatency is the factor times the mean response time, in whole milliseconds. If the row of
// the entry is missing, its response time is unknown and the slowest of its calls is used.
func sloLatency(root *callNode, factor float64) time.Duration {
	mean := root.rt.mean()
	for _, c := range root.calls {
		mean = max(mean, c.rt.mean())
	}
	return max(time.Millisecond, time.Duration(math.Ceil(mean*factor*1e3))*time.Millisecond)
}

// call makes the loadline.Call of a node that was called by the given visits of its parent.
// Probability and times preserve the mean number of calls per visit.
func (n *callNode) call(app *loadline.App, services map[string]*moments, parentVisits, callers float64) loadline.Call {
	times := max(1, math.Round(n.visits/callers), math.Ceil(n.visits/parentVisits))
	c := loadline.Call{
		Service:     app.ServiceIndex(n.service),
		Probability: n.visits / (parentVisits * times),
		Times:       int(times),
		Work:        1,
	}
	if all := services[n.service].mean(); all > 0 && n.own.n > 0 {
		c.Work = max(0.01, n.own.mean()/all)
	}
	for _, stage := range n.stages() {
		var calls []loadline.Call
		for _, child := range stage {
			calls = append(calls, child.call(app, services, n.visits, child.callers))
		}
		c.Stages = append(c.Stages, calls)
	}
	return c
}

// stages puts a call in the stage of the one before it if the two overlap in most of the visits
// that make both.
func (n *callNode) stages() [][]*callNode {
	var stages [][]*callNode
	for _, c := range n.sorted() {
		if last := len(stages) - 1; last >= 0 {
			before := stages[last][len(stages[last])-1]
			p := n.overlap[[2]string{min(c.service, before.service), max(c.service, before.service)}]
			if p != nil && 2*p.overlapping > p.both {
				stages[last] = append(stages[last], c)
				continue
			}
		}
		stages = append(stages, []*callNode{c})
	}
	return stages
}
