package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

// Reviews checks permissions with the API server. Creating a review stores nothing.
type Reviews struct{ client.Client }

// Allowed is as in Access.
func (r Reviews) Allowed(ctx context.Context, user string, groups []string, what authorizationv1.ResourceAttributes) (bool, error) {
	if user == "" {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}}
		err := r.Create(ctx, review)
		return review.Status.Allowed, err
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groups,
		ResourceAttributes: &what}}
	err := r.Create(ctx, review)
	return review.Status.Allowed, err
}

// who is checked: the controller's account, or, if reviews of others are not allowed, the
// current user.
type who struct {
	user   string
	groups []string
	name   string // in sentences
}

func (e *exam) account() who {
	return who{
		user:   fmt.Sprintf("system:serviceaccount:%s:%s", e.Namespace, e.ServiceAccount),
		groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + e.Namespace, "system:authenticated"},
		name:   fmt.Sprintf("the controller's account %s/%s", e.Namespace, e.ServiceAccount),
	}
}

// permissions compares the controller's permissions with those of deploy/rbac.
func (e *exam) permissions(ctx context.Context) {
	if e.deployment == nil && !e.defined {
		return // nothing is installed
	}
	a := e.of(OfPermissions)
	all, err := grants(e.Namespace)
	if err != nil {
		a.warn("rbac", "report this", "The permissions within this command cannot be read: %v", err)
		return
	}
	w := e.account()
	// Any permission shows whether we may ask.
	_, err = e.Access.Allowed(ctx, w.user, w.groups, authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods"})
	switch {
	case apierrors.IsForbidden(err):
		w = who{name: "you"}
		a.note("rbac", "ask for create on subjectaccessreviews.authorization.k8s.io",
			"What the controller may do cannot be seen: you may not review others. What follows is what you may do yourself.")
	case err != nil:
		e.unseen(a, "rbac", "permissions", err, "")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, g := range all[name].within(e.namespaces) {
			if e.needed(name, g.in) {
				e.grant(ctx, a, w, g)
			}
		}
	}
	e.otherKinds(ctx, a, w, all["optional-rollouts.yaml"])
	e.named(ctx, a, w)
}

// needed reports whether LoadLines need the permissions of a file: those of a namespace, or, if
// it is empty, any. Those of the sources are checked by name.
func (e *exam) needed(file, namespace string) bool {
	of := func(is func(*v1alpha1.Service) bool) bool {
		return e.any(func(l *v1alpha1.LoadLine, s *v1alpha1.Service) bool {
			return (namespace == "" || l.Namespace == namespace) && is(s)
		})
	}
	switch {
	case file == "classes.yaml": // classes are in no namespace, and a controller of some namespaces works without
		return namespace == ""
	case file == "optional-recreate.yaml":
		return of(func(s *v1alpha1.Service) bool { return s.Resize == v1alpha1.InPlaceOrRecreate })
	case file == "optional-rollouts.yaml":
		return of(func(s *v1alpha1.Service) bool { return groupOf(s.TargetRef) == "argoproj.io" })
	}
	return !strings.HasPrefix(file, "optional-") && !strings.HasPrefix(file, "namespace-")
}

// grant checks all permissions of a file.
func (e *exam) grant(ctx context.Context, a about, w who, g grant) {
	denied, err := e.denied(ctx, w, g.wants)
	if err != nil {
		e.unseen(a, "rbac", "what "+g.file+" gives"+g.place(), err, "")
		return
	}
	apply := g.apply()
	state := Fault
	if w.user == "" {
		state, apply = Note, ""
	}
	switch len(denied) {
	case 0:
		a.ok("rbac", "%s may do all that %s gives%s (%s).", upper(w.name), g.file, g.place(),
			count(len(g.wants), "permission", "permissions"))
	case len(g.wants):
		a.when(state, "rbac", apply, "%s may do nothing of what %s gives%s.", upper(w.name), g.file, g.place())
	default:
		for _, line := range byResource(denied) {
			a.when(state, "rbac", apply, "%s may not %s, which %s gives.", upper(w.name), line, g.file)
		}
	}
}

// denied are the missing permissions.
func (e *exam) denied(ctx context.Context, w who, wants []authorizationv1.ResourceAttributes) ([]authorizationv1.ResourceAttributes,
	error) {
	const atOnce = 8
	allowed, errs := make([]bool, len(wants)), make([]error, len(wants))
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range wants {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			allowed[i], errs[i] = e.Access.Allowed(ctx, w.user, w.groups, wants[i])
		})
	}
	group.Wait()
	var denied []authorizationv1.ResourceAttributes
	for i := range wants {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if !allowed[i] {
			denied = append(denied, wants[i])
		}
	}
	return denied, nil
}

