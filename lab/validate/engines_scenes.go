package validate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim/pool"
)

// Scenes are those in which the fluid engine once failed, and as many drawn by the seed as are
// asked for. Quick shortens them.
func Scenes(drawn int, seed uint64, quick bool) ([]Scene, error) {
	all, err := knownScenes()
	if err != nil {
		return nil, err
	}
	for i := range drawn {
		s, err := drawScene(rand.New(rand.NewPCG(seed, uint64(i))))
		if err != nil {
			return nil, err
		}
		s.Name = fmt.Sprintf("%d: %s", i+1, s.Name)
		all = append(all, s)
	}
	for i := range all {
		all[i].Duration, all[i].WarmUp = 15*time.Minute, 3*time.Minute
		if quick {
			all[i].Duration, all[i].WarmUp = 8*time.Minute, 2*time.Minute
		}
	}
	return all, nil
}

// knownScenes are the failures from which this list began.
func knownScenes() ([]Scene, error) {
	boutique, err := apps.Load("boutique")
	if err != nil {
		return nil, err
	}
	app := boutique.App
	hpa := []string{"hpa:target=50", "hpa:target=80", "hpa:target=110"}
	lifted := lift(app)
	return []Scene{
		{
			Name: "bursty boutique", App: app, Load: "bursty:low=12,high=40,calm=3m,burst=90s+noise:cv=0.05",
			Policies: append(slices.Clone(hpa), "ursa"),
		},
		{
			Name: "called 12 times under a quota of 0.2 cores", App: calledOften(), Load: "diurnal:low=5,high=14,period=15m,peak=8m",
			Policies: append(slices.Clone(hpa), "static"),
		},
		{
			Name: "memory flash", App: memoryFlash(), Load: "constant:rps=20+flash:at=5m,factor=3,rise=30s,hold=4m,fall=1m",
			Policies: []string{"static", "hpa:target=50", "hpa:target=80"},
		},
		{
			Name: "autothrottle", App: app, Load: "diurnal:low=10,high=40,period=15m,peak=8m+noise:cv=0.03",
			Policies: []string{"autothrottle", "hpa:target=60", "vpa"},
		},
		{
			Name: "crowded by its own services, no limits, small requests", App: crowdedByItself(app), Load: "constant:rps=40+noise:cv=0.05",
			Policies: []string{"static", "hpa:target=80", "hpa:target=200"},
		},
		{
			Name: "neighbours at 70 %, small requests, no limits", App: tiny(lifted),
			Load:     "diurnal:low=10,high=40,period=15m,peak=8m+noise:cv=0.03",
			Cluster:  pool.Cluster{Neighbours: pool.Neighbours{Use: 0.7, Request: 0.7, Memory: 0.3}},
			Policies: []string{"static", "hpa:target=80", "ursa"},
		},
		{
			Name: "elastic pool of 4 cores, no limits", App: grown(lifted, 5), Load: "diurnal:low=50,high=200,period=15m,peak=8m+noise:cv=0.03",
			Cluster:  pool.Cluster{Pools: []pool.Pool{elastic(4)}},
			Policies: []string{"hpa:target=60", "hpa:target=100", "hpa:target=130"},
		},
	}, nil
}

func elastic(cores float64) pool.Pool {
	return pool.Pool{Name: "elastic", Elastic: true, Types: []pool.Type{
		{Name: fmt.Sprintf("%g-cores", cores), Cores: cores, Memory: int64(cores) * 4 << 30, Price: 0.0425 * cores},
	}}
}

