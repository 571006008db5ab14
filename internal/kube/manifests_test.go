package kube

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// manifests of a file below deploy.
func manifests(t *testing.T, name string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile("../../deploy/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var one map[string]any
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
}

// Every verb that this room uses must be given, and none on workloads and pods that it
// does not use.
func TestPermissions(t *testing.T) {
	given := map[string][]string{}
	for _, file := range []string{"rbac/cluster-role.yaml", "rbac/optional-recreate.yaml", "rbac/optional-rollouts.yaml"} {
		for _, m := range manifests(t, file) {
			rules, _ := m["rules"].([]any)
			for _, rule := range rules {
				r := rule.(map[string]any)
				for _, group := range r["apiGroups"].([]any) {
					for _, resource := range r["resources"].([]any) {
						key := group.(string) + "/" + resource.(string)
						for _, verb := range r["verbs"].([]any) {
							given[key] = append(given[key], verb.(string))
						}
					}
				}
			}
		}
	}
	cached := []string{"get", "list", "watch"}
	for key, verbs := range map[string][]string{
		"apps/deployments": cached, "apps/statefulsets": cached, "apps/replicasets": cached, "/pods": cached,
		"loadline.dev/loadlines":               {"get", "list", "watch", "patch"}, // patch by internal/controller
		"autoscaling/horizontalpodautoscalers": cached, "autoscaling.k8s.io/verticalpodautoscalers": cached,
		"keda.sh/scaledobjects":  cached,
		"apps/deployments/scale": {"get", "patch"}, "apps/statefulsets/scale": {"get", "patch"},
		"/pods/resize": {"patch"}, "/pods/eviction": {"create"},
	} {
		if got := given[key]; !slices.Equal(got, verbs) {
			t.Errorf("%s: %q are given, %q are used", key, got, verbs)
		}
	}
	for key, verbs := range map[string][]string{"argoproj.io/rollouts": {"get"}, "argoproj.io/rollouts/scale": {"get", "patch"}} {
		for _, verb := range verbs {
			if !slices.Contains(given[key], verb) {
				t.Errorf("%s: %s is missing", key, verb)
			}
		}
	}
}

// The policy chooses the container as this room does, and can never keep a pod from
// being created.
func TestAdmissionPolicy(t *testing.T) {
	all := manifests(t, "admission/pod-size.yaml")
	if len(all) != 2 || all[0]["kind"] != "MutatingAdmissionPolicy" || all[1]["kind"] != "MutatingAdmissionPolicyBinding" {
		t.Fatalf("got %v", all)
	}
	policy, binding := all[0]["spec"].(map[string]any), all[1]["spec"].(map[string]any)
	if policy["failurePolicy"] != "Ignore" || binding["paramRef"].(map[string]any)["parameterNotFoundAction"] != "Allow" {
		t.Error("a pod could be refused because of it")
	}
	if binding["policyName"] != all[0]["metadata"].(map[string]any)["name"] {
		t.Error("the binding binds another policy")
	}
	text, err := os.ReadFile("../../deploy/admission/pod-size.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range append([]string{defaultContainer, "'" + strings.Join(proxies, "', '") + "'"}, "pod-template-hash",
		"rollouts-pod-template-hash") {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is not in the policy", part)
		}
	}
}
