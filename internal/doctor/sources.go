package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline/api/v1alpha1"
)

// source is a Secret or a ConfigMap that a LoadLine names.
type source struct {
	field          string
	resource, name string // secrets or configmaps
	key            string // empty = several
	binary         bool
}

// sourcesOf a LoadLine, in the order of its fields.
func sourcesOf(l *v1alpha1.LoadLine) []source {
	var all []source
	secret := func(field, name, key string) {
		all = append(all, source{field: field, resource: "secrets", name: name, key: key})
	}
	configMap := func(field string, k *v1alpha1.ConfigMapKey) {
		if k != nil {
			all = append(all, source{field: field, resource: "configmaps", name: k.Name, key: k.Key})
		}
	}
	p := &l.Spec.Prometheus
	configMap("spec.prometheus.queries", p.Queries)
	if s := p.BearerToken; s != nil {
		secret("spec.prometheus.bearerToken", s.Name, s.Key)
	}
	if s := p.BasicAuth; s != nil {
		secret("spec.prometheus.basicAuth", s.Name, "")
	}
	if t := p.TLS; t != nil {
		if t.CASecret != nil {
			secret("spec.prometheus.tls.caSecret", t.CASecret.Name, t.CASecret.Key)
		}
		configMap("spec.prometheus.tls.caConfigMap", t.CAConfigMap)
		if t.ClientCertificate != nil {
			secret("spec.prometheus.tls.clientCertificate", t.ClientCertificate.Name, "")
		}
	}
	for _, h := range p.Headers {
		if h.Secret != nil {
			secret("spec.prometheus.headers["+h.Name+"]", h.Secret.Name, h.Secret.Key)
		}
	}
	if m := l.Spec.Policy.Model; m != nil && m.ConfigMap != nil {
		key := m.ConfigMap.Key
		if key == "" {
			key = "model.safetensors"
		}
		all = append(all, source{field: "spec.policy.model.configMap", resource: "configmaps", name: m.ConfigMap.Name, key: key,
			binary: true})
	}
	configMap("spec.twin", l.Spec.Twin)
	return all
}

// sources must exist. Of Secrets only the existence is checked, never the contents.
func (e *exam) sources(ctx context.Context, a about, l *v1alpha1.LoadLine) {
	for _, s := range sourcesOf(l) {
		what := fmt.Sprintf("%s %s (%s)", map[string]string{"secrets": "Secret", "configmaps": "ConfigMap"}[s.resource], s.name, s.field)
		keys, err := e.keys(ctx, l.Namespace, s)
		switch {
		case apierrors.IsNotFound(err):
			a.fault("sources", fmt.Sprintf("kubectl -n %s create it, or correct %s", l.Namespace, s.field), "There is no %s.", what)
		case apierrors.IsForbidden(err):
			a.note("sources", "", "%s could not be read: you may not read it.", what)
		case err != nil:
			e.unseen(a, "sources", what, err, "")
		case keys != nil && !slices.Contains(keys, s.key):
			place := "data or binaryData"
			if s.binary {
				place = "binaryData"
			}
			a.fault("sources", fmt.Sprintf("kubectl -n %s edit configmap %s, or correct %s", l.Namespace, s.name, s.field),
				"%s has no key %q under %s (it has: %s).", what, s.key, place, some(keys))
		default:
			a.ok("sources", "%s is there.", what)
		}
	}
}

// keys that a ConfigMap has; nil for a Secret.
func (e *exam) keys(ctx context.Context, namespace string, s source) ([]string, error) {
	name := types.NamespacedName{Namespace: namespace, Name: s.name}
	if s.resource == "secrets" {
		only := &metav1.PartialObjectMetadata{}
		only.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		return nil, e.Reader.Get(ctx, name, only)
	}
	var m corev1.ConfigMap
	if err := e.Reader.Get(ctx, name, &m); err != nil {
		return nil, err
	}
	keys := []string{}
	for k := range m.BinaryData {
		keys = append(keys, k)
	}
	if !s.binary {
		for k := range m.Data {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// model reports what is visible of a model from outside.
func (e *exam) model(ctx context.Context, a about, l *v1alpha1.LoadLine) {
	m := l.Spec.Policy.Model
	if m == nil || m.ConfigMap != nil {
		return
	}
	if m.Claim != nil {
		e.claim(ctx, a, m.Claim)
	}
	where := string(m.Folder)
	if m.Claim != nil {
		where = strings.Trim(m.Claim.Name+"/"+string(m.Claim.Path), "/")
	}
	a.note("model", fmt.Sprintf("kubectl -n %s get loadline %s -o jsonpath='{.status.policy}'", l.Namespace, l.Name),
		"Whether there is a model in the registry %q can only be seen by the controller: the condition Fallback tells.", where)
}

func (e *exam) claim(ctx context.Context, a about, c *v1alpha1.ModelClaim) {
	var claim corev1.PersistentVolumeClaim
	err := e.Reader.Get(ctx, types.NamespacedName{Namespace: e.Namespace, Name: c.Name}, &claim)
	if apierrors.IsNotFound(err) {
		a.fault("model", fmt.Sprintf("create it in the namespace %s and mount it into the controller's pods", e.Namespace),
			"There is no PersistentVolumeClaim %s/%s.", e.Namespace, c.Name)
		return
	}
	if err != nil {
		e.unseen(a, "model", "PersistentVolumeClaim "+c.Name, err, "")
		return
	}
	if e.deployment == nil {
		return
	}
	for _, v := range e.deployment.Spec.Template.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == c.Name {
			return
		}
	}
	a.fault("model", fmt.Sprintf("mount it under the folder of models, as %s", c.Name),
		"The controller's pods have not mounted the PersistentVolumeClaim %s.", c.Name)
}
