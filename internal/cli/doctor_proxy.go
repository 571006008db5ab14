package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"

	"github.com/loadline/loadline/internal/doctor"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// apiProxy reaches Services through the API server, with the credentials of the
// kubeconfig. It listens on loopback as kubectl proxy does, for one Service each and
// below a random path, since its requests carry the user's credentials.
type apiProxy struct {
	config  *rest.Config
	servers []*http.Server
}

// connect to a Prometheus, directly or through the API server.
func (p *apiProxy) connect(a doctor.Address) (doctor.Series, error) {
	server := prom.Server{URL: a.URL, Headers: a.Headers, ServerName: a.ServerName, Insecure: a.Insecure, Attempts: 2, Timeout: a.Timeout}
	if a.Proxy == "" {
		return prom.NewClient(server)
	}
	var err error
	if server.URL, err = p.listen(a.Proxy); err != nil {
		return nil, err
	}
	c, err := prom.NewClient(server)
	if err != nil {
		return nil, err
	}
	return proxied{Client: c, rename: strings.NewReplacer(server.URL, a.URL)}, nil
}

// proxied names the Prometheus in errors by its own address, not by ours.
type proxied struct {
	*prom.Client
	rename *strings.Replacer
}

func (p proxied) say(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(p.rename.Replace(err.Error()))
}

func (p proxied) Query(ctx context.Context, query string, at time.Time) (model.Vector, error) {
	v, err := p.Client.Query(ctx, query, at)
	return v, p.say(err)
}

func (p proxied) Detect(ctx context.Context, s prom.Setting, start, end time.Time) (*prom.Preset, []string, error) {
	best, others, err := p.Client.Detect(ctx, s, start, end)
	return best, others, p.say(err)
}

func (p proxied) ScrapeInterval(ctx context.Context, preset *prom.Preset, s prom.Setting, start, end time.Time) (time.Duration, error) {
	every, err := p.Client.ScrapeInterval(ctx, preset, s, start, end)
	return every, p.say(err)
}

func (p proxied) LabelValues(ctx context.Context, label string, from, to time.Time) ([]string, error) {
	values, err := p.Client.LabelValues(ctx, label, from, to)
	return values, p.say(err)
}

// listen for one path of the API server; the address that stands for it.
func (p *apiProxy) listen(path string) (string, error) {
	target, _, err := rest.DefaultServerUrlFor(p.config)
	if err != nil {
		return "", err
	}
	transport, err := rest.TransportFor(p.config)
	if err != nil {
		return "", fmt.Errorf("prepare to reach the API server: %w", err)
	}
	secret := "/" + rand.Text()
	forward := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path + path})
		},
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	mux.Handle(secret+"/api/v1/", http.StripPrefix(secret, forward))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	p.servers = append(p.servers, s)
	go func() { _ = s.Serve(l) }() // ends with close
	return "http://" + l.Addr().String() + secret, nil
}

func (p *apiProxy) close() {
	for _, s := range p.servers {
		_ = s.Close()
	}
}
