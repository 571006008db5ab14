package apps

import (
	"math"
	"testing"
)

func TestSizedForCarriesTheLoad(t *testing.T) {
	m, err := Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	declared := m.App.Services[0].Replicas
	sized := SizedFor(m.App, []float64{200}, 0.6)
	cpu := CPUSeconds(m.App)
	for i, s := range sized.Services {
		used := func(replicas int) float64 {
			return (200*cpu[0][i]/float64(replicas) + s.IdleCPU) / s.Size.CPULimit
		}
		if used(s.Replicas) > 0.6 && s.Replicas < s.Bounds.MaxReplicas {
			t.Errorf("%s: %d replicas are at %.0f %%", s.Name, s.Replicas, 100*used(s.Replicas))
		}
		if s.Replicas > s.Bounds.MinReplicas && used(s.Replicas-1) <= 0.6 {
			t.Errorf("%s: one of %d replicas is too many", s.Name, s.Replicas)
		}
	}
	if m.App.Services[0].Replicas != declared {
		t.Error("the application itself was changed")
	}
	idle := SizedFor(m.App, []float64{0}, 0.6)
	for _, s := range idle.Services {
		if s.Replicas != max(s.Bounds.MinReplicas, 1) {
			t.Errorf("%s: %d replicas without load", s.Name, s.Replicas)
		}
	}
	flood := SizedFor(m.App, []float64{math.MaxInt32}, 0.6)
	if s := flood.Services[0]; s.Replicas != s.Bounds.MaxReplicas {
		t.Errorf("%d replicas, beyond the bound of %d", s.Replicas, s.Bounds.MaxReplicas)
	}
}

func TestScaleMultipliesBoundsStartAndNodes(t *testing.T) {
	m, err := Load("boutique")
	if err != nil {
		t.Fatal(err)
	}
	before := m.App.Services[0]
	m.App.Services[1].Bounds.MinReplicas = m.App.Services[1].Bounds.MaxReplicas // it cannot scale
	scaled, err := Scale(m.App, 2.5)
	if err != nil {
		t.Fatal(err)
	}
	times := func(n int) int { return int(math.Ceil(2.5 * float64(n))) }
	for i := range scaled.Services {
		was, is := m.App.Services[i], scaled.Services[i]
		least := was.Bounds.MinReplicas
		if least == was.Bounds.MaxReplicas {
			least = times(least)
		}
		if is.Replicas != times(was.Replicas) || is.Bounds.MaxReplicas != times(was.Bounds.MaxReplicas) || is.Bounds.MinReplicas != least {
			t.Errorf("%s: %d replicas within %+v become %d within %+v", was.Name, was.Replicas, was.Bounds, is.Replicas, is.Bounds)
		}
		if is.Size != was.Size || is.CPU != was.CPU {
			t.Errorf("%s: its size or its demand changed", was.Name)
		}
	}
	if len(scaled.Nodes) != times(len(m.App.Nodes)) || scaled.Name != "boutique-x2.5" {
		t.Errorf("%d nodes of %s", len(scaled.Nodes), scaled.Name)
	}
	names := map[string]bool{}
	for _, n := range scaled.Nodes {
		if n.Cores != m.App.Nodes[0].Cores || names[n.Name] {
			t.Errorf("node %s with %v cores", n.Name, n.Cores)
		}
		names[n.Name] = true
	}
	if now := m.App.Services[0]; now.Bounds != before.Bounds || now.Replicas != before.Replicas {
		t.Error("the application itself was changed")
	}
	if same, err := Scale(m.App, 1); err != nil || same != m.App {
		t.Errorf("a factor of 1 changed it: %v", err)
	}
}

func TestScaleRefusesFactors(t *testing.T) {
	m, err := Load("trainticket")
	if err != nil {
		t.Fatal(err)
	}
	for _, factor := range []float64{0, 0.5, -1, math.NaN(), math.Inf(1), 1001, 1000} {
		if _, err := Scale(m.App, factor); err == nil {
			t.Errorf("a factor of %v was accepted", factor)
		}
	}
}
