package registry

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func shop() *loadline.App {
	return &loadline.App{
		Name: "shop",
		Services: []loadline.Service{{Name: "web", Replicas: 1, Size: loadline.Size{CPURequest: 1, CPULimit: 1},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 9}}},
		Kinds: []loadline.Kind{{Name: "get", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: time.Second},
			Root: loadline.Call{Probability: 1, Times: 1, Work: 1}}},
	}
}

// writeModel makes an untrained policy.
func writeModel(t testing.TB, name, app string, seed uint64) string {
	t.Helper()
	problem, err := formulation.NewProblem("scaling-ops", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	spaces := problem.Spaces()
	design := nn.MLP{Inputs: []int{spaces.Observation}, Hidden: []int{4}, Outputs: spaces.Choices}.Design()
	net, err := design.Build(nn.PyTorchUniform, rand.New(rand.NewPCG(seed, 1)))
	if err != nil {
		t.Fatal(err)
	}
	m := &formulation.Model{
		Problem: problem, Training: modelfile.Training{Data: app, From: noon.Add(-time.Hour), To: noon, Samples: 10, Seed: seed},
		Networks: []formulation.Network{{Service: "web", Scales: []formulation.Scale{{Spread: 1}, {Spread: 1}, {Spread: 1}}, Net: net}},
	}
	path := filepath.Join(t.TempDir(), name)
	if err := m.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func offer(path, candidate string) Offer {
	return Offer{App: shop(), Model: path, SHA256: digestOf(path), Promotion: Promotion{
		Candidate: candidate, Verdict: candidate + " is better.", At: noon, By: "test",
		Results: []modelfile.Result{{Name: "core-hours", On: "peak", Value: 8, Baseline: "HPA at 62 %", Against: 10}},
	}}
}

func TestPromoteAndGoBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "registry")
	r := Open(dir)
	if _, err := r.Apps(); !errors.Is(err, ErrNone) {
		t.Errorf("an empty registry: %v", err)
	}
	first, second := writeModel(t, "a", "shop", 1), writeModel(t, "b", "shop", 2)
	p, err := r.Promote(offer(first, "one"))
	if err != nil || p.Version != 1 || p.Former != 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := r.Rollback("shop", noon); err == nil || !strings.Contains(err.Error(), "is the first") {
		t.Errorf("going back from the first: %v", err)
	}
	if _, err := r.Promote(offer(first, "one")); !errors.Is(err, ErrInCharge) {
		t.Errorf("the same once more: %v", err)
	}
	torn := Open(filepath.Join(t.TempDir(), "copy"))
	if err := os.CopyFS(torn.dir, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(torn.dir, "shop", "0001", "model.safetensors"), 100); err != nil {
		t.Fatal(err)
	}
	if again, err := torn.Promote(offer(first, "one")); err != nil || again.Version != 2 {
		t.Errorf("the same once more, after its file was torn: %+v, %v", again, err)
	}
	if p, err = r.Promote(offer(second, "two")); err != nil || p.Version != 2 || p.Former != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	now, path, err := r.Current("shop")
	if err != nil || now.Candidate != "two" {
		t.Fatalf("%+v, %v", now, err)
	}
	m, err := formulation.Open(path)
	if err != nil || len(m.Results) != 1 || m.Results[0].Against != 10 {
		t.Errorf("the card was not completed: %+v, %v", m, err)
	}
	card, err := os.ReadFile(filepath.Join(filepath.Dir(path), CardFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# shop, version 2: two", "two is better.", "10 (HPA at 62 %)", "follows | version 1", "| cpu |",
		"- web"} {
		if !bytes.Contains(card, []byte(want)) {
			t.Errorf("%q is not in the card:\n%s", want, card)
		}
	}
	if p, err = r.Rollback("shop", noon); err != nil || p.Version != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if p, err = r.Promote(offer(second, "two")); err != nil || p.Version != 3 || p.Former != 1 {
		t.Errorf("after going back: %+v, %v", p, err)
	}
	all, err := r.Apps()
	if err != nil || len(all) != 1 || all[0].Current != 3 || len(all[0].Versions) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestKilledAnywhere fails every step in turn, like a full disk or a kill: the former version
// stays current and intact, and the next promotion works.
func TestKilledAnywhere(t *testing.T) {
	first, second := writeModel(t, "a", "shop", 1), writeModel(t, "b", "shop", 2)
	full := errors.New("no space left on device")
	for failing := 1; ; failing++ {
		r := Open(filepath.Join(t.TempDir(), "registry"))
		if _, err := r.Promote(offer(first, "one")); err != nil {
			t.Fatal(err)
		}
		steps := 0
		r.before = func(string) error {
			if steps++; steps == failing {
				return full
			}
			return nil
		}
		_, err := r.Promote(offer(second, "two"))
		if err == nil {
			if failing < 5 {
				t.Fatalf("only %d steps can fail", failing-1)
			}
			return
		}
		if !errors.Is(err, full) || !strings.Contains(err.Error(), "the former version is still current") {
			t.Errorf("step %d: %v", failing, err)
		}
		r.before = func(string) error { return nil }
		if now, _, err := r.Current("shop"); err != nil || now.Candidate != "one" {
			t.Errorf("step %d: in charge is %+v, %v", failing, now, err)
		}
		if _, err := r.Promote(offer(second, "two")); err != nil {
			t.Errorf("step %d: the next promotion: %v", failing, err)
		}
		if now, _, err := r.Current("shop"); err != nil || now.Candidate != "two" || now.Former != 1 {
			t.Errorf("step %d: in charge is %+v, %v", failing, now, err)
		}
	}
}

func TestAFailedGoingBackChangesNothing(t *testing.T) {
	r := Open(filepath.Join(t.TempDir(), "registry"))
	for i, name := range []string{"one", "two"} {
		if _, err := r.Promote(offer(writeModel(t, name, "shop", uint64(i)), name)); err != nil {
			t.Fatal(err)
		}
	}
	r.before = func(string) error { return errors.New("no") }
	if _, err := r.Rollback("shop", noon); err == nil || !strings.Contains(err.Error(), "version 2 is still current") {
		t.Error(err)
	}
	r.before = func(string) error { return nil }
	if err := os.WriteFile(r.modelPath("shop", 1), []byte("torn"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Rollback("shop", noon); err == nil || !strings.Contains(err.Error(), "is not the model that was promoted") {
		t.Error(err)
	}
	if now, _, err := r.Current("shop"); err != nil || now.Version != 2 {
		t.Errorf("%+v, %v", now, err)
	}
}

func TestRefused(t *testing.T) {
	good := writeModel(t, "a", "shop", 1)
	other := writeModel(t, "b", "garage", 1)
	torn := filepath.Join(t.TempDir(), "torn")
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(torn, text[:len(text)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	changed := offer(good, "x")
	changed.SHA256 = strings.Repeat("0", 64)
	nameless := offer(good, "x")
	nameless.App.Name = "../shop"
	gone := offer(good, "x")
	gone.Model += ".gone"
	for want, o := range map[string]Offer{
		"was trained for garage, this is shop":  offer(other, "x"),
		"torn":                                  offer(torn, "x"),
		"is not the file that was evaluated":    changed,
		"must be a word that can name a folder": nameless,
		"the model is gone":                     gone,
	} {
		dir := filepath.Join(t.TempDir(), "registry")
		if _, err := Open(dir).Promote(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: something was written", want)
		}
	}
}

func TestARegistryOfAnotherVersionIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "registry")
	r := Open(dir)
	model := writeModel(t, "a", "shop", 1)
	if _, err := r.Promote(offer(model, "one")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "shop", currentFile)
	for content, want := range map[string]string{
		`{"format":2}`: "has format 2, and this program reads 1",
		`{"form`:       "cannot be read",
		`{"format":1,"app":"garage","version":1}`: "names version 1 of garage",
	} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"list":    second(r.Apps()),
			"promote": second(r.Promote(offer(writeModel(t, "b", "shop", 2), "two"))),
			"back":    second(r.Rollback("shop", noon)),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s with %s: %v", what, content, err)
			}
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != content {
			t.Errorf("%s was changed to %s, %v", content, after, err)
		}
	}
	if names, _ := os.ReadDir(filepath.Join(dir, "shop")); len(names) != 2 {
		t.Errorf("left behind: %v", names)
	}
}

func second[T any](_ T, err error) error { return err }
