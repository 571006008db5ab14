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
