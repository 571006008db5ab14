package cli

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"k8s.io/client-go/rest"

	"github.com/loadline/loadline/internal/doctor"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// apiProxy reaches Services through the API server, with the credentials of the kubeconfig. It
// listens on loopback as kubectl proxy does, for one Service each and below a random path,
// since its requests carry the user's credentials.
type apiProxy struct {
	config  *rest.Config
	servers []*http.Server
}

// connect to a Prometheus, directly or through the API server.
func (p *apiProxy) connect(a doctor.Address) (*prom.Client, error) {
	server := prom.Server{URL: a.URL, Headers: a.Headers, ServerName: a.ServerName, Insecure: a.Insecure, Attempts: 2, Timeout: a.Timeout}
	if a.Proxy == "" {
		return prom.NewClient(server)
	}
	var err error
	if server.URL, err = p.listen(a.Proxy); err != nil {
		return nil, err
	}
	server.Shown = a.URL
	return prom.NewClient(server)
}

// listen listens for one path of the API server and returns its local address.
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
