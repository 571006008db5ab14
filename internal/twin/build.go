package twin

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
)

// build assembles the application and validates it by the rules of the file format.
func build(p *past, g *graph, models []model) (*Twin, error) {
	n := &p.notes
	app := &loadline.App{
		Name: p.options.Name, Routing: p.options.Routing,
		Description: fmt.Sprintf("Fitted to %v of history (%s), of which the last %.0f %% were held out.", p.h.Duration(), source(p),
			100*p.options.HeldOut),
	}
	for i := range models {
		app.Services = append(app.Services, service(p, i, &models[i]))
		n.take(models[i].notes)
	}
	p.remarkWorks(g, models)
	sequential := false
	for k := range g.kinds {
		kd := &g.kinds[k]
		root, cut := g.tree(k, models)
		if cut {
			n.warn("kind %s: its call tree has more than %d calls; the rest is left out", kd.name, maxTree)
		}
		sequential = sequential || len(root.Stages) > 1
		slo := p.objective(kd, n)
		timeout := max(10*time.Second, 20*slo.Latency)
		n.assume("kinds."+kd.name+".timeout", timeout, "metrics do not tell when users give up")
		app.Kinds = append(app.Kinds, loadline.Kind{Name: kd.name, Share: round(max(kd.requests, 1e-6), 4), SLO: slo, Timeout: timeout,
			Root: root})
	}
	if sequential {
		n.warn("calls of one service are assumed to be sequential, unless its response time shows otherwise: metrics do not contain " +
			"the order")
	}
	t := &Twin{App: app}
	setNodes(p, t, models, n)
	if p.options.Routing == loadline.RouteRandom {
		n.warn("requests are assumed to be distributed over replicas at random, as kube-proxy does: metrics do not contain the routing")
	}
	if err := apps.Validate(app); err != nil {
		return nil, fmt.Errorf("the fitted application is invalid, which is a bug of the fit: %w", err)
	}
	t.Ranges = t.ranges(p, models)
	t.Report.Assumed, t.Report.Warnings, t.Report.Gaps = n.assumed, n.warnings, p.gaps
	t.Report.From, t.Report.Until, t.Report.Cut = p.h.At(0), p.h.At(p.h.Steps-1), p.h.At(p.cut)
	t.setOrigins(p)
	return t, nil
}

func source(p *past) string {
	if s := p.h.Manifest.Source; s != "" {
		return s
	}
	return "from " + p.h.At(0).UTC().Format(time.RFC3339)
}

// farBeyond is the multiple of the assumed maximum of replicas up to which that of an autoscaler is
// taken.
const farBeyond = 4

func service(p *past, i int, m *model) loadline.Service {
	name := p.tracks[i].name
	field := "services." + name
	s := loadline.Service{
		Name: name, IdleCPU: idleCores(m.demand.idle), Workers: m.station.workers, Backlog: m.station.backlog,
		Memory: m.memory, Startup: m.startup, Size: m.size, OptionalPrice: 1,
	}
	if m.size.CPULimit > 0 {
		s.IdleCPU = min(s.IdleCPU, 0.9*m.size.CPULimit)
	}
	s.CPU, s.Wait = m.station.service(m)
	most := 1
	for _, n := range m.seen.replicas {
		most = max(most, n)
	}
	s.Replicas = max(1, p.lastReplicas(i))
	s.Bounds = loadline.Bounds{
		MinReplicas: 1, MaxReplicas: max(2*max(most, s.Replicas), 10),
		MinCPU: m.size.CPURequest / 4, MaxCPU: 4 * max(m.size.CPURequest, m.size.CPULimit),
		MinMemory: max(m.size.MemoryRequest/4, 1<<20), MaxMemory: 4 * max(m.size.MemoryRequest, m.size.MemoryLimit),
	}
	why := "twice the measured maximum and at least ten"
	if a := p.h.Manifest.Autoscaler(name); a != nil && a.MaxReplicas > 0 {
		// Far more replicas than ever ran need not be simulated.
		s.Bounds.MinReplicas, s.Bounds.MaxReplicas = a.MinReplicas, min(a.MaxReplicas, farBeyond*s.Bounds.MaxReplicas)
		why = "those of its autoscaler"
	}
	m.notes.assume(field+".bounds", fmt.Sprintf("replicas %d..%d", s.Bounds.MinReplicas, s.Bounds.MaxReplicas),
		why+"; a quarter to four times the CPU and memory")
	m.notes.assume(field+".optionalPrice", 1, "nothing is known to be optional")
	return s
}

// idleCores to three digits; less than a hundredth of a millicore is none.
func idleCores(v float64) float64 {
	if v < 1e-5 {
		return 0
	}
	return round(v, 3)
}

// lastReplicas is the last number of replicas before the cut.
func (p *past) lastReplicas(i int) int {
	for s := p.cut - 1; s >= 0; s-- {
		if v := value(p.tracks[i].ready, s); v > 0 {
			return int(math.Round(v))
		}
	}
	return 1
}

// addNodes adds capacity for twice the measured replicas.
func addNodes(app *loadline.App, n *notes) {
	cores, memory, large, wide := 0.0, int64(0), float64(nodeCores), int64(nodeMemory)
	for i := range app.Services {
		s := &app.Services[i]
		cores += s.Size.CPURequest * float64(s.Bounds.MaxReplicas)
		memory += s.Size.MemoryRequest * int64(s.Bounds.MaxReplicas)
		large = max(large, 2*max(s.Size.CPURequest, s.Size.CPULimit))
		wide = max(wide, 2*max(s.Size.MemoryRequest, s.Size.MemoryLimit))
	}
	count := 1 + int(max(cores/large, float64(memory)/float64(wide)))
	for i := range count {
		app.Nodes = append(app.Nodes, loadline.Node{Name: fmt.Sprintf("node-%d", i+1), Cores: math.Ceil(large), Memory: wide})
	}
	n.assume("nodes", fmt.Sprintf("%d of %v cores and %d GiB", count, math.Ceil(large), wide>>30),
		"metrics do not contain the nodes: room for all replicas within the bounds")
}

// setOrigins records the origin of every figure.
func (t *Twin) setOrigins(p *past) {
	t.origins = []apps.Origin{
		{Name: "fit", Kind: apps.Measured, Source: fmt.Sprintf("fitted to %s, %s to %s", source(p),
			p.h.At(0).UTC().Format(time.RFC3339), p.h.At(p.cut-1).UTC().Format(time.RFC3339))},
		{Name: "guess", Kind: apps.Assumed, Source: "the history does not hold it: " + strings.Join(reasons(t.Report.Assumed), "; ")},
	}
	t.marks = map[string]string{}
	for _, a := range t.Report.Assumed {
		t.marks[a.Field] = "guess"
	}
	if len(p.options.Objectives) > 0 {
		t.origins = append(t.origins, apps.Origin{Name: "asked", Kind: apps.Documented,
			Source: "objectives as they were given to the fit"})
		for _, k := range t.App.Kinds {
			if field := "kinds." + k.Name + ".slo"; t.marks[field] == "" {
				t.marks[field] = "asked"
			}
		}
	}
}

// reasons of the assumptions, each once.
func reasons(list []Assumption) []string {
	var out []string
	seen := map[string]bool{}
	for _, a := range list {
		if !seen[a.Why] {
			seen[a.Why] = true
			out = append(out, a.Why)
		}
	}
	return out
}

// Encode writes the application as a model file in which every figure is marked as fitted or
// assumed.
func (t *Twin) Encode() ([]byte, error) { return apps.EncodeMarked(t.App, t.origins, t.marks) }
