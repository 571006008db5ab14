package nodestudy

import (
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// Run is one run of the study.
type Run struct {
	Question string
	Name     string // unique in its question
	App      *loadline.App
	Rates    []float64 // requests per second, by kind
	// Requests that arrive in WarmUp are not counted. Counters of CPU are read at both instants.
	WarmUp, Length time.Duration
	Changes        []Change // in the order of time
	Repeats        int
	Extra          Extra
}

// Change is made at an instant of a run.
type Change struct {
	At      time.Duration
	Service int
	Setting loadline.Setting
}

// Extra is what is measured of a run besides its requests and its CPU.
type Extra int

// What is measured besides.
const (
	Nothing  Extra = iota
	NewPods        // what the pods that the first change adds get of the requests, over time
	Starts         // how long those pods take to be ready, and their CPU time
	Resizes        // how long the resizes of the first service take
	Restarts       // containers that were killed
)

// The questions, in the order of worth.
const (
	Weights   = "weights"
	Quota     = "quota"
	Graph     = "graph"
	KeepAlive = "keepalive"
	Startup   = "startup"
	Resize    = "resize"
	OOM       = "oom"
)

// Cores that all pods of a node share. What they request counts against the whole machine, of which
// the rest has the control plane and the load generator.
const Cores = 1

// machineCores are what the kubelet offers the scheduler.
const machineCores = 2

// Rate is the load of a kind, constant until the end.
func (r *Run) Rate(kind int, t time.Duration) (perSecond float64, until time.Duration) {
	if t >= r.Length {
		return 0, sim.Never
	}
	return r.Rates[kind], r.Length
}

// Seed of a repeat: of its arrivals.
func (r *Run) Seed(repeat int) uint64 {
	seed := uint64(repeat)
	for _, c := range r.Question + "/" + r.Name {
		seed = seed*131 + uint64(c)
	}
	return seed
}

const mib = 1 << 20

// service with a lognormal demand, and a thread for each request.
func service(name string, cpu time.Duration, cv, request, limit float64) loadline.Service {
	return loadline.Service{
		Name: name, CPU: loadline.Dist{Mean: cpu, CV: cv}, Workers: 256, Backlog: 100_000, Replicas: 1,
		Memory: loadline.Memory{Base: 4 * mib},
		Size:   loadline.Size{CPURequest: request, CPULimit: limit, MemoryRequest: 32 * mib, MemoryLimit: 1 << 30},
		Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 30, MinCPU: 0.01, MaxCPU: 2, MinMemory: 16 * mib, MaxMemory: 1 << 30},
	}
}

// call of a service, then its stages.
func call(service int, stages ...[]loadline.Call) loadline.Call {
	return loadline.Call{Service: service, Probability: 1, Times: 1, Work: 1, Stages: stages}
}

func kind(name string, share float64, root loadline.Call) loadline.Kind {
	return loadline.Kind{Name: name, Share: share, SLO: loadline.SLO{Percentile: 99, Latency: time.Second}, Root: root}
}

func app(name string, cores float64, kinds []loadline.Kind, services ...loadline.Service) *loadline.App {
	return &loadline.App{Name: name, Services: services, Kinds: kinds, Nodes: []loadline.Node{{Name: "real", Cores: cores, Memory: 4 << 30}}}
}

// one service and its kind of request.
func one(name string, cores float64, s loadline.Service) *loadline.App {
	return app(name, cores, []loadline.Kind{kind("get", 1, call(0))}, s)
}

// Runs of all questions, in the order in which they are measured.
func Runs() []Run {
	return slices.Concat(weightRuns(), quotaRuns(), graphRuns(), keepAliveRuns(), startupRuns(), resizeRuns(), oomRuns())
}

// weightRuns have two services of unequal requests on a full node. The load includes the overhead.
func weightRuns() []Run {
	a, b := service("a", 5*time.Millisecond, 0.5, 0.5, 0), service("b", 10*time.Millisecond, 0.8, 0.25, 0)
	model := app("weights", Cores, []loadline.Kind{kind("a", 0.5, call(0)), kind("b", 0.5, call(1))}, a, b)
	var runs []Run
	for _, load := range []float64{0.5, 0.65, 0.8, 0.9, 1} {
		runs = append(runs, Run{
			Question: Weights, Name: fmt.Sprintf("%.0f", 100*load), App: model, WarmUp: 5 * time.Second, Length: 35 * time.Second, Repeats: 2,
			Rates: []float64{load * 0.33 / (a.CPU.Mean + Measured.Visit).Seconds(), load * 0.67 / (b.CPU.Mean + Measured.Visit).Seconds()},
		})
	}
	return runs
}

// quotaRequests are counted in each run under a quota: 100 of them are above the p99.
const quotaRequests = 10_000

// quotaRuns have one service under a quota of half a core. The load is a share of the quota and
// includes the overhead. Demands are small, so that a run has many requests.
func quotaRuns() []Run {
	s := service("web", 1500*time.Microsecond, 0.8, 0.5, 0.5)
	model := one("quota", Cores, s)
	var runs []Run
	for _, load := range []float64{0.9, 0.75, 0.6, 0.4, 0.2} {
		rate := load * s.Size.CPULimit / (s.CPU.Mean + Measured.Visit).Seconds()
		runs = append(runs, Run{
			Question: Quota, Name: fmt.Sprintf("%.0f", 100*load), App: model, Rates: []float64{rate}, WarmUp: 5 * time.Second, Repeats: 3,
			Length: 5*time.Second + time.Duration(1.03*quotaRequests/rate*1e9).Round(time.Second),
		})
	}
	return runs
}