// calledOften is a front end that calls a small service twelve times in a row.
func calledOften() *loadline.App {
	small := steadyService("back", 2*time.Millisecond, 0.2)
	front := steadyService("front", 3*time.Millisecond, 1)
	root := loadline.Call{Service: 0, Probability: 1, Times: 1, Work: 1, Stages: [][]loadline.Call{
		{{Service: 1, Probability: 1, Times: 12, Work: 1}},
	}}
	front.Replicas, small.Replicas = 1, 2
	return &loadline.App{
		Name: "called-often", Services: []loadline.Service{front, small}, Nodes: nodesOf(4, 4),
		Kinds: []loadline.Kind{{
			Name: "get", Share: 1, Root: root, SLO: loadline.SLO{Percentile: 99, Latency: 300 * time.Millisecond}, Timeout: 5 * time.Second,
		}},
	}
}

// memoryFlash has a service whose requests need much memory: a crowd that is several times the
// usual one would exceed its limit.
func memoryFlash() *loadline.App {
	s := steadyService("render", 30*time.Millisecond, 1)
	s.Wait = loadline.Dist{Mean: 100 * time.Millisecond, CV: 0.5}
	s.Memory = loadline.Memory{Base: 100 << 20, PerRequest: 8 << 20}
	s.Size.MemoryRequest, s.Size.MemoryLimit = 256<<20, 512<<20
	s.Replicas, s.Bounds.MinReplicas = 2, 2
	return &loadline.App{
		Name: "memory-flash", Services: []loadline.Service{s}, Nodes: nodesOf(4, 4),
		Kinds: []loadline.Kind{{
			Name: "get", Share: 1, Root: loadline.Call{Service: 0, Probability: 1, Times: 1, Work: 1},
			SLO: loadline.SLO{Percentile: 99, Latency: 500 * time.Millisecond}, Timeout: 5 * time.Second,
		}},
	}
}

func steadyService(name string, cpu time.Duration, limit float64) loadline.Service {
	return loadline.Service{
		Name: name, CPU: loadline.Dist{Mean: cpu, CV: 0.8}, Workers: 200, Backlog: 200,
		Memory: loadline.Memory{Base: 32 << 20}, Startup: loadline.Dist{Mean: 5 * time.Second, CV: 0.2},
		Size:   loadline.Size{CPURequest: limit, CPULimit: limit, MemoryRequest: 64 << 20, MemoryLimit: 512 << 20},
		Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 20, MinCPU: 0.05, MaxCPU: 4, MinMemory: 32 << 20, MaxMemory: 4 << 30},
	}
}

func nodesOf(count int, cores float64) []loadline.Node {
	var all []loadline.Node
	for i := range count {
		all = append(all, loadline.Node{Name: fmt.Sprint("node", i+1), Cores: cores, Memory: int64(4*cores) << 30})
	}
	return all
}

// change returns a copy of an application with every service changed.
func change(app *loadline.App, f func(*loadline.Service)) *loadline.App {
	out := *app
	out.Services = slices.Clone(app.Services)
	for i := range out.Services {
		f(&out.Services[i])
	}
	return &out
}

// lift removes the CPU limits.
func lift(app *loadline.App) *loadline.App {
	return change(app, func(s *loadline.Service) { s.Size.CPULimit = 0 })
}

// tiny sets CPU requests to their lower bounds.
func tiny(app *loadline.App) *loadline.App {
	return change(app, func(s *loadline.Service) { s.Size.CPURequest = s.Bounds.MinCPU })
}

// grown is an application for a larger load.
func grown(app *loadline.App, by int) *loadline.App {
	return change(app, func(s *loadline.Service) {
		s.Replicas *= by
		s.Bounds.MaxReplicas *= by
	})
}

// crowdedByItself has so few cores that its services use three quarters of them.
func crowdedByItself(app *loadline.App) *loadline.App {
	out := tiny(lift(app))
	out.Nodes = nodesOf(1, math.Ceil(coresFor(app, 40)/0.75))
	return out
}

// coresFor is the CPU that an application uses at a load, with one replica of each service.
func coresFor(app *loadline.App, rps float64) float64 {
	shares, cores := 0.0, 0.0
	for k := range app.Kinds {
		shares += app.Kinds[k].Share
	}
	for k, perService := range apps.CPUSeconds(app) {
		for _, seconds := range perService {
			cores += rps * app.Kinds[k].Share / shares * seconds
		}
	}
	for i := range app.Services {
		cores += app.Services[i].IdleCPU
	}
	return cores
}

