package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/loadline/loadline/deploy"
)

// grant is the permissions of one file under deploy/rbac.
type grant struct {
	file  string
	in    string // the one namespace in which it is checked; empty = as in the file
	wants []authorizationv1.ResourceAttributes
}

// within returns the permissions that Roles in some namespaces have to give if there is no
// ClusterRole. The permissions of a Role in the file keep their namespace.
func (g grant) within(namespaces []string) []grant {
	everywhere := slices.ContainsFunc(g.wants, func(r authorizationv1.ResourceAttributes) bool { return r.Namespace == "" })
	if len(namespaces) == 0 || !everywhere {
		return []grant{g}
	}
	var all []grant
	for _, n := range namespaces {
		all = append(all, g.inside(n))
	}
	return all
}

func (g grant) inside(namespace string) grant {
	g.in, g.wants = namespace, slices.Clone(g.wants)
	for i := range g.wants {
		if g.wants[i].Namespace == "" {
			g.wants[i].Namespace = namespace
		}
	}
	return g
}

// place in a sentence.
func (g grant) place() string {
	if g.in == "" {
		return ""
	}
	return " in " + g.in
}

// apply is the command that grants it.
func (g grant) apply() string {
	if g.in == "" {
		return "kubectl apply -f " + g.file
	}
	also := ""
	if name, optional := strings.CutPrefix(path.Base(g.file), "optional-"); optional {
		also = " and " + strings.TrimSuffix(name, ".yaml") + ": true"
	}
	return fmt.Sprintf("helm upgrade with %s among namespaces%s in the chart's values; without the chart, give the account a Role in "+
		"%s with the rules of %s", g.in, also, g.in, g.file)
}

// grants reads the files. Roles are checked in the namespace of the installation, ClusterRoles
// in all.
func grants(namespace string) (map[string]grant, error) {
	found := map[string]grant{}
	err := fs.WalkDir(deploy.Files, "rbac", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".yaml") {
			return err
		}
		g, err := readGrant(name, namespace)
		if err != nil {
			return err
		}
		if len(g.wants) > 0 {
			found[d.Name()] = g
		}
		return nil
	})
	return found, err
}

func readGrant(name, namespace string) (grant, error) {
	g := grant{file: "deploy/" + name}
	text, err := deploy.Files.ReadFile(name)
	if err != nil {
		return g, err
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var role rbacv1.ClusterRole // a Role has the same fields
		err := documents.Decode(&role)
		if errors.Is(err, io.EOF) {
			return g, nil
		}
		if err != nil {
			return g, fmt.Errorf("%s: %w", g.file, err)
		}
		in := ""
		if role.Kind == "Role" {
			in = namespace
		}
		for _, rule := range role.Rules {
			g.wants = append(g.wants, expand(rule, in)...)
		}
	}
}

// expand a rule into single permissions.
func expand(rule rbacv1.PolicyRule, namespace string) []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes
	objects := rule.ResourceNames
	if len(objects) == 0 {
		objects = []string{""} // any
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			name, sub, _ := strings.Cut(resource, "/")
			for _, verb := range rule.Verbs {
				for _, object := range objects {
					all = append(all, authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Resource: name,
						Subresource: sub, Name: object})
				}
			}
		}
	}
	return all
}
