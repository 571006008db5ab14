package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// Proxy stands between one Loadline process and the API server. It notes every write of
// replicas, and can refuse, delay and lose answers.
type Proxy struct {
	URL     string
	process string
	server  *http.Server
	forward *httputil.ReverseProxy
	fault   atomic.Pointer[proxyFault]
	count   atomic.Uint64 // of requests that a fault concerns

	mu         sync.Mutex
	writes     []Write
	identities map[string]bool // as holder of the lease
	open       map[net.Conn]bool
}

// proxyFault is what a proxy does to requests: every other one that a fault concerns is spared,
// so that retries have a chance.
type proxyFault struct {
	refuse int           // status writes are answered with this code
	delay  time.Duration // before a request is forwarded
	lose   bool          // the connection is closed instead of an answer to a write
}

// NewProxy starts a proxy for the process of this name.
func NewProxy(process string, to *rest.Config) (*Proxy, error) {
	transport, err := rest.TransportFor(to) // it adds the token, which a client does not send without TLS
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(to.Host)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{URL: "http://" + listener.Addr().String(), process: process, identities: map[string]bool{}, open: map[net.Conn]bool{}}
	p.fault.Store(&proxyFault{})
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
		ModifyResponse: p.answered,
		ErrorLog:       log.New(io.Discard, "", 0), // outages are meant
	}
	p.server = &http.Server{Handler: p, ConnState: p.connection}
	go func() { _ = p.server.Serve(listener) }() // until Close
	return p, nil
}

// Close ends it.
func (p *Proxy) Close() { _ = p.server.Close() }

// Set a fault. One that loses answers also cuts all connections, and with them the watches.
func (p *Proxy) Set(f proxyFault) {
	p.fault.Store(&f)
	if !f.lose {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

// Writes of replicas so far.
func (p *Proxy) Writes() []Write {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Write(nil), p.writes...)
}

// Holds reports whether the process has ever written an identity into the lease.
func (p *Proxy) Holds(identity string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.identities[identity]
}

func (p *Proxy) connection(c net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if state == http.StateClosed || state == http.StateHijacked {
		delete(p.open, c)
	} else {
		p.open[c] = true
	}
}

type writeKey struct{}

// ServeHTTP forwards a request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := *p.fault.Load()
	write := r.Method != http.MethodGet
	if write {
		if err := p.note(&r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	status := write && strings.HasSuffix(r.URL.Path, "/status") && strings.Contains(r.URL.Path, "/loadlines/")
	switch {
	case f.refuse != 0 && status && p.count.Add(1)%2 == 1:
		refuse(w, f.refuse)
		return
	case f.delay > 0 && p.count.Add(1)%2 == 1:
		select {
		case <-time.After(f.delay):
		case <-r.Context().Done():
			return
		}
	case f.lose && write && p.count.Add(1)%2 == 1:
		p.forward.ServeHTTP(lost{w}, r)
		panic(http.ErrAbortHandler) // closes the connection
	}
	p.forward.ServeHTTP(w, r)
}

// lost takes an answer that never arrives.
type lost struct{ http.ResponseWriter }

func (l lost) Header() http.Header         { return http.Header{} }
func (l lost) WriteHeader(int)             {}
func (l lost) Write(b []byte) (int, error) { return len(b), nil }

// refuse answers as the API server does.
func refuse(w http.ResponseWriter, code int) {
	reason := map[int]string{http.StatusConflict: "Conflict", http.StatusTooManyRequests: "TooManyRequests"}[code]
	if reason == "" {
		reason = "InternalError"
	}
	w.Header().Set("Content-Type", "application/json")
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"refused by the test","reason":%q,"code":%d}`,
		reason, code)
}

// The paths of writes that are noted, and an identity as leader election makes it.
var (
	scalePath = regexp.MustCompile(`/namespaces/([^/]+)/deployments/([^/]+)/scale$`)
	leasePath = regexp.MustCompile(`/namespaces/[^/]+/leases(/|$)`)
	identity  = regexp.MustCompile(`[A-Za-z0-9.-]+_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

// note reads a write, and begins its entry if it is one of replicas.
func (p *Proxy) note(r **http.Request) error {
	received := time.Now()
	body, err := io.ReadAll((*r).Body)
	if err != nil {
		return err
	}
	(*r).Body = io.NopCloser(bytes.NewReader(body))
	switch m := scalePath.FindStringSubmatch((*r).URL.Path); {
	case m != nil:
		var scale struct {
			Spec struct{ Replicas int }
		}
		if err := json.Unmarshal(body, &scale); err != nil {
			return fmt.Errorf("read the write to %s: %w", (*r).URL.Path, err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.writes = append(p.writes, Write{Received: received, Process: p.process, App: m[1], Service: m[2], Replicas: scale.Spec.Replicas})
		*r = (*r).WithContext(context.WithValue((*r).Context(), writeKey{}, len(p.writes)-1))
	case leasePath.MatchString((*r).URL.Path):
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, who := range identity.FindAllString(string(body), -1) {
			p.identities[who] = true
		}
	}
	return nil
}

// answered completes the entry of a write.
func (p *Proxy) answered(answer *http.Response) error {
	index, noted := answer.Request.Context().Value(writeKey{}).(int)
	if !noted {
		return nil
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	var scale struct {
		Metadata struct{ ResourceVersion string }
	}
	_ = json.Unmarshal(body, &scale) // an error has no version
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes[index].Code, p.writes[index].Version = answer.StatusCode, scale.Metadata.ResourceVersion
	return nil
}
