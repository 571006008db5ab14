package apps

import (
	"testing"
)

func TestEmbeddedModelsAreSoundAndMarked(t *testing.T) {
	if len(Names()) == 0 {
		t.Fatal("no models are embedded")
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			m, err := Load(name)
			if err != nil {
				t.Fatal(err)
			}
			if m.App.Name != name {
				t.Errorf("the model in %s.yaml is named %q", name, m.App.Name)
			}
			r := Check(m)
			for _, w := range r.Warnings {
				t.Errorf("warning: %s", w)
			}
			for _, f := range m.Figures {
				if f.Line > 0 && f.Origin == "" {
					t.Errorf("%s.yaml:%d: %s: %s has no origin: tag it", name, f.Line, f.Field, f.Value)
				}
			}
			// Otherwise adding replicas, the only action of many policies, would never meet it.
			for _, k := range r.Kinds {
				if k.SLO.Latency < 3*k.Unloaded {
					t.Errorf("kind %s: the SLO of %v leaves no room above %v on idle replicas of the initial size", k.Name,
						k.SLO.Latency, k.Unloaded)
				}
			}
			for _, s := range m.App.Services {
				if s.Bounds.MaxReplicas <= s.Bounds.MinReplicas && s.Bounds.MaxCPU <= s.Bounds.MinCPU {
					t.Errorf("%s leaves nothing to scale", s.Name)
				}
			}
			t.Logf("%d services, %d kinds, %d figures: %v", r.Services, len(r.Kinds), r.Figures, r.Shares)
		})
	}
}
