package prom

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// thief records what it is sent.
type thief struct {
	mu   sync.Mutex
	seen []http.Header
}

func (h *thief) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.seen = append(h.seen, r.Header.Clone())
	h.mu.Unlock()
	_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
}

func (h *thief) requests() []http.Header {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen
}

// TestRedirectsGetNoCredentials: a token, a password and a tenant's header reach no server but the one
// that they were given for, whatever redirect it answers with.
func TestRedirectsGetNoCredentials(t *testing.T) {
	caught := &thief{}
	other := httptest.NewServer(caught)
	defer other.Close()
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	for name, to := range map[string]string{
		"another host":              elsewhere,
		"another port of this host": other.URL,
	} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, to+r.URL.Path+"?stolen=location-secret", code)
			}))
			for _, from := range []Server{
				{URL: server.URL, Token: "token", Headers: map[string]string{"X-Scope-OrgID": "tenant"}, Unquoted: true, Attempts: 1},
				{URL: server.URL, Username: "me", Password: "password", Attempts: 1},
			} {
				c := client(t, from)
				_, one := c.Query(t.Context(), "up", time.Unix(1, 0))
				two := c.Each(t.Context(), "up", time.Unix(1, 0), func() {}, func(*Series) {})
				_, three := c.LabelValues(t.Context(), "job", time.Unix(1, 0), time.Unix(2, 0))
				for _, err := range []error{one, two, three} {
					if err == nil || strings.Contains(err.Error(), "location-secret") {
						t.Errorf("%s by %d: %v", name, code, err)
					}
				}
			}
			server.Close()
		}
	}
	for _, header := range caught.requests() {
		t.Errorf("another server got %v", header)
	}
}

// TestRedirectsKeepTLS: credentials that are encrypted on their way stay so, and a redirect to TLS on the
// same host is followed at the usual ports only.
func TestRedirectsKeepTLS(t *testing.T) {
	caught := &thief{}
	plain := httptest.NewServer(caught)
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+r.URL.Path, http.StatusPermanentRedirect)
	}))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	c := client(t, Server{URL: secure.URL, CA: string(ca), Token: "token", Attempts: 1})
	if err := c.Each(t.Context(), "up", time.Unix(1, 0), func() {}, func(*Series) {}); err == nil ||
		!strings.Contains(err.Error(), "redirects to "+plain.URL) {
		t.Errorf("%v", err)
	}
	if seen := caught.requests(); len(seen) > 0 {
		t.Errorf("sent in plain text: %v", seen)
	}
	for _, row := range []struct {
		from, to string
		follow   bool
	}{
		{"http://prom/a", "https://prom/a", true},
		{"http://prom:80/a", "https://prom:443/a", true},
		{"http://prom:9090/a", "http://PROM:9090/a", true},
		{"https://prom/a", "https://prom:443/a", true},
		{"https://prom/a", "http://prom/a", false},
		{"https://prom:443/a", "http://prom:443/a", false},
		{"http://prom:9090/a", "https://prom:9090/a", false}, // nothing speaks both there
		{"http://prom/a", "http://prom:9090/a", false},
		{"http://prom/a", "https://prom.evil/a", false},
		{"http://prom/a", "https://prom/b", false},
	} {
		request := func(address string) *http.Request {
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			return &http.Request{Method: http.MethodPost, URL: u}
		}
		if err := checkRedirect(request(row.to), []*http.Request{request(row.from)}); (err == nil) != row.follow {
			t.Errorf("%s to %s: %v", row.from, row.to, err)
		}
	}
}

// TestLocationsAreNotQuoted: where a server redirects to is part of its answer.
func TestLocationsAreNotQuoted(t *testing.T) {
	for _, path := range []string{"/api/v1/query", "/login/session-secret", "/secret/api/v1/query"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://secret.invalid"+path, http.StatusFound)
		}))
		defer server.Close()
		for _, unquoted := range []bool{false, true} {
			c := client(t, Server{URL: server.URL, Unquoted: unquoted, Attempts: 1})
			err := c.Each(t.Context(), "up", time.Unix(1, 0), func() {}, func(*Series) {})
			if err == nil || strings.Contains(err.Error(), "secret") == unquoted || !strings.Contains(err.Error(), "302") {
				t.Errorf("%s, unquoted %t: %v", path, unquoted, err)
			}
		}
	}
}

// TestBannersAreNotQuoted: what answers need not speak HTTP, and a certificate is an answer too.
func TestBannersAreNotQuoted(t *testing.T) {
	banner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer banner.Close()
	go func() {
		for {
			conn, err := banner.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "SSH-2.0-secret\r\n\r\n")
			_ = conn.Close()
		}
	}()
	certificate, key := selfSigned(t, "secret")
	cert := tlsServer(t, certificate, key, nil)
	for _, s := range []Server{{URL: "http://" + banner.Addr().String()}, {URL: cert.URL, CA: string(certificate), ServerName: "other"}} {
		for _, s.Unquoted = range []bool{false, true} {
			c := client(t, s)
			err := c.Each(t.Context(), "up", time.Unix(1, 0), func() {}, func(*Series) {})
			if err == nil || s.Unquoted && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "prometheus.test")) {
				t.Errorf("unquoted %t: %v", s.Unquoted, err)
			}
		}
	}
	gone := client(t, Server{URL: "http://127.0.0.1:1", Unquoted: true})
	if err := gone.Each(t.Context(), "up", time.Unix(1, 0), func() {}, func(*Series) {}); err == nil ||
		!strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v", err)
	}
}
