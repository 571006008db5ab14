package crd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type rule struct {
	APIGroups     []string `json:"apiGroups"`
	Resources     []string `json:"resources"`
	ResourceNames []string `json:"resourceNames"`
	Verbs         []string `json:"verbs"`
}

type manifest struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Rules      []rule         `json:"rules"`
	RoleRef    map[string]any `json:"roleRef"`
	Subjects   []any          `json:"subjects"`
	Automount  *bool          `json:"automountServiceAccountToken"`
}

// The roles grant no more than the controller needs.
func TestRolesAreNarrow(t *testing.T) {
	files, err := filepath.Glob("../../deploy/rbac/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no roles: %v", err)
	}
	files = append(files, "../../deploy/optional/reserve.yaml", "../../deploy/optional/knative.yaml")
	roles, bound := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n---\n") {
			var m manifest
			if err := yaml.Unmarshal([]byte(part), &m); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			name, _ := m.Metadata["name"].(string)
			namespace, _ := m.Metadata["namespace"].(string)
			switch m.Kind {
			case "Role", "ClusterRole":
				roles[m.Kind+"/"+name] = true
				for _, r := range m.Rules {
					if namespace != "loadline-reserve" { // which has nothing but the reserve
						checkRule(t, filepath.Base(file), m.Kind, r)
					}
				}
			case "RoleBinding", "ClusterRoleBinding":
				bound[m.RoleRef["kind"].(string)+"/"+m.RoleRef["name"].(string)] = true
			case "ServiceAccount":
			case "Namespace", "PriorityClass":
				if filepath.Base(file) != "reserve.yaml" {
					t.Errorf("%s has a %s", file, m.Kind)
				}
			default:
				t.Errorf("%s has a %s", file, m.Kind)
			}
		}
	}
	for role := range roles {
		if !bound[role] {
			t.Errorf("%s is not bound", role)
		}
	}
}

func checkRule(t *testing.T, file, kind string, r rule) {
	t.Helper()
	for _, list := range [][]string{r.APIGroups, r.Resources, r.Verbs} {
		if len(list) == 0 || slices.Contains(list, "*") {
			t.Errorf("%s: %+v is empty or a wildcard", file, r)
		}
	}
	for _, res := range r.Resources {
		writes := slices.ContainsFunc(r.Verbs, func(v string) bool { return !slices.Contains([]string{"get", "list", "watch"}, v) })
		subresource := strings.Contains(res, "/")
		switch {
		case res == "secrets" && (kind != "Role" || len(r.ResourceNames) == 0 || writes):
			t.Errorf("%s: secrets may be read by name in a namespace only: %+v", file, r)
		case res == "loadlines" && slices.Equal(r.Verbs, []string{"patch"}): // finalizers have no subresource
		case strings.HasSuffix(res, "reviews") && slices.Equal(r.Verbs, []string{"create"}): // a question, of which nothing is stored
		case res == "serverlessservices" && file == "knative.yaml": // the mode has no subresource
		case writes && !subresource && res != "events" && res != "leases":
			t.Errorf("%s: %s is written as a whole: %+v", file, res, r)
		}
	}
}
