package bench

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
)

func init() {
	policy.Register(policy.Method{
		Name: "bench-test", About: "reads a model file, and no list but the registry has it", Kind: "test/bench",
		Open: func(*modelfile.File) (policy.Model, error) { return nil, os.ErrInvalid },
	})
}

// TestKeyOfAModelFile: whichever method reads it, a run is keyed by the content of the
// file, so that a retrained model at the same path is run again.
func TestKeyOfAModelFile(t *testing.T) {
	for _, m := range policy.Methods() {
		if !m.ReadsFile() {
			continue
		}
		path := filepath.Join(t.TempDir(), "model.safetensors")
		key := func(content string) string {
			t.Helper()
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			return keyOfPolicy(t, m.Spec(path, ""))
		}
		first := key("one")
		if key("one") != first {
			t.Errorf("%s: the same model has another key", m.Name)
		}
		if key("two") == first {
			t.Errorf("%s: a retrained model has the key of the former one", m.Name)
		}
	}
}

// TestKeyOfAHistory: a run that starts with a history is keyed by the content of its folder.
func TestKeyOfAHistory(t *testing.T) {
	dir := t.TempDir()
	key := func(content string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "services-0000.parquet"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return keyOfPolicy(t, "planner:shortfall=1,history="+dir)
	}
	first := key("one")
	if key("one") != first {
		t.Error("the same history has another key")
	}
	if key("two") == first {
		t.Error("another history at the same path has the key of the former one")
	}
	if keyOfPolicy(t, "vpa:history=1h") == keyOfPolicy(t, "vpa:history=2h") {
		t.Error("the setting history of vpa, a time, is not part of its key")
	}
	if _, err := policyByContent("planner:history=" + filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a missing history has a key")
	}
}

// TestKeyHasTheVersionOfTheCode: after a change of a policy or an engine, everything is
// run again.
func TestKeyHasTheVersionOfTheCode(t *testing.T) {
	defer func(before func() (string, error)) { codeVersion = before }(codeVersion)
	keys := map[string]bool{}
	for _, version := range []string{"one", "two"} {
		codeVersion = func() (string, error) { return version, nil }
		keys[keyOfPolicy(t, "hpa")] = true
	}
	if len(keys) != 2 {
		t.Error("edited code meets the results of the former one")
	}
	if version, err := CodeVersion(); err != nil || version == "" {
		t.Errorf("%q, %v", version, err)
	}
}

// TestKeyOfTheGuard: the rule's model file, the guard's settings and partial SLOs
// determine a run as well.
func TestKeyOfTheGuard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	rule := "bench-test:file=" + path
	strict := guard.Defaults()
	strict.Data.MaxAge *= 2
	keys := map[string]string{}
	for name, row := range map[string]struct {
		model  string
		change func(*simulate.Spec)
	}{
		"a model as the rule":       {"one", func(s *simulate.Spec) { s.Guard = rule }},
		"the rule trained again":    {"two", func(s *simulate.Spec) { s.Guard = rule }},
		"other settings":            {"one", func(s *simulate.Spec) { s.Guard, s.GuardSettings = rule, &strict }},
		"partial SLOs":              {"one", func(s *simulate.Spec) { s.Partial = []loadline.SLO{{Percentile: 99}} }},
		"neither guard nor a split": {"one", func(*simulate.Spec) {}},
	} {
		if err := os.WriteFile(path, []byte(row.model), 0o644); err != nil {
			t.Fatal(err)
		}
		key := keyOfSpec(t, "hpa", row.change)
		if other, twice := keys[key]; twice {
			t.Errorf("%s and %s have the same key", name, other)
		}
		keys[key] = name
	}
}

