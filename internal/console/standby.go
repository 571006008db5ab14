package console

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"github.com/loadline/loadline/internal/tlsfiles"
)

const (
	// forwarded marks a request that a standby has passed on, so that no other passes it on again.
	forwarded = "Loadline-Forwarded"
	// leaderFor is how long the address of the leader is used before it is looked for again.
	leaderFor = 5 * time.Second
	// dialWithin is how long a peer may take to answer which one it is.
	dialWithin = 3 * time.Second
	mostPeers  = 32
)

// leader finds the process that decides among the peers.
type leader struct {
	peers     []string
	scheme    string
	transport *http.Transport
	now       func() time.Time

	mu    sync.Mutex
	found *url.URL // nil = none
	at    time.Time
}

// newLeader trusts peers that have the certificate that we have: all replicas have the same
// Secret, and addresses of pods are in no certificate.
func newLeader(o Options, leaf func() []byte) *leader {
	l := &leader{peers: o.Peers, scheme: "https", now: o.Now, transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: dialWithin}).DialContext, MaxConnsPerHost: mostConnections / 4, IdleConnTimeout: idleFor,
		ResponseHeaderTimeout: answerWithin, TLSHandshakeTimeout: dialWithin,
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS13,
			InsecureSkipVerify: true, // VerifyConnection is stricter
			VerifyConnection: func(state tls.ConnectionState) error {
				if !bytes.Equal(state.PeerCertificates[0].Raw, leaf()) {
					return errors.New("the peer has another certificate than this process")
				}
				return nil
			},
		},
	}}
	if o.TLS == (tlsfiles.Files{}) {
		l.scheme = "http"
	}
	return l
}

// address of the leader; nil = it is not known. The user's own token is shown to peers.
func (l *leader) address(ctx context.Context, r *http.Request) *url.URL {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.at.IsZero() && l.now().Sub(l.at) < leaderFor {
		return l.found
	}
	l.found, l.at = nil, l.now()
	for _, peer := range l.peers {
		host, port, err := net.SplitHostPort(peer)
		if err != nil {
			continue
		}
		addresses, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			continue
		}
		for _, a := range addresses[:min(len(addresses), mostPeers)] {
			u := &url.URL{Scheme: l.scheme, Host: net.JoinHostPort(a, port)}
			if l.leads(ctx, u, r) {
				l.found = u
				return u
			}
		}
	}
	if ctx.Err() != nil {
		l.at = time.Time{} // the search was not completed
	}
	return nil
}

func (l *leader) leads(ctx context.Context, u *url.URL, from *http.Request) bool {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String()+"/api/v1/leader", nil)
	if err != nil {
		return false
	}
	token, _ := tokenOf(from)
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := l.transport.RoundTrip(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	var said struct{ Leader bool }
	return answer.StatusCode == http.StatusOK && json.NewDecoder(io.LimitReader(answer.Body, 1024)).Decode(&said) == nil && said.Leader
}

// forward passes a request on to the leader from a standby, with the user's own token, and
// answers it here where that is not possible.
func (s *Server) forward(here http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.elected() || r.Header.Get(forwarded) != "" || len(s.leader.peers) == 0 {
			here.ServeHTTP(w, r)
			return
		}
		if _, err := s.access.userOf(r.Context(), r); err != nil {
			s.refuse(w, r, err)
			return
		}
		to := s.leader.address(r.Context(), r)
		if to == nil {
			here.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == "/api/v1/events" { // the leader limits it
			_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		}
		proxy := httputil.ReverseProxy{
			Transport: s.leader.transport, FlushInterval: -1, ErrorLog: nil,
			Rewrite: func(p *httputil.ProxyRequest) {
				p.SetURL(to)
				p.Out.Host = to.Host
				token, _ := tokenOf(p.In)
				p.Out.Header.Del(TokenHeader)
				p.Out.Header.Set("Authorization", "Bearer "+token)
				p.Out.Header.Set(forwarded, "1")
			},
			ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
				s.options.Log.Debug("request not passed on to the leader", "error", err)
				here.ServeHTTP(w, r)
			},
			ModifyResponse: func(answer *http.Response) error {
				for name := range answer.Header { // ours are there already
					if w.Header().Get(name) != "" {
						answer.Header.Del(name)
					}
				}
				return nil
			},
		}
		proxy.ServeHTTP(w, r)
	})
}
