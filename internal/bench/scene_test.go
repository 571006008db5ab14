package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/sim/pool"
)

func suiteScenes(t *testing.T, name string) []Scene {
	t.Helper()
	m, err := SuiteNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	return m.Scenes
}

// The design of the suites: what occurs how often.
func TestScenesCoverTheDesign(t *testing.T) {
	var names []string
	for _, s := range suiteScenes(t, "scale") {
		names = append(names, s.Name)
	}
	for _, word := range []string{
		"x1", "x10", "x50", "boutique", "trainticket", "quotes", "4-core", "8-core", "0%", "50%", "70%", "85%", "diurnal", "bursty", "flash",
		"noisy", "ramp", "step", "twitter", "nasa", "wikipedia", "azure-functions",
	} {
		if !slices.ContainsFunc(names, func(name string) bool {
			return slices.ContainsFunc(strings.Fields(name), func(w string) bool { return w == word || strings.HasPrefix(w, word+"/") })
		}) {
			t.Errorf("no scene has %s", word)
		}
	}
	above, below := 0, 0
	for _, s := range suiteScenes(t, "scale") {
		if n := s.Cluster.Neighbours; n.Request > n.Use {
			above++
		} else if n.Request < n.Use {
			below++
		}
		if len(s.Cluster.Pools) == 0 && s.Cluster.Neighbours.Use == 0 {
			t.Errorf("%s has neither a pool nor neighbours: requests are free there", s.Name)
		}
	}
	if above == 0 || below == 0 {
		t.Errorf("%d scenes with requests above use, %d below", above, below)
	}
}

func TestBarIsWhatWasFixed(t *testing.T) {
	m, err := SuiteNamed("bar")
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Scenes) != 9 || len(m.Policies) != 12 || m.Seeds != 5 {
		t.Errorf("%d scenes, %d policies, %d seeds", len(m.Scenes), len(m.Policies), m.Seeds)
	}
	for _, p := range m.Policies[:8] {
		if !strings.Contains(p.Spec, "limits=lifted") {
			t.Errorf("%s keeps CPU limits", p.Label)
		}
	}
	for _, s := range m.Scenes {
		if s.App.Name != "boutique-x10" || s.Cluster.Pools[0].Name != "bar" || s.Cluster.Pools[0].Start.Mean.Seconds() != 45 {
			t.Errorf("%s on %v", s.App.Name, s.Cluster)
		}
	}
}

// In the scene for memory, the replicas at the start fill the memory of the nodes before their
// cores.
func TestMemorySetsTheNumberOfNodes(t *testing.T) {
	found := false
	for _, s := range suiteScenes(t, "scale") {
		if s.App.Name != "trainticket-x10" {
			continue
		}
		cores, memory := 0.0, 0.0
		for _, service := range s.App.Model.Services {
			cores += float64(service.Replicas) * service.Size.CPURequest
			memory += float64(service.Replicas) * float64(service.Size.MemoryRequest)
		}
		node := s.Cluster.Pools[0].Types[0]
		reserved := pool.ReservedFor(node)
		byMemory := memory/float64(node.Memory-reserved.Memory) > cores/(node.Cores-reserved.Cores)
		if strings.Contains(s.Name, "4-core/8Gi") {
			found = true
			if !byMemory {
				t.Errorf("%s: cores set the number of nodes", s.Name)
			}
		}
	}
	if !found {
		t.Error("there is no such scene")
	}
}

// The connectors of quotes are full before HPA's default target sees it: their workers wait.
func TestQuotesIsBoundByWaiting(t *testing.T) {
	a, err := LoadApp("quotes")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range a.Model.Services {
		if !strings.HasPrefix(s.Name, "connector") {
			continue
		}
		full := float64(s.Workers) / (s.CPU.Mean + s.Wait.Mean).Seconds() // requests/s with every worker busy
		if use := full * s.CPU.Mean.Seconds(); use > 0.8*s.Size.CPURequest {
			t.Errorf("%s uses %.2f of %.2f cores when its workers are full", s.Name, use, s.Size.CPURequest)
		}
	}
}

func TestScenesAreChosenByWords(t *testing.T) {
	m, err := SuiteNamed("scale")
	if err != nil {
		t.Fatal(err)
	}
	some, err := m.Choose([]string{"boutique x10 bursty", "quotes"})
	if err != nil || len(some.Scenes) != 3 || some.Scenes[0].Name != "boutique x10 bursty 4-core 70%" {
		t.Errorf("%d scenes, %v", len(some.Scenes), err)
	}
	if _, err := m.Choose([]string{"boutique x11"}); err == nil || !strings.Contains(err.Error(), "boutique x10 bursty 4-core 70%") {
		t.Errorf("an unknown scene: %v", err)
	}
	if _, err := smallMatrix("hpa").Choose([]string{"x10"}); err == nil || !strings.Contains(err.Error(), "lists no scenes") {
		t.Errorf("a comparison without scenes: %v", err)
	}
}

// What make results runs fits into an hour on two cores; figures are estimates of Plan.
func TestSuitesFitIntoTheirBudget(t *testing.T) {
	total := 0.0
	for _, name := range []string{"scale", "tuned", "contention"} {
		m, err := SuiteNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := m.Plan("../../../shared/data")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d runs, %.0f + %.0f core-seconds", name, plan.Runs, float64(plan.RunsS), float64(plan.PrepareS))
		total += float64(plan.RunsS + plan.PrepareS)
	}
	if total > 2*3600 {
		t.Errorf("%.0f core-seconds, more than two cores have in an hour", total)
	}
}
