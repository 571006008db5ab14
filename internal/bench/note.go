package bench

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/outlook"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
)

// Axes of Record.Axes.
const (
	axisReplicas = "replicas"
	axisCPU      = "cpu"
	axisMemory   = "memory"
	axisBrownout = "brownout"
)

// Decisions kept of a run. A policy that changes forty limits each second makes more than can
// be read.
const (
	decisionsAtMost = 2000
	worthNoting     = 0.2 // relative change of CPU or memory since the last note
)

// notebook records the changes of decisions.
type notebook struct {
	app       *loadline.App
	prices    pool.Prices
	now       []loadline.Allocation // desired allocations of the services
	noted     []loadline.Allocation // last recorded
	decisions []Decision
	leftOut   int
	moved     map[string]bool
	applied   *policy.Schedule
	every     time.Duration // resolution of applied; 0 = exact

	replicaChanges, resizes int
	refused                 map[string]bool // axes on which changes were not allowed
}

func newNotebook(app *loadline.App, prices pool.Prices) *notebook {
	n := &notebook{app: app, prices: prices, moved: map[string]bool{}, refused: map[string]bool{}, applied: policy.NewSchedule(app)}
	for _, s := range app.Services {
		n.now = append(n.now, loadline.Allocation{Replicas: s.Replicas, Size: s.Size})
	}
	n.noted = slices.Clone(n.now)
	return n
}

// page is the notebook for one of the applications, whose decisions refer to its own services.
type page struct {
	*notebook
	app   *loadline.App
	first int // of its services among those of all
	twin  *outlook.Twin
}

// hooks that record the decisions of one application.
func (n *notebook) hooks(application int) simulate.Hooks {
	own := apps.Split(n.app)[application]
	p := &page{n, own, n.app.TenantRanges()[application].FirstService, &outlook.Twin{App: own, Prices: n.prices, WithoutUsers: true}}
	return simulate.Hooks{Decided: p.decided, Decision: p.note}
}

// decided adds the twin's estimate to a decision that will be recorded.
func (n *page) decided(d *loadline.Decision, s loadline.Situation) {
	for _, sp := range d.Plan.Services {
		if len(n.decisions) < decisionsAtMost && describeChange(n.noted[n.first+sp.Service], s.InFlight[sp.Service].With(sp.Setting)) != "" {
			n.twin.Foresee(d, s)
			return
		}
	}
}

// note records an applied decision.
func (n *page) note(d *loadline.Decision) {
	for i := range d.Changed {
		if c := &d.Changed[i]; c.Guard == guard.AxesGuard {
			now := n.now[n.first+c.Service]
			mark(n.refused, now.With(c.To), now.With(c.From))
		}
	}
	if d.Applied.IsZero() {
		return
	}
	for _, sp := range d.Plan.Services {
		service := n.first + sp.Service
		before := n.now[service]
		after := before.With(sp.Setting)
		n.now[service] = after
		n.watch(before, after)
		n.apply(service, sim.Since(d.Applied), after)
		change := describeChange(n.noted[service], after)
		if change == "" || len(n.decisions) >= decisionsAtMost {
			n.leftOut++
			continue
		}
		n.noted[service] = after
		n.decisions = append(n.decisions, Decision{
			T: rounded(sim.Since(d.Applied).Seconds()), Service: n.notebook.app.Services[service].Name, Change: change,
			Reason: decisionlog.Why(d, n.app, sp.Service),
		})
	}
}

// stepsAtMost are kept of a schedule. One with more, of a policy that changes limits each second,
// is kept at a coarser resolution.
const stepsAtMost = 4000

func (n *notebook) apply(service int, at time.Duration, to loadline.Allocation) {
	if n.every > 0 {
		at = at.Truncate(n.every)
	}
	n.applied.Set(service, at, to)
	for n.applied.Len() > stepsAtMost {
		n.every = max(2*n.every, time.Second)
		n.applied = n.applied.Every(n.every)
	}
}

// schedule that was applied, to be played again.
func (n *notebook) schedule(deployed loadline.Needs) *policy.Schedule {
	n.applied.Reserve, n.applied.RecreateAfter = deployed.Reserve, deployed.RecreateAfter
	return n.applied
}

func (n *notebook) watch(before, after loadline.Allocation) {
	mark(n.moved, before, after)
	if before.Replicas != after.Replicas {
		n.replicaChanges++
	}
	if before.Size != after.Size {
		n.resizes++
	}
}

