package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/metrics/live"
	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/resource"
)

// rereadAfter is how long the content of Secrets and ConfigMaps is used before they
// are read again: they are not watched, since we may read only those that are named.
const rereadAfter = time.Minute

// A missingError is about a Secret or ConfigMap, or a key of one, that does not exist.
type missingError struct{ error }

func (e missingError) Unwrap() error { return e.error }

// named reads Secrets and ConfigMaps of one namespace by name.
type named struct {
	reader    client.Reader
	namespace string
}

func (n named) secret(ctx context.Context, name, key string) ([]byte, error) {
	var s corev1.Secret
	if err := n.get(ctx, "Secret", name, &s); err != nil {
		return nil, err
	}
	if v, found := s.Data[key]; found {
		return v, nil
	}
	return nil, missingError{fmt.Errorf("the Secret %s/%s has no key %q", n.namespace, name, key)}
}

func (n named) configMap(ctx context.Context, name, key string) ([]byte, error) {
	var m corev1.ConfigMap
	if err := n.get(ctx, "ConfigMap", name, &m); err != nil {
		return nil, err
	}
	if v, found := m.Data[key]; found {
		return []byte(v), nil
	}
	if v, found := m.BinaryData[key]; found {
		return v, nil
	}
	return nil, missingError{fmt.Errorf("the ConfigMap %s/%s has no key %q", n.namespace, name, key)}
}

func (n named) get(ctx context.Context, kind, name string, into client.Object) error {
	err := n.reader.Get(ctx, client.ObjectKey{Namespace: n.namespace, Name: name}, into)
	switch {
	case apierrors.IsNotFound(err):
		return missingError{fmt.Errorf("the %s %s/%s does not exist", kind, n.namespace, name)}
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the %s %s/%s may not be read: name it in deploy/rbac/namespace-secrets.yaml and apply that to the "+
			"namespace: %w", kind, n.namespace, name, err)
	}
	return err
}

// twin of a LoadLine; nil if it names none.
func (n named) twin(ctx context.Context, l *v1alpha1.LoadLine) (*loadline.App, error) {
	ref := l.Spec.Twin
	if ref == nil {
		return nil, nil
	}
	text, err := n.configMap(ctx, ref.Name, ref.Key)
	if err != nil {
		return nil, fmt.Errorf("spec.twin: %w", err)
	}
	m, err := apps.Parse("ConfigMap "+n.namespace+"/"+ref.Name+" key "+ref.Key, text)
	if err != nil {
		return nil, fmt.Errorf("spec.twin: %w", err)
	}
	return m.App, nil
}

// server is the connection to Prometheus, with the present content of Secrets.
func (n named) server(ctx context.Context, from *resource.Metering) (prom.Server, error) {
	p := &from.Source.PrometheusServer
	s := prom.Server{URL: p.URL, Timeout: p.Timeout.Span(), Attempts: 2, Headers: map[string]string{}, Unquoted: true}
	var faults []error
	text := func(to *string, field string, read func() ([]byte, error)) {
		v, err := read()
		if err != nil {
			faults = append(faults, fmt.Errorf("%s.%s: %w", from.Field, field, err))
			return
		}
		*to = string(v)
	}
	secret := func(to *string, field, name, key string) {
		text(to, field, func() ([]byte, error) { return n.secret(ctx, name, key) })
	}
	if t := p.BearerToken; t != nil {
		secret(&s.Token, "bearerToken", t.Name, t.Key)
	}
	if b := p.BasicAuth; b != nil {
		secret(&s.Username, "basicAuth", b.Name, corev1.BasicAuthUsernameKey)
		secret(&s.Password, "basicAuth", b.Name, corev1.BasicAuthPasswordKey)
	}
	if t := p.TLS; t != nil {
		s.ServerName, s.Insecure = t.ServerName, t.InsecureSkipVerify
		if c := t.CASecret; c != nil {
			secret(&s.CA, "tls.caSecret", c.Name, c.Key)
		}
		if c := t.CAConfigMap; c != nil {
			text(&s.CA, "tls.caConfigMap", func() ([]byte, error) { return n.configMap(ctx, c.Name, c.Key) })
		}
		if c := t.ClientCertificate; c != nil {
			secret(&s.Cert, "tls.clientCertificate", c.Name, corev1.TLSCertKey)
			secret(&s.Key, "tls.clientCertificate", c.Name, corev1.TLSPrivateKeyKey)
		}
	}
	for i, h := range p.Headers {
		value := h.Value
		if h.Secret != nil {
			secret(&value, fmt.Sprintf("headers[%d]", i), h.Secret.Name, h.Secret.Key)
		}
		s.Headers[h.Name] = value
	}
	return s, errors.Join(faults...)
}

