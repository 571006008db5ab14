package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/loadline/loadline/deploy"
)

// grant is what one file under deploy/rbac gives, one permission each.
type grant struct {
	file  string
	wants []authorizationv1.ResourceAttributes
}

// grants reads the files. Roles are asked for in the namespace of the installation,
// ClusterRoles in all.
func grants(namespace string) (map[string]grant, error) {
	found := map[string]grant{}
	err := fs.WalkDir(deploy.Files, "rbac", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		g, err := readGrant(path, namespace)
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

func readGrant(path, namespace string) (grant, error) {
	g := grant{file: "deploy/" + path}
	text, err := deploy.Files.ReadFile(path)
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
					all = append(all, authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Resource: name, Subresource: sub, Name: object})
				}
			}
		}
	}
	return all
}
