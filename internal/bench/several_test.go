package bench

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
)

// smallCluster is two small applications with their own loads on one pool.
func smallCluster(t *testing.T, policies ...string) Matrix {
	t.Helper()
	slower := *smallApp().Model
	slower.Services = append(slower.Services[:0:0], slower.Services...)
	slower.Services[0].CPU.Mean *= 2
	joined, err := apps.Join([]apps.Joined{{Name: "east", App: smallApp().Model}, {Name: "west", App: &slower}})
	if err != nil {
		t.Fatal(err)
	}
	m := Matrix{Seeds: 2, WarmUp: time.Minute, Neighbours: []float64{}, Scenes: []Scene{{
		Name: "both", App: App{Name: joined.Name, Model: joined},
		Workload: Workload{Name: "own", Of: []Workload{smallLoad(smallBursts, 6*time.Minute),
			smallLoad("diurnal:low=5,high=40,period=6m+noise:cv=0.03", 6*time.Minute)}},
		Cluster: pool.Cluster{Pools: []pool.Pool{mustPool(t, "cores=2,memory=4Gi,price=0.1,start=20s")}},
	}}}
	for _, p := range policies {
		m.Policies = append(m.Policies, ParsePolicy(p))
	}
	return m
}

func runAll(t *testing.T, m Matrix, dir string) *Results {
	t.Helper()
	results, err := Run(context.Background(), m, Options{Dir: dir, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// Policies are calibrated for each application alone, start with its own history, and the table has
// the figures of each.
func TestSeveralApplicationsInABench(t *testing.T) {
	m := smallCluster(t, "hpa", "hpa@calibrated", "planner:reserve=on@warm")
	dir := t.TempDir()
	results := runAll(t, m, dir)
	if len(results.Rows) != 3 {
		t.Fatalf("%d rows", len(results.Rows))
	}
	var each []string
	for i, app := range apps.Split(m.Scenes[0].App.Model) {
		alone := Matrix{Seeds: 1, WarmUp: m.WarmUp, Neighbours: []float64{}, Policies: []Policy{ParsePolicy("hpa@calibrated")}, Scenes: []Scene{{
			Name: "alone", App: App{Name: app.Name, Model: app}, Workload: m.Scenes[0].Workload.Of[i], Cluster: m.Scenes[0].Cluster,
		}}}
		each = append(each, runAll(t, alone, t.TempDir()).Rows[0].Case.Policy)
	}
	if want := policy.JoinApplications(m.Scenes[0].App.Model, each); results.Rows[1].Case.Policy != want {
		t.Errorf("calibrated %s, each alone %s", results.Rows[1].Case.Policy, want)
	}
	for _, row := range results.Rows {
		sum := 0.0
		for _, a := range row.Applications {
			sum += float64(a.Bill.Mean)
		}
		if bill := float64(row.Measures["bill"].Mean); len(row.Applications) != 2 || sum < 0.999*bill || sum > 1.001*bill {
			t.Errorf("%s: applications %+v of a bill of %v", row.Case.Label, row.Applications, bill)
		}
		if row.BelowBound {
			t.Errorf("%s is below the bound", row.Case.Label)
		}
	}
	var text, page strings.Builder
	if err := results.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := results.WriteMarkdown(&page); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "by application, bill and over SLO: east") ||
		!strings.Contains(page.String(), "| policy | east | west |") {
		t.Errorf("the tables lack the applications:\n%s\n%s", text.String(), page.String())
	}
	first, _ := json.Marshal(results.Rows)
	again, _ := json.Marshal(runAll(t, m, dir).Rows)
	if string(first) != string(again) {
		t.Error("what is kept differs from what was run")
	}
}

func TestEachApplicationDrawsItsOwnLoad(t *testing.T) {
	m := smallCluster(t, "hpa").withDefaults()
	cells, _, err := m.cells("")
	if err != nil {
		t.Fatal(err)
	}
	c, of := cells[0], m.Scenes[0].Workload.Of
	load, err := c.loads[1].For(c.app.Model)
	if err != nil {
		t.Fatal(err)
	}
	for i, tenant := range c.app.Model.TenantRanges() {
		w, err := new(opened).open(of[i], wholePart, sim.TenantSeed(m.FirstSeed+1, i))
		if err != nil {
			t.Fatal(err)
		}
		alone, err := w.For(apps.Split(c.app.Model)[i])
		if err != nil {
			t.Fatal(err)
		}
		for at := time.Duration(0); at < w.Duration(); at += time.Second {
			for k := range tenant.Kinds {
				got, _ := load.Rate(tenant.FirstKind+k, at)
				if want, _ := alone.Rate(k, at); got < want*(1-1e-12) || got > want*(1+1e-12) {
					t.Fatalf("%s kind %d after %v: %v requests/s, want %v", tenant.Name, k, at, got, want)
				}
			}
		}
	}
	if shorter := m.Shorter(2 * time.Minute); shorter.Scenes[0].Workload.Of[1].Options.Duration != 2*time.Minute ||
		!reflect.DeepEqual(m.Scenes[0].Workload.Of, of) {
		t.Error("a shorter comparison is not shorter, or changes the one that it was made of")
	}
}

func TestWhatIsForOneApplicationIsRefused(t *testing.T) {
	for _, spec := range []string{"oracle", "drpc@trained"} {
		if _, err := smallCluster(t, spec).Check(""); err == nil || !strings.Contains(err.Error(), "for one application") {
			t.Errorf("%s: %v", spec, err)
		}
	}
	m := smallCluster(t, "hpa")
	m.Scenes[0].Workload.Of = m.Scenes[0].Workload.Of[:1]
	if _, err := m.Check(""); err == nil || !strings.Contains(err.Error(), "one for each") {
		t.Error(err)
	}
}

// A cold start has one replica of each service, and no time to settle.
func TestColdStart(t *testing.T) {
	scenes := suiteScenes(t, "regimes")
	cold := scenes[len(scenes)-1]
	m := Matrix{Scenes: []Scene{cold}, Policies: []Policy{ParsePolicy("hpa")}, WarmUp: settled}.withDefaults()
	cells, _, err := m.cells("")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(cold.Name, "cold-start") || m.spec(cells[0], "hpa", 0).WarmUp != 0 {
		t.Errorf("%s settles for %v", cold.Name, m.spec(cells[0], "hpa", 0).WarmUp)
	}
	for _, s := range cold.App.Model.Services {
		if s.Replicas != max(s.Bounds.MinReplicas, 1) {
			t.Errorf("%s starts with %d replicas", s.Name, s.Replicas)
		}
	}
}