// TestKeyOfTheCluster: pools, neighbours and prices determine a run.
func TestKeyOfTheCluster(t *testing.T) {
	keys := map[string]string{}
	for _, text := range [][3]string{
		{"", "", ""}, {"bar", "", ""}, {"eks-4", "", ""}, {"eks-4,max=9", "", ""}, {"bar,nodes=3", "", ""}, {"bar,daemons-cpu=0.1", "",
			""},
		{"", "use=0.7", ""}, {"", "use=0.7,request=0.5", ""}, {"", "use=0.7,shape=diurnal", ""}, {"", "use=0.7,shape=diurnal,period=1h",
			""},
		{"", "", "core=0.04"}, {"", "", "m5.large=0.1"}, {"", "", "currency=EUR"},
	} {
		var c pool.Cluster
		var errs [3]error
		if text[0] != "" {
			c.Pools = make([]pool.Pool, 1)
			c.Pools[0], errs[0] = pool.ParsePool(text[0])
		}
		if text[1] != "" {
			c.Neighbours, errs[1] = pool.ParseNeighbours(text[1])
		}
		if text[2] != "" {
			c.Prices, errs[2] = pool.ParsePrices(text[2])
		}
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		key := keyOfSpec(t, "hpa", func(s *simulate.Spec) { s.Cluster = c })
		if other, twice := keys[key]; twice {
			t.Errorf("%q and %q have the same key", c, other)
		}
		keys[key] = c.String()
	}
	m := smallMatrix("hpa").withDefaults()
	m.Cluster.Neighbours.Use = 0.5
	cells, _, err := m.cells("")
	if err != nil {
		t.Fatal(err)
	}
	if s := m.spec(cells[0], "hpa", 0); s.Cluster.Neighbours.Use != 0.5 {
		t.Error("a run of the matrix does not have its cluster")
	}
}

func keyOfPolicy(t *testing.T, spec string) string {
	t.Helper()
	return keyOfSpec(t, spec, func(*simulate.Spec) {})
}

func keyOfSpec(t *testing.T, spec string, change func(*simulate.Spec)) string {
	t.Helper()
	m := smallMatrix("hpa").withDefaults()
	w := given(t, smallBursts, 1)
	c := &cell{app: App{Name: "small", Model: &loadline.App{}}}
	c.loads = append(c.loads, w)
	run := m.spec(c, spec, 0)
	change(&run)
	key, err := keyOf(run, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestKeyOfADeployment: what is deployed is more than the policy.
func TestKeyOfADeployment(t *testing.T) {
	settings := guard.Defaults()
	settings.CoolDown.Down = 0
	seen := map[string]string{}
	for name, p := range map[string]Policy{
		"bare": {}, "guarded": {Guard: "hpa"}, "another rule": {Guard: "hpa:target=60"}, "other settings": {Guard: "hpa",
			GuardSettings: &settings},
		"each minute": {Guard: "hpa", Interval: 60e9}, "replicas only": {Axes: []string{guard.Horizontal}},
		"another start": {Start: map[string][]loadline.Allocation{smallBursts: {{Replicas: 5}, {Replicas: 5}}}},
		"sizes only":    {Axes: []string{guard.VerticalRequests, guard.VerticalLimits}},
	} {
		m := smallMatrix("hpa").withDefaults()
		cells, _, err := m.cells("")
		if err != nil {
			t.Fatal(err)
		}
		key, err := keyOf(p.deployed(m.spec(cells[0], "hpa", 0)), cells[0].loads[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[key]; twice {
			t.Errorf("%s has the key of %s", name, other)
		}
		seen[key] = name
	}
}

// TestADeploymentIsRunAsOne: the record tells replica changes from resizes, and what the axes did
// not allow.
func TestADeploymentIsRunAsOne(t *testing.T) {
	m := smallMatrix("vpa")
	m.Policies = append(m.Policies, Policy{Spec: "vpa", Label: "restricted", Axes: []string{guard.Horizontal}},
		Policy{Spec: "hpa", Label: "guarded", Guard: "hpa:target=60", Axes: []string{guard.Horizontal}})
	dir := t.TempDir()
	results, err := Run(t.Context(), m, Options{Dir: dir, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range results.Rows {
		row := &results.Rows[i]
		r, err := ReadRecord(dir, row.Runs[0])
		if err != nil {
			t.Fatal(err)
		}
		switch row.Case.Label {
		case "vpa":
			if r.Resizes == 0 || r.ReplicaChanges != 0 || len(r.NotAllowed) > 0 {
				t.Errorf("vpa: %d resizes, %d replica changes, not allowed %v", r.Resizes, r.ReplicaChanges, r.NotAllowed)
			}
		case "restricted":
			if r.Resizes != 0 || len(r.NotAllowed) == 0 || row.Case.Axes != guard.Horizontal {
				t.Errorf("vpa without its axes: %d resizes, not allowed %v, %+v", r.Resizes, r.NotAllowed, row.Case)
			}
		case "guarded":
			if r.ReplicaChanges == 0 || r.Resizes != 0 || row.Case.Guard != "hpa:target=60" {
				t.Errorf("guarded: %d replica changes, %d resizes, %+v", r.ReplicaChanges, r.Resizes, row.Case)
			}
		}
	}
}
