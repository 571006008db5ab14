package deploy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbac "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// A use is a place in the code that needs a permission. Watched resources need get, list and
// watch.
type use struct {
	permissions []string // GROUP RESOURCE VERB
	file        string   // where the code is
	call        string   // a pattern of it
}

const reading = "read" // get, list and watch, which show the same

var uses = []use{
	{[]string{"loadline.dev loadlines read"}, "internal/controller/controller.go", `c\.Client\.Get\(`},
	{[]string{"loadline.dev loadlines patch"}, "internal/controller/release.go", `c\.Client\.Patch\(`},
	{[]string{"loadline.dev loadlines/status patch"}, "internal/controller/confirm.go", `Client\.Status\(\)\.Patch\(`},
	{[]string{"loadline.dev loadlineclasses read"}, "internal/controller/class.go", `c\.Client\.List\(`},
	{[]string{"loadline.dev loadlineclasses/status patch"}, "internal/controller/reserve.go", `Client\.Status\(\)\.Patch\(`},
	{[]string{"apps deployments create", "apps deployments patch", " podtemplates create", " podtemplates patch",
		"autoscaling.x-k8s.io capacitybuffers create", "autoscaling.x-k8s.io capacitybuffers patch"}, "internal/kube/reserve.go",
		`r\.Client\.Apply\(`},
	{[]string{"apps deployments delete", " podtemplates delete", "autoscaling.x-k8s.io capacitybuffers delete"},
		"internal/kube/reserve.go", `r\.Client\.Delete\(`},
	{[]string{"scheduling.k8s.io priorityclasses get"}, "internal/kube/reserve.go", `r\.Live\.Get\(`},
	{[]string{" secrets get", " configmaps get"}, "internal/controller/sources.go", `n\.reader\.Get\(`},
	{[]string{"events.k8s.io events create", "events.k8s.io events patch"}, "internal/controller/events.go", `d\.events\.Eventf\(`},
	{[]string{"apps deployments read", "apps statefulsets read", "argoproj.io rollouts read"}, "internal/kube/workload.go",
		`w\.client\.Get\(`},
	{[]string{"apps replicasets read"}, "internal/kube/owners.go", `w\.client\.List\(`},
	{[]string{"apps deployments/scale get", "apps statefulsets/scale get", "argoproj.io rollouts/scale get"}, "internal/kube/scale.go",
		`SubResource\("scale"\)\.Get\(`},
	{[]string{"apps deployments/scale patch", "apps statefulsets/scale patch", "argoproj.io rollouts/scale patch"},
		"internal/kube/scale.go", `SubResource\("scale"\)\.Patch\(`},
	{[]string{" pods read"}, "internal/kube/pods.go", `w\.client\.List\(`},
	{[]string{" pods/resize patch"}, "internal/kube/resizepatch.go", `SubResource\("resize"\)\.Patch\(`},
	{[]string{" pods/eviction create"}, "internal/kube/evict.go", `SubResource\("eviction"\)\.Create\(`},
	{[]string{"autoscaling horizontalpodautoscalers read", "autoscaling.k8s.io verticalpodautoscalers read",
		"keda.sh scaledobjects read"}, "internal/kube/others.go", `w\.client\.List\(`},
	{[]string{" resourcequotas list", " limitranges list", "policy poddisruptionbudgets list"}, "internal/kube/constraints.go",
		`w\.listLive\(`},
	// What controller-runtime does for an election.
	{[]string{"coordination.k8s.io leases create", "coordination.k8s.io leases update", " events create", " events patch"},
		"internal/cli/run.go", `LeaderElection:\s+f\.leaderElect`},
	{[]string{"authentication.k8s.io tokenreviews create", "authorization.k8s.io subjectaccessreviews create"},
		"internal/console/access.go", `a\.reviews\.Create\(`},
	{[]string{"coordination.k8s.io leases get"}, "internal/controller/fence.go", `l\.Live\.Get\(`},
}

// The roles grant exactly what the code uses.
func TestRolesGiveWhatTheCodeUses(t *testing.T) {
	used := map[string]string{}
	for _, u := range uses {
		if !regexp.MustCompile(u.call).MatchString(read(t, root, u.file)) {
			t.Errorf("%s: nothing is %s: are %q still needed?", u.file, u.call, u.permissions)
		}
		for _, p := range u.permissions {
			used[p] = u.file
		}
	}
	files, err := filepath.Glob(filepath.Join(deploy, "rbac", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, filepath.Join(deploy, "optional", "reserve.yaml"))
	given := map[string]string{}
	for _, file := range files {
		for id, o := range objects(t, read(t, file)) {
			if !strings.HasSuffix(o.kind(), "Role") {
				continue
			}
			for _, p := range permissions(t, o) {
				given[p] = filepath.Base(file) + " " + id
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(used)) {
		if given[p] == "" {
			t.Errorf("%s needs %q, and no role gives it", used[p], p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(given)) {
		if used[p] == "" {
			t.Errorf("%s gives %q, which nothing uses", given[p], p)
		}
	}
}

func permissions(t *testing.T, o object) []string {
	t.Helper()
	text, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var role rbac.ClusterRole // a Role has the same rules
	if err := yaml.Unmarshal(text, &role); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, rule := range role.Rules {
		verbs := rule.Verbs
		if slices.Equal(verbs, []string{"get", "list", "watch"}) {
			verbs = []string{reading}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range verbs {
					all = append(all, group+" "+resource+" "+verb)
				}
			}
		}
	}
	return all
}

// forwarding are calls that write nothing of their own, by file: the client that checks
// the lease before it passes a write on, and the loop's cluster.
var forwarding = map[string]string{
	"internal/controller/fence.go":   `^f\.(Client|SubResourceClient)\.`,
	"internal/controller/confirm.go": `^c\.cluster\.Apply\(`,
	"internal/kube/reserve.go":       `^r\.apply\(`,
}

// Every call that writes to a cluster is in the table above.
func TestEveryWriteHasItsPermission(t *testing.T) {
	write := regexp.MustCompile(`^(Create|Update|Patch|Apply|Delete|DeleteAllOf)$`)
	found := 0
	for _, pattern := range []string{"internal/kube/*.go", "internal/controller/*.go", "internal/cli/run*.go", "internal/console/*.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files are %s: %v", pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source := read(t, file)
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file, source, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				call, is := n.(*ast.CallExpr)
				if !is || len(call.Args) < 2 { // a context and an object at least
					return true
				}
				selector, is := call.Fun.(*ast.SelectorExpr)
				if name, ctx := call.Args[0].(*ast.Ident); !is || !write.MatchString(selector.Sel.Name) || !ctx || name.Name != "ctx" {
					return true
				}
				text := source[set.Position(call.Pos()).Offset:set.Position(call.End()).Offset]
				for name, pattern := range forwarding {
					if filepath.Join(root, name) == file && regexp.MustCompile(pattern).MatchString(text) {
						return true
					}
				}
				found++
				known := slices.ContainsFunc(uses, func(u use) bool {
					return filepath.Join(root, u.file) == file && regexp.MustCompile(u.call).MatchString(text)
				})
				if !known {
					t.Errorf("%s: %s needs a permission: add it to the table, and to deploy/rbac", set.Position(call.Pos()), text)
				}
				return true
			})
		}
	}
	if found < 4 {
		t.Errorf("only %d calls that write were found", found)
	}
}