// byResource writes permissions as "list, watch pods", in their order.
func byResource(list []authorizationv1.ResourceAttributes) []string {
	verbs := map[string][]string{}
	var order []string
	for _, r := range list {
		name := resourceName(r)
		if verbs[name] == nil {
			order = append(order, name)
		}
		verbs[name] = append(verbs[name], r.Verb)
	}
	for i, name := range order {
		order[i] = strings.Join(verbs[name], ", ") + " " + name
	}
	return order
}

// resourceName is the notation of kubectl auth can-i.
func resourceName(r authorizationv1.ResourceAttributes) string {
	name := r.Resource
	if r.Group != "" {
		name += "." + r.Group
	}
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	if r.Name != "" {
		name += " " + r.Name
	}
	if r.Namespace != "" {
		name += " in " + r.Namespace
	}
	return name
}

// otherKinds are targets that no file of ours covers: they need the same permissions as
// Rollouts.
func (e *exam) otherKinds(ctx context.Context, a about, w who, like grant) {
	state := Fault
	if w.user == "" {
		state = Note
	}
	seen := map[string]bool{}
	for i := range e.lines {
		if !e.looksAt(e.lines[i].Namespace) {
			continue // reported for the LoadLine
		}
		for j := range e.lines[i].Spec.Services {
			ref := e.lines[i].Spec.Services[j].TargetRef
			group := groupOf(ref)
			plural, _, err := e.plural(ref)
			if err != nil || plural == "" || group == "argoproj.io" || group == "apps" &&
				(plural == "deployments" || plural == "statefulsets") {
				continue // a missing kind is reported for the service
			}
			g, do := like.inside(""), fmt.Sprintf("copy %s, put %s and %s in it, and apply it", like.file, group, plural)
			if len(e.namespaces) > 0 {
				g = like.inside(e.lines[i].Namespace)
				do = fmt.Sprintf("put {group: %s, resource: %s} among otherTargets in the chart's values and helm upgrade; without "+
					"the chart, give the account a Role%s with the rules of %s, for %s", group, plural, g.place(), like.file, plural)
			}
			if seen[group+plural+g.in] {
				continue
			}
			seen[group+plural+g.in] = true
			for i := range g.wants {
				g.wants[i].Group, g.wants[i].Resource = group, plural
			}
			denied, err := e.denied(ctx, w, g.wants)
			if err != nil {
				e.unseen(a, "rbac", "permissions for "+plural, err, "")
				continue
			}
			for _, line := range byResource(denied) {
				a.when(state, "rbac", do, "%s may not %s, and a LoadLine moves one.", upper(w.name), line)
			}
		}
	}
}

// named are the Secrets and ConfigMaps that LoadLines name: the controller may read no others.
func (e *exam) named(ctx context.Context, a about, w who) {
	for i := range e.lines {
		l := &e.lines[i]
		var wants []authorizationv1.ResourceAttributes
		for _, s := range sourcesOf(l) {
			r := authorizationv1.ResourceAttributes{Namespace: l.Namespace, Verb: "get", Resource: s.resource, Name: s.name}
			if !slices.Contains(wants, r) {
				wants = append(wants, r)
			}
		}
		denied, err := e.denied(ctx, w, wants)
		if err != nil {
			e.unseen(a, "rbac", "permissions for what "+key(l)+" names", err, "")
			continue
		}
		if w.user == "" {
			continue // the current user's permissions do not matter
		}
		for _, line := range byResource(denied) {
			a.fault("rbac", fmt.Sprintf("put the name into deploy/rbac/namespace-secrets.yaml, and kubectl apply -n %s -f "+
				"deploy/rbac/namespace-secrets.yaml", l.Namespace),
				"%s may not %s, which LoadLine %s names.", upper(w.name), line, key(l))
		}
	}
}