// GraphApp has five services: users browse a catalogue behind a front, and buy.
func GraphApp() *loadline.App {
	const front, catalog, cart, pay, db = 0, 1, 2, 3, 4
	lookUp := call(catalog, []loadline.Call{call(db)})
	browse := call(front, []loadline.Call{lookUp, call(cart)})
	buy := call(front, []loadline.Call{call(cart, []loadline.Call{call(db)})}, []loadline.Call{call(pay)})
	return app("graph", Cores, []loadline.Kind{kind("browse", 0.8, browse), kind("buy", 0.2, buy)},
		service("front", 2*time.Millisecond, 0.5, 0.2, 0), service("catalog", 3*time.Millisecond, 0.8, 0.2, 0),
		service("cart", 2*time.Millisecond, 0.5, 0.1, 0), service("pay", 5*time.Millisecond, 0.5, 0.1, 0),
		service("db", 2*time.Millisecond, 0.8, 0.2, 0))
}

func graphRuns() []Run {
	var runs []Run
	model := GraphApp()
	perRequest := 0.0 // CPU seconds
	for i := range model.Kinds {
		perRequest += model.Kinds[i].Share * Measured.demand(model, &model.Kinds[i].Root).Seconds()
	}
	for _, load := range []float64{0.3, 0.6, 0.8} {
		rate := load * Cores / perRequest
		runs = append(runs, Run{
			Question: Graph, Name: fmt.Sprintf("%.0f", 100*load), App: model, WarmUp: 5 * time.Second, Length: 50 * time.Second, Repeats: 2,
			Rates: []float64{rate * model.Kinds[0].Share, rate * model.Kinds[1].Share},
		})
	}
	return runs
}

// keepAliveRuns add two pods to two, to which clients keep 20 connections.
func keepAliveRuns() []Run {
	var runs []Run
	for _, lifetime := range []time.Duration{0, 15 * time.Second} {
		s := service("web", 2*time.Millisecond, 0.5, 0.1, 0)
		s.Replicas = 2
		model := one("keepalive", Cores, s)
		model.Routing, model.KeepAlive = loadline.RouteKeepAlive, loadline.KeepAlive{Connections: 20, Users: 20, Lifetime: lifetime}
		name := "for-good"
		if lifetime > 0 {
			name = lifetime.String()
		}
		runs = append(runs, Run{
			Question: KeepAlive, Name: name, App: model, Rates: []float64{100}, WarmUp: 15 * time.Second, Length: 60 * time.Second, Repeats: 1,
			Changes: []Change{{15 * time.Second, 0, loadline.Setting{Replicas: loadline.Some(4)}}}, Extra: NewPods,
		})
	}
	return runs
}

// startupRuns add 1 to 20 pods, each of which burns a second of CPU before it is ready, to one under
// load. A request has a connection of its own, so that new pods take part as soon as they are ready.
func startupRuns() []Run {
	var runs []Run
	for _, pods := range []int{1, 5, 10, 20} {
		s := service("web", 5*time.Millisecond, 0.5, 0.04, 0)
		s.Startup, s.StartupCPU = loadline.Dist{Mean: 2 * time.Second}, 0.5
		model := one("startup", Cores, s)
		runs = append(runs, Run{
			Question: Startup, Name: fmt.Sprint(pods), App: model, Rates: []float64{20}, WarmUp: 10 * time.Second, Repeats: 2,
			Length:  10*time.Second + max(15*time.Second, time.Duration(pods)*2500*time.Millisecond),
			Changes: []Change{{10 * time.Second, 0, loadline.Setting{Replicas: loadline.Some(1 + pods)}}}, Extra: Starts,
		})
	}
	return runs
}

// resizeRuns change the CPU of a pod under load, on a free node and on a full one, where the resize
// waits until another pod goes.
func resizeRuns() []Run {
	const request = 0.3
	web := service("web", 5*time.Millisecond, 0.5, request, request)
	to := func(cores float64) loadline.Setting {
		return loadline.Setting{CPURequest: loadline.Some(cores), CPULimit: loadline.Some(cores)}
	}
	free := Run{
		Question: Resize, Name: "free", App: one("resize", machineCores, web),
		Rates: []float64{35}, WarmUp: 5 * time.Second, Length: 65 * time.Second, Extra: Resizes, Repeats: 1,
	}
	for i := range 10 {
		at := 8*time.Second + time.Duration(i)*5500*time.Millisecond
		free.Changes = append(free.Changes, Change{at, 0, to([]float64{2 * request, request}[i%2])})
	}
	full := free
	blocker := service("blocker", time.Millisecond, 0, 1.4, 0)
	blocker.Bounds.MinReplicas = 0
	full.Name, full.Length = "full", 60*time.Second
	full.App = app("resize", machineCores, []loadline.Kind{kind("get", 1, call(0))}, web, blocker)
	full.Changes = []Change{{8 * time.Second, 0, to(1)}, {16 * time.Second, 1, loadline.Setting{Replicas: loadline.Some(0)}}}
	return []Run{free, full}
}

// oomRuns load a service beyond its quota, so that its requests in flight need more memory than
// its limit.
func oomRuns() []Run {
	s := service("web", 20*time.Millisecond, 0.5, 0.2, 0.2)
	s.Workers, s.Backlog = 64, 64
	s.Memory = loadline.Memory{Base: 8 * mib, PerRequest: 4 * mib}
	s.Size.MemoryRequest, s.Size.MemoryLimit = 96*mib, 96*mib
	return []Run{{
		Question: OOM, Name: "overload", App: one("oom", Cores, s), Rates: []float64{15}, Length: 40 * time.Second,
		Repeats: 1, Extra: Restarts,
	}}
}
