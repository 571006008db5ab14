package doctor

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline/api/v1alpha1"
)

// Address is how to reach a Prometheus from here.
type Address struct {
	URL string // as the LoadLine has it
	// Proxy is the path on the API server by which a Service is reached from outside the
	// cluster; empty = directly by the URL.
	Proxy   string
	Timeout time.Duration
	Headers map[string]string
	// For direct connections only; the API server does not check certificates of Services.
	ServerName string
	Insecure   bool
}

// defaultTimeout of a query, as in the schema.
const defaultTimeout = 10 * time.Second

// service is a Service by its name within the cluster.
type service struct {
	namespace, name, port, scheme, path string
	certain                             bool // it cannot be anything else
}

// serviceOf interprets an address as the controller's pods would resolve it: a single name is a
// Service of their own namespace. False if it is not the name of a Service.
func serviceOf(address, own string) (service, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return service{}, false
	}
	s := service{scheme: u.Scheme, port: u.Port(), path: u.Path}
	if s.port == "" {
		s.port = map[string]string{"https": "443"}[u.Scheme]
		if s.port == "" {
			s.port = "80"
		}
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	if host == "" || host == "localhost" || net.ParseIP(host) != nil {
		return service{}, false
	}
	parts := strings.Split(host, ".")
	s.name = parts[0]
	switch {
	case len(parts) == 1:
		s.namespace, s.certain = own, true
	case len(parts) >= 3 && parts[2] == "svc":
		s.namespace, s.certain = parts[1], true
	case len(parts) == 2:
		s.namespace = parts[1] // or a host of the user's own domain
	default:
		return service{}, false
	}
	return s, true
}

// proxy is the API server's path to a Service.
func (s service) proxy() string {
	name := s.name + ":" + s.port
	if s.scheme == "https" {
		name = "https:" + name
	}
	return "/api/v1/namespaces/" + s.namespace + "/services/" + name + "/proxy" + strings.TrimRight(s.path, "/")
}

// forward is the command to reach it.
func (s service) forward() string {
	return fmt.Sprintf("kubectl -n %s port-forward svc/%s 9090:%s & loadline doctor --prometheus %s://localhost:9090%s", s.namespace,
		s.name, s.port, s.scheme, strings.TrimRight(s.path, "/"))
}

// route determines how to reach a LoadLine's Prometheus; false if it is not reachable, which
// has then been reported.
func (e *exam) route(ctx context.Context, a about, l *v1alpha1.LoadLine) (Address, string, bool) {
	p := &l.Spec.Prometheus
	address := Address{URL: p.URL, Timeout: defaultTimeout}
	if d := p.Timeout.Span(); d > 0 {
		address.Timeout = d
	}
	s, inside := serviceOf(p.URL, e.Namespace)
	otherwise := "loadline doctor --prometheus URL, with a URL that is reachable from here"
	if inside {
		otherwise = s.forward()
		there, certain := e.serviceThere(ctx, a, s, p.URL)
		if certain && !there {
			return address, "", false
		}
		inside = there || s.certain
	} else if u, err := url.Parse(p.URL); err == nil && (u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127.")) {
		a.warn("prometheus", "name its Service: http://NAME.NAMESPACE:PORT",
			"spec.prometheus.url %s is the controller's own pod, where hardly a Prometheus is.", p.URL)
		return address, "", false
	}
	if inside && !e.InCluster {
		address.Proxy = s.proxy()
	}
	if secret := credentials(p, address.Proxy != ""); secret != "" {
		a.note("prometheus", otherwise+", with --token-file, --user, --cert-file, --ca-file or --header as it asks for",
			"%s needs %s, which is not read here; its metrics were not checked.", p.URL, secret)
		return address, "", false
	}
	if p.TLS != nil {
		address.ServerName, address.Insecure = p.TLS.ServerName, p.TLS.InsecureSkipVerify
	}
	address.Headers = map[string]string{}
	for _, h := range p.Headers {
		address.Headers[h.Name] = h.Value
	}
	return address, otherwise, true
}

// credentials that a LoadLine names and that we do not have; empty if none.
func credentials(p *v1alpha1.PrometheusSource, proxied bool) string {
	switch {
	case p.BearerToken != nil:
		return "the Secret " + p.BearerToken.Name
	case p.BasicAuth != nil:
		return "the Secret " + p.BasicAuth.Name
	case p.TLS != nil && p.TLS.ClientCertificate != nil:
		return "the Secret " + p.TLS.ClientCertificate.Name
	case p.TLS != nil && p.TLS.CASecret != nil && !proxied:
		return "the Secret " + p.TLS.CASecret.Name
	case p.TLS != nil && p.TLS.CAConfigMap != nil && !proxied:
		return "the ConfigMap " + p.TLS.CAConfigMap.Name
	}
	for _, h := range p.Headers {
		if h.Secret != nil {
			return "the Secret " + h.Secret.Name
		}
	}
	return ""
}

// serviceThere looks for a Service and its port; certain is false if it could not be read, or
// the name may be outside the cluster.
func (e *exam) serviceThere(ctx context.Context, a about, s service, address string) (there, certain bool) {
	var found corev1.Service
	err := e.Reader.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: s.name}, &found)
	switch {
	case apierrors.IsNotFound(err) && s.certain:
		a.fault("prometheus", "kubectl get services -A | grep -i prometheus, and correct spec.prometheus.url",
			"spec.prometheus.url %s names a Service %s/%s, which does not exist.", address, s.namespace, s.name)
		return false, true
	case err != nil:
		return false, false
	}
	if found.Spec.Type == corev1.ServiceTypeExternalName {
		return true, true
	}
	var ports []string
	for _, p := range found.Spec.Ports {
		ports = append(ports, strconv.Itoa(int(p.Port)))
	}
	if !slices.Contains(ports, s.port) {
		a.fault("prometheus", "correct the port in spec.prometheus.url",
			"spec.prometheus.url %s: the Service %s/%s has no port %s (it has: %s).", address, s.namespace, s.name, s.port, some(ports))
		return false, true
	}
	return true, true
}