// mark the axes on which two allocations differ.
func mark(axes map[string]bool, before, after loadline.Allocation) {
	a, b := before.Size, after.Size
	axes[axisReplicas] = axes[axisReplicas] || before.Replicas != after.Replicas
	axes[axisCPU] = axes[axisCPU] || a.CPURequest != b.CPURequest || a.CPULimit != b.CPULimit
	axes[axisMemory] = axes[axisMemory] || a.MemoryRequest != b.MemoryRequest || a.MemoryLimit != b.MemoryLimit
	axes[axisBrownout] = axes[axisBrownout] || before.Brownout != after.Brownout
}

func (n *notebook) axes() []string { return listAxes(n.moved) }

func (n *notebook) notAllowed() []string { return listAxes(n.refused) }

func listAxes(marked map[string]bool) []string {
	axes := []string{}
	for _, a := range []string{axisReplicas, axisCPU, axisMemory, axisBrownout} {
		if marked[a] {
			axes = append(axes, a)
		}
	}
	return axes
}

// describeChange describes a change that is large enough; "" = none.
func describeChange(from, to loadline.Allocation) string {
	text := ""
	add := func(format string, args ...any) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf(format, args...)
	}
	if from.Replicas != to.Replicas {
		add("replicas %d -> %d", from.Replicas, to.Replicas)
	}
	sizes := []struct {
		what     string
		from, to float64
		unit     float64
		suffix   string
	}{
		{"CPU request", from.Size.CPURequest, to.Size.CPURequest, 1, ""},
		{"CPU limit", from.Size.CPULimit, to.Size.CPULimit, 1, ""},
		{"memory request", float64(from.Size.MemoryRequest), float64(to.Size.MemoryRequest), 1 << 20, " MiB"},
		{"memory limit", float64(from.Size.MemoryLimit), float64(to.Size.MemoryLimit), 1 << 20, " MiB"},
	}
	for _, s := range sizes {
		if s.from != s.to && math.Abs(s.to-s.from) >= worthNoting*s.from {
			add("%s %s -> %s%s", s.what, digits(s.from/s.unit), digits(s.to/s.unit), s.suffix)
		}
	}
	if from.Brownout != to.Brownout {
		add("brownout %v -> %v", from.Brownout, to.Brownout)
	}
	return text
}

// rounded keeps five digits, enough for figures.
func rounded(v float64) result.Number {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return result.Number(v)
	}
	scale := math.Pow(10, 4-math.Floor(math.Log10(math.Abs(v))))
	return result.Number(math.Round(v*scale) / scale)
}

func roundedAll(values []float64) []result.Number {
	out := make([]result.Number, len(values))
	for i, v := range values {
		out[i] = rounded(v)
	}
	return out
}

func timelineOf(app *loadline.App, s *simulate.Timeline) Timeline {
	timeline := Timeline{
		Load: roundedAll(s.Load), Failed: roundedAll(s.Failed), Used: roundedAll(s.Used), Asked: roundedAll(s.Asked),
		T: make([]result.Number, len(s.At)), Replicas: map[string][]result.Number{},
		AtSLO: map[string][]result.Number{}, SLOMs: map[string]result.Number{},
	}
	for i, at := range s.At {
		timeline.T[i] = rounded(at.Seconds())
	}
	for i := range app.Services {
		timeline.Replicas[app.Services[i].Name] = roundedAll(s.Ready[i])
	}
	for k := range app.Kinds {
		ms := make([]float64, len(s.Latency[k]))
		for i, seconds := range s.Latency[k] {
			ms[i] = 1000 * seconds
		}
		timeline.AtSLO[app.Kinds[k].Name] = roundedAll(ms)
		timeline.SLOMs[app.Kinds[k].Name] = result.Number(app.Kinds[k].SLO.Latency.Seconds() * 1e3)
	}
	return timeline
}

// bucketsOf a histogram, as coarse as exporters show it, without empty ones.
func bucketsOf(h *sim.Histogram) []Bucket {
	buckets := []Bucket{}
	if !(h.Count() > 0) {
		return buckets
	}
	edges := sim.NewHistogram(sim.ExporterBits)
	above := 1.0
	for i := range edges.Buckets() {
		if above < 1e-12 {
			break
		}
		upper := edges.Lower(i + 1)
		next := h.ShareAbove(upper)
		if n := (above - next) * h.Count(); n > 1e-6 {
			buckets = append(buckets, Bucket{rounded(upper / 1e6), rounded(n)})
		}
		above = next
	}
	return buckets
}

// digits writes three significant digits without an exponent for thousands.
func digits(v float64) string {
	if math.Abs(v) >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
