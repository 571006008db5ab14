package resource_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/resource"
)

var update = flag.Bool("update", false, "write the LoadLine as this release writes it to testdata")

func knownMemory() guard.Memory {
	size := loadline.Size{CPURequest: 0.25, CPULimit: 1, MemoryRequest: 100 << 20}
	return guard.Memory{
		At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Kinds: []string{"buy"},
		Brownout: guard.BrownoutMemory{Off: []string{"ads"}, Switched: loadline.Some(90 * time.Second)},
		Services: map[string]guard.ServiceMemory{"web": {
			Raised: loadline.Some(10 * time.Minute), Watch: &guard.Watch{Stage: "first", Age: 45 * time.Second,
				Before: loadline.Allocation{Replicas: 40, Size: size}, Target: loadline.Allocation{Replicas: 3, Size: size},
				Last: loadline.Allocation{Replicas: 40, Size: size}, Low: 30},
		}},
	}
}

// knownLoadLine has what a controller reads back after a restart.
func knownLoadLine(t *testing.T) *v1alpha1.LoadLine {
	t.Helper()
	l := read(t, plain)
	l.APIVersion, l.Kind = "loadline.dev/v1alpha1", "LoadLine"
	l.Status.Services = []v1alpha1.ServiceStatus{{Name: "web"}}
	since := time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)
	l.Status.Ladder = resource.Ladder(guard.State{Rung: guard.Primary, Since: since, Why: "all is well"})
	l.Status.BrownedOut = []v1alpha1.BrownedOut{{Service: "ads", TargetRef: v1alpha1.TargetRef{Name: "ads"}, Replicas: 2}}
	l.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Ready", LastTransitionTime: metav1.NewTime(since)}}
	resource.Remember(&l.Status, knownMemory())
	return l
}

// TestLoadLinesOfEveryReleaseAreRead: a controller continues from the LoadLine that another release
// wrote. testdata has one of this release, and one with the names of earlier ones. Later releases may
// add fields; they must not drop or rename one that a controller reads back.
func TestLoadLinesOfEveryReleaseAreRead(t *testing.T) {
	if *update {
		text, err := json.MarshalIndent(knownLoadLine(t), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("testdata/loadline-v1alpha1.json", append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("testdata/loadline-*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var l v1alpha1.LoadLine
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil {
			t.Fatalf("%s has a field that is gone: %v", path, err)
		}
		if a, err := resource.Read(&l, nil); err != nil || a.Baseline != "hpa:target=60" || len(a.App.Services) != 2 {
			t.Errorf("%s: %+v, %v", path, a, err)
		}
		state, known := resource.State(l.Status.Ladder)
		if !known || state.Rung != guard.Primary || state.Why != "all is well" {
			t.Errorf("%s: the ladder is %+v", path, state)
		}
		got, want := resource.Recall(&l.Status), knownMemory()
		if !got.At.Equal(want.At) {
			t.Errorf("%s: the memory is of %v", path, got.At)
		}
		got.At = want.At
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v\nwant %+v", path, got, want)
		}
		if b := l.Status.BrownedOut; len(b) != 1 || b[0].Service != "ads" || b[0].Replicas != 2 {
			t.Errorf("%s: browned out are %+v", path, b)
		}
	}
}

// TestTheDefinitionServesWhatWasStored: objects stored under a version of the API can be read as long
// as the definition serves it; removing v1alpha1 needs a conversion and a migration.
func TestTheDefinitionServesWhatWasStored(t *testing.T) {
	for _, name := range []string{"loadlines", "loadlineclasses"} {
		text, err := os.ReadFile("../../deploy/crd/loadline.dev_" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Spec struct {
				Versions []struct {
					Name            string
					Served, Storage bool
				}
			}
		}
		if err := yaml.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		served := false
		for _, v := range d.Spec.Versions {
			served = served || v.Name == "v1alpha1" && v.Served
		}
		if !served {
			t.Errorf("%s: v1alpha1 is not served: %+v", name, d.Spec.Versions)
		}
	}
	// Rungs of earlier releases stay valid values, or the API server would refuse the whole status.
	rungs := definition(t).at(t, "status.ladder.rung").Enum
	if !strings.Contains(strings.Join(rungs, " "), "Learned") {
		t.Errorf("the rung Learned of earlier releases is not in %v", rungs)
	}
}
