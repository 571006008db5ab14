package registry

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy"
)

var update = flag.Bool("update", false, "write the registry and the model files of the present formats to testdata")

// TestRegistriesOfEveryFormatAreRead: what a release wrote, later ones read. testdata has a registry of
// every format, with a version that has a model and one that is a policy.
func TestRegistriesOfEveryFormatAreRead(t *testing.T) {
	if *update {
		dir := fmt.Sprintf("testdata/registry-%d", Format)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		r := Open(dir)
		if _, err := r.Promote(offer(writeModel(t, "a", "shop", 1), "one")); err != nil {
			t.Fatal(err)
		}
		o := Offer{App: shop(), Promotion: Promotion{Candidate: "planner", Policy: "planner", Verdict: "planner is better.", At: noon,
			By: "test"}}
		if _, err := r.Promote(o); err != nil {
			t.Fatal(err)
		}
	}
	dirs, err := filepath.Glob("testdata/registry-*")
	if err != nil || len(dirs) < Format {
		t.Fatalf("there are %d registries of %d formats (%v): -update writes the present one", len(dirs), Format, err)
	}
	for _, dir := range dirs {
		r := Open(dir)
		a, err := r.App("shop")
		if err != nil || len(a.Versions) != 2 || a.Current != 2 {
			t.Fatalf("%s: %+v, %v", dir, a, err)
		}
		one := a.Versions[0]
		if one.Candidate != "one" || one.Verdict != "one is better." || !one.At.Equal(noon) || one.Training.Seed != 1 ||
			len(one.Results) != 1 || one.Results[0].Against != 10 {
			t.Errorf("%s: version 1 is %+v", dir, one)
		}
		now, path, err := r.Current("shop")
		if err != nil || path != "" || now.Policy != "planner" || now.Former != 1 {
			t.Errorf("%s: current is %+v with %q, %v", dir, now, path, err)
		}
		_, path, err = r.Version("shop", 1)
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		if m, err := policy.OpenModel(path); err != nil || m.TrainedFor() != "shop" {
			t.Errorf("%s: %v, %v", dir, m, err)
		}
	}
}

// TestTheFirstRegistryIsRead: before a version could be a policy. It was written by the code of that
// time, as the model files *-before-methods and dqn-former-name.
func TestTheFirstRegistryIsRead(t *testing.T) {
	r := Open("testdata/former-registry")
	p, path, err := r.Current("shop")
	if err != nil || p.Version != 1 || p.Candidate != "one" || p.Policy != "" || p.Formulation != "scaling-ops" {
		t.Fatalf("%+v, %v", p, err)
	}
	if m, err := policy.OpenModel(path); err != nil || m.Method() != "scaling-ops" {
		t.Errorf("%v, %v", m, err)
	}
}

// TestModelFilesOfEveryMethodAreRead: testdata has a model file of every method as the present format
// and earlier releases wrote it. It is opened and makes a policy.
func TestModelFilesOfEveryMethodAreRead(t *testing.T) {
	if *update {
		for name, path := range map[string]string{"dqn": writeModel(t, "a", "shop", 1), "drpc": writeDRPC(t, shop(), 1),
			"msars": writeSteered(t, shop(), "parslo")} {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("testdata/"+name+"-1.safetensors", text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := filepath.Glob("testdata/*.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, path := range files {
		m, err := policy.OpenModel(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if m.TrainedFor() != "shop" {
			t.Errorf("%s was trained for %q", path, m.TrainedFor())
		}
		if _, err := m.Policy(shop()); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if strings.Contains(path, "former-name") && m.Method() != "loadline-dqn" { // it says loadline
			t.Errorf("%s is of the method %s", path, m.Method())
		}
		if method, err := policy.ReaderOf(m); err == nil {
			kinds[method.Kind] = true
		}
	}
	for _, m := range policy.Methods() {
		if m.ReadsFile() && !kinds[m.Kind] {
			t.Errorf("there is no file of kind %s, which %s reads: -update writes it", m.Kind, m.Name)
		}
	}
}

// TestNewerFilesAreRefused: the error names the file, its version, the version that is read, and what
// to do; nothing is changed.
func TestNewerFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fmt.Sprintf("testdata/registry-%d", Format))); err != nil {
		t.Fatal(err)
	}
	r := Open(dir)
	path := filepath.Join(r.folder("shop", 1), promotionFile)
	newer := fmt.Appendf(nil, `{"format":%d,"app":["another","shape"]}`, Format+1)
	if err := os.WriteFile(path, newer, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := r.App("shop")
	refused(t, err, path, fmt.Sprintf("has format %d, and this program reads %d", Format+1, Format), "use the loadline that wrote it")
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, newer) {
		t.Errorf("the file became %s, %v", after, err)
	}

	model := filepath.Join(dir, "newer.safetensors")
	text, err := os.ReadFile("testdata/dqn-1.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(model, bytes.Replace(text, []byte(`"version":"1"`), []byte(`"version":"2"`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = policy.OpenModel(model)
	refused(t, err, model, "version 2; this program reads up to 1", "upgrade loadline")
	if _, err := modelfile.Open(model); err == nil {
		t.Error("the file was read")
	}
}

func refused(t *testing.T, err error, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
