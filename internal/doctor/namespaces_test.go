package doctor

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// A controller that is restricted to namespaces lacks nothing with Roles in them, and an agent
// under the same account is not taken for it.
func TestRestrictedToNamespaces(t *testing.T) {
	p := healthy(t)
	p.restrict("--namespaces=shop,orders")
	p.add("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: loadline-agent-edge, namespace: loadline-system}\nspec: " +
		"{selector: {}, template: {spec: {serviceAccountName: loadline, containers: [{name: loadline, args: [run, --agent=edge]}]}}}")
	r := p.examine()
	for _, f := range r.Findings {
		if f.State == Fault || f.State == Warning {
			t.Errorf("%+v", f)
		}
	}
	for _, w := range []want{
		{state: OK, check: "namespaces", found: "these namespaces only: orders, shop"},
		{state: OK, check: "rbac", found: "deploy/rbac/cluster-role.yaml gives in orders"},
		{state: OK, check: "rbac", found: "deploy/rbac/optional-recreate.yaml gives in shop"},
		{state: OK, check: "rbac", found: "deploy/rbac/leader-election.yaml gives ("},
		{state: OK, check: "conditions"},
	} {
		if !w.in(r) {
			t.Errorf("want %+v", w)
		}
	}
	if (want{state: OK, check: "rbac", found: "optional-recreate.yaml gives in orders"}).in(r) {
		t.Error("evictions are asked for where no LoadLine needs them")
	}
	checkSentences(t, r)
}

// For a LoadLine in a namespace that is not watched, conditions are meaningless.
func TestConditionsInANamespaceThatIsNotWatched(t *testing.T) {
	p := healthy(t)
	p.restrict("--namespaces=orders")
	for _, f := range p.examine().Findings {
		if f.Check == "conditions" {
			t.Errorf("%+v", f)
		}
	}
}

func TestNamespacesOf(t *testing.T) {
	for name, row := range map[string]struct {
		args []string
		want []string
	}{
		"none are all":                    {[]string{"run", "--leader-elect"}, nil},
		"as the chart writes them":        {[]string{"run", "--namespaces=shop,orders"}, []string{"orders", "shop"}},
		"in two words":                    {[]string{"run", "--namespaces", "shop"}, []string{"shop"}},
		"several flags add up":            {[]string{"run", "--namespaces=shop", "--namespaces=orders,shop"}, []string{"orders", "shop"}},
		"an empty list is all":            {[]string{"run", "--namespaces="}, nil},
		"an empty name is all":            {[]string{"run", "--namespaces=shop,"}, nil},
		"a variable with a value":         {[]string{"run", "--namespaces=$(TEAM)-shop"}, []string{"blue-shop"}},
		"the controller's own":            {[]string{"run", "--namespaces=$(HERE)"}, []string{"loadline-system"}},
		"a variable that cannot be seen":  {[]string{"run", "--namespaces=$(HIDDEN)"}, []string{"$(HIDDEN)"}},
		"a flag that only begins so":      {[]string{"run", "--namespaces-of=shop"}, nil},
		"a flag without its value":        {[]string{"run", "--namespaces"}, nil},
		"another program's in the pod":    {[]string{"proxy", "--namespaces=shop"}, nil},
		"a value that looks like another": {[]string{"run", "--log-level=--namespaces=shop"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{}
			d.Namespace = "loadline-system"
			d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "loadline", Args: row.args, Env: []corev1.EnvVar{
				{Name: "TEAM", Value: "blue"},
				{Name: "HERE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}},
				{Name: "HIDDEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "x"}}},
			}}}
			if got := namespacesOf(d); !slices.Equal(got, row.want) {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}