// preset that the resource names; nil = the one that fits is detected.
func (n named) preset(ctx context.Context, p *v1alpha1.PrometheusSource) (*prom.Preset, error) {
	switch {
	case p.Queries != nil:
		text, err := n.configMap(ctx, p.Queries.Name, p.Queries.Key)
		if err != nil {
			return nil, fmt.Errorf("spec.prometheus.queries: %w", err)
		}
		return prom.Parse("ConfigMap "+n.namespace+"/"+p.Queries.Name+" key "+p.Queries.Key, text)
	case p.Preset != "":
		return prom.Load(p.Preset)
	}
	return nil, nil
}

// meter reads the metrics, through a source that is opened anew when its settings have
// changed.
type meter struct {
	named         // of the LoadLine
	secrets named // of the server
	spec    resource.Metering
	app     *resource.Application
	log     *slog.Logger
	// allow is where Prometheus may be.
	allow   prom.AllowList
	answers *prom.Budget // of the process; nil = none
	shares  *shares      // of the process; nil = it asks alone

	read   time.Time // when Secrets and ConfigMaps were
	server prom.Server
	source *live.Source
	leave  func() // those it asks with; nil = it asks alone
}

// at returns the source for an instant. If a Secret can no longer be read, the source
// stays in use with the old content.
func (m *meter) at(ctx context.Context, now time.Time) (metering, error) {
	if m.source != nil && now.Sub(m.read) < rereadAfter {
		return m.source, nil
	}
	server, err := m.secrets.server(ctx, &m.spec)
	if err != nil {
		if m.source != nil {
			return m.source, nil
		}
		return nil, err
	}
	m.read = now
	if m.source != nil && reflect.DeepEqual(server, m.server) {
		return m.source, nil
	}
	source, err := m.open(ctx, server)
	if err != nil {
		return nil, err
	}
	m.server, m.source = server, source
	return source, nil
}

func (m *meter) open(ctx context.Context, server prom.Server) (*live.Source, error) {
	if err := m.allow.Check(server.URL); err != nil {
		return nil, fmt.Errorf("%s.url: %w", m.spec.Field, err)
	}
	c, err := newClient(server, m.answers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.spec.Field, err)
	}
	preset, err := m.preset(ctx, &m.spec.Source)
	if err != nil {
		return nil, err
	}
	options := live.OptionsFor(m.app, &m.spec.Source, m.namespace, preset)
	options.Log = m.log
	var leave func()
	if m.shares != nil {
		options.Shared, leave = m.shares.join(server, m.answers)
	}
	source, err := live.New(c, options)
	if err != nil {
		if leave != nil {
			leave()
		}
		return nil, err
	}
	m.close()
	m.leave = leave
	return source, nil
}

// close ends what the source has with others.
func (m *meter) close() {
	if m.leave != nil {
		m.leave()
		m.leave = nil
	}
}

func newClient(server prom.Server, answers *prom.Budget) (*prom.Client, error) {
	c, err := prom.NewClient(server)
	if err == nil && answers != nil {
		c.Share(answers)
	}
	return c, err
}
