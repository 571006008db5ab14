package kedascaler

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The ScaledObject that people copy must be one that works: read by us, without
// the HPA's tolerance, and with a fallback that is not zero.
func TestTheDocumentedScaledObject(t *testing.T) {
	page, err := os.ReadFile("../../docs/keda.md")
	if err != nil {
		t.Fatal(err)
	}
	type rules struct {
		Tolerance *float64
		Window    *int `yaml:"stabilizationWindowSeconds"`
	}
	var so struct {
		Kind     string
		Metadata struct{ Name, Namespace string }
		Spec     struct {
			Min      int `yaml:"minReplicaCount"`
			Fallback struct{ Replicas int }
			Advanced struct {
				HPA struct {
					Behavior map[string]rules
				} `yaml:"horizontalPodAutoscalerConfig"`
			}
			Triggers []struct {
				Type       string
				MetricType string `yaml:"metricType"`
				Metadata   map[string]string
			}
		}
	}
	found := false
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(block[1], "kind: ScaledObject") {
			found = true
			if err := yaml.Unmarshal([]byte(block[1]), &so); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !found || len(so.Spec.Triggers) != 1 {
		t.Fatalf("no ScaledObject with one trigger on the page: %+v", so)
	}
	trigger := so.Spec.Triggers[0]
	got, err := parseTrigger(so.Metadata.Namespace, so.Metadata.Name, trigger.Metadata)
	if err != nil || got.LoadLine == (Name{}) || got.Service == "" || got.tolerance != toleranceZero {
		t.Errorf("the trigger reads as %+v, %v", got, err)
	}
	if trigger.Type != "external" || trigger.MetricType != "" {
		t.Errorf("type %q, metric type %q", trigger.Type, trigger.MetricType)
	}
	for _, way := range []string{"scaleUp", "scaleDown"} {
		r := so.Spec.Advanced.HPA.Behavior[way]
		if r.Tolerance == nil || *r.Tolerance != 0 || r.Window == nil || *r.Window != 0 {
			t.Errorf("%s: %+v", way, r)
		}
	}
	if so.Spec.Fallback.Replicas < 1 {
		t.Error("a fallback of zero replicas takes an error for nothing wanted")
	}
}