// drawScene draws application, load, policies, limits, nodes, neighbours and pool.
func drawScene(rng *rand.Rand) (Scene, error) {
	name := pick(rng, "boutique", "bookinfo", "sockshop", "trainticket", "boutique")
	m, err := apps.Load(name)
	if err != nil {
		return Scene{}, err
	}
	app := m.App
	shape := pick(rng, "diurnal", "bursty", "flash", "noisy", "step", "ramp")
	times := pick(rng, 1, 1, 3)
	top := 40 * float64(times)
	s := Scene{Drawn: true, Load: loadOf(shape, top)}
	words := []string{name, fmt.Sprintf("%s %.0f/s", shape, top)}
	if pick(rng, true, false) {
		app = lift(app)
		words = append(words, "no limits")
	}
	if times > 1 {
		app = grown(app, times)
	}
	cores := pick(rng, 4.0, 8)
	use, request := pick(rng, 0, 0.5, 0.7, 0.85), pick(rng, 0.5, 1.0)
	if use > 0 {
		s.Cluster.Neighbours = pool.Neighbours{Use: use, Request: use * request, Memory: 0.3}
		words = append(words, fmt.Sprintf("neighbours %.0f %%, request %.0f %%", 100*use, 100*use*request))
	}
	if elasticPool := pick(rng, false, false, true); elasticPool {
		s.Cluster.Pools = []pool.Pool{elastic(cores)}
		words = append(words, fmt.Sprintf("elastic pool of %g cores", cores))
	} else {
		out := *app
		out.Nodes = nodesOf(int(math.Ceil(2.5*requested(app, top)/(cores*(1-use*request))))+1, cores)
		app = &out
		words = append(words, fmt.Sprintf("%d nodes of %g cores", len(app.Nodes), cores))
	}
	s.App, s.Name = app, strings.Join(words, ", ")
	s.Policies = drawPolicies(rng)
	return s, nil
}

// requested is the CPU that HPA at 80 % would request at a load.
func requested(app *loadline.App, rps float64) float64 {
	least := 0.0
	for i := range app.Services {
		least += app.Services[i].Size.CPURequest * float64(app.Services[i].Replicas)
	}
	return max(least, coresFor(app, rps)/0.8)
}

func loadOf(shape string, top float64) string {
	switch shape {
	case "diurnal":
		return fmt.Sprintf("diurnal:low=%g,high=%g,period=15m,peak=8m+noise:cv=0.03", top/4, top)
	case "bursty":
		return fmt.Sprintf("bursty:low=%g,high=%g,calm=3m,burst=90s+noise:cv=0.05", 0.3*top, top)
	case "flash":
		return fmt.Sprintf("constant:rps=%g+flash:at=5m,factor=4,rise=1m,hold=4m,fall=2m+noise:cv=0.05", top/4)
	case "noisy":
		return fmt.Sprintf("constant:rps=%g+noise:cv=0.25,corr=1m", top/2)
	case "step":
		return fmt.Sprintf("step:from=%g,to=%g,at=6m+noise:cv=0.03", top/3, top)
	}
	return fmt.Sprintf("ramp:from=%g,to=%g+noise:cv=0.03", top/5, top)
}

// drawPolicies draws three different ones.
func drawPolicies(rng *rand.Rand) []string {
	all := []string{
		fmt.Sprintf("hpa:target=%d", pick(rng, 40, 50, 60)), fmt.Sprintf("hpa:target=%d", pick(rng, 80, 90, 100, 120)),
		"static", fmt.Sprintf("kpa:target=%d", pick(rng, 2, 5, 10)), "vpa", "hpa+vpa", "ursa", "autothrottle",
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:3]
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }
