package apps

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadline/loadline"
)

// SizedFor returns a copy of an application whose services start with the replicas that a load
// needs: each uses the given share of its CPU limit (of its request without a limit), within
// its bounds. A run from the declared replicas would mainly measure how far off those were.
func SizedFor(app *loadline.App, perSecond []float64, utilisation float64) *loadline.App {
	sized := *app
	sized.Services = slices.Clone(app.Services)
	cpu := CPUSeconds(app)
	for i := range sized.Services {
		s := &sized.Services[i]
		cores := 0.0
		for kind, rate := range perSecond {
			cores += rate * cpu[kind][i]
		}
		each := s.Size.CPULimit
		if each == 0 {
			each = s.Size.CPURequest
		}
		each = utilisation*each - s.IdleCPU
		if each <= 0 {
			s.Replicas = s.Bounds.MaxReplicas
			continue
		}
		n := max(int(math.Ceil(cores/each-1e-9)), s.Bounds.MinReplicas, 1)
		s.Replicas = min(n, s.Bounds.MaxReplicas)
	}
	return &sized
}

// MaxScale is the largest factor of Scale.
const MaxScale = 1000

// Scale returns a copy of an application for a multiple of its usual load: replicas at the
// start, their maximum and the nodes are multiplied and rounded up; what a service has at least
// stays. A service with as many replicas at least as at most cannot scale, and stays so with
// more of them. Sizes, demands and SLOs are the same. The load itself is not changed.
func Scale(app *loadline.App, factor float64) (*loadline.App, error) {
	if !(factor >= 1 && factor <= MaxScale) {
		return nil, fmt.Errorf("scale %s by %v: must be a factor from 1 to %d", app.Name, factor, MaxScale)
	}
	if factor == 1 {
		return app, nil
	}
	times := func(n int) int { return int(math.Ceil(float64(n)*factor - 1e-9)) }
	scaled := *app
	scaled.Name = fmt.Sprintf("%s-x%s", app.Name, formatNumber(factor))
	scaled.Services = slices.Clone(app.Services)
	total := 0
	for i := range scaled.Services {
		s := &scaled.Services[i]
		if b := &s.Bounds; b.MinReplicas == b.MaxReplicas {
			b.MinReplicas = times(b.MinReplicas)
		}
		s.Bounds.MaxReplicas = min(times(s.Bounds.MaxReplicas), maxPods)
		s.Bounds.MinReplicas = min(s.Bounds.MinReplicas, maxPods)
		s.Replicas = times(s.Replicas)
		total += s.Replicas
	}
	scaled.Nodes = nil
	for i := range times(len(app.Nodes)) {
		n := app.Nodes[i%len(app.Nodes)]
		if i >= len(app.Nodes) {
			n.Name = fmt.Sprintf("%s-x%d", n.Name, i/len(app.Nodes)+1)
		}
		scaled.Nodes = append(scaled.Nodes, n)
	}
	if total > maxPods || len(scaled.Nodes) > maxNodes {
		return nil, fmt.Errorf("scale %s by %v: makes %d replicas at the start and %d nodes, at most %d and %d are possible",
			app.Name, factor, total, len(scaled.Nodes), maxPods, maxNodes)
	}
	return &scaled, nil
}
