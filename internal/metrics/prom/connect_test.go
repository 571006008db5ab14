package prom

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// selfSigned is a certificate for 127.0.0.1 that is its own authority.
func selfSigned(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"prometheus.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	der2, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY",
		Bytes: der2})
}

// tlsServer answers with the client's certificate, if it trusts any.
func tlsServer(t *testing.T, certificate, key, clients []byte) *httptest.Server {
	t.Helper()
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) > 0 {
			_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
		}
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of refused handshakes
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	if clients != nil {
		s.TLS.ClientAuth, s.TLS.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		s.TLS.ClientCAs.AppendCertsFromPEM(clients)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, c *connection, url string) (string, error) {
	t.Helper()
	client := http.Client{Transport: c}
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), nil
}

// TestRenewedCertificates: a renewed authority and a renewed client certificate are used
// at the next request.
func TestRenewedCertificates(t *testing.T) {
	dir := t.TempDir()
	s := Server{
		URL: "https://prometheus.test", ServerName: "prometheus.test",
		CAFile: filepath.Join(dir, "ca"), CertFile: filepath.Join(dir, "cert"), KeyFile: filepath.Join(dir, "key"),
	}
	var clients []byte
	var certs, keys [2][]byte
	var servers [2]*httptest.Server
	for i, name := range []string{"client one", "client two"} {
		certs[i], keys[i] = selfSigned(t, name)
		clients = append(clients, certs[i]...)
	}
	var authorities [2][]byte
	for i, name := range []string{"server one", "server two"} {
		cert, key := selfSigned(t, name)
		authorities[i], servers[i] = cert, tlsServer(t, cert, key, clients)
	}
	renew := func(i int) {
		writeFile(t, s.CAFile, authorities[i])
		writeFile(t, s.CertFile, certs[i])
		writeFile(t, s.KeyFile, keys[i])
	}
	renew(0)
	c, err := connect(s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	if got, err := get(t, c, servers[0].URL); err != nil || got != "client one" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := get(t, c, servers[1].URL); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a server of another authority: %v", err)
	}
	renew(1)
	if got, err := get(t, c, servers[1].URL); err != nil || got != "client two" {
		t.Errorf("after the renewal: %q, %v", got, err)
	}
	if _, err := get(t, c, servers[0].URL); err == nil {
		t.Error("the former authority is still trusted")
	}
	if err := os.Remove(s.CertFile); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, c, servers[1].URL); err == nil || !strings.Contains(err.Error(), s.CertFile) {
		t.Errorf("a removed certificate: %v", err)
	}
}

// TestCredentials: what a server gets, and that a renewed file is read at the next request.
func TestCredentials(t *testing.T) {
	var seen http.Header
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Clone() }))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "secret")
	basic := func(password string) string {
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth("me", password)
		return r.Header.Get("Authorization")
	}
	for name, row := range map[string]struct {
		server        Server
		first, second string // with the file's first and second content
	}{
		"no credentials":            {Server{}, "", ""},
		"a token":                   {Server{Token: "fixed"}, "Bearer fixed", "Bearer fixed"},
		"a token's file":            {Server{TokenFile: file}, "Bearer one", "Bearer two"},
		"a token's file and value":  {Server{TokenFile: file, Token: "fixed"}, "Bearer one", "Bearer two"},
		"a password":                {Server{Username: "me", Password: "fixed"}, basic("fixed"), basic("fixed")},
		"a password's file":         {Server{Username: "me", PasswordFile: file}, basic("one"), basic("two")},
		"a user without a password": {Server{Username: "me"}, basic(""), basic("")},
	} {
		t.Run(name, func(t *testing.T) {
			writeFile(t, file, []byte("one\n"))
			row.server.Headers = map[string]string{"X-Scope-OrgID": "tenant"}
			c, err := connect(row.server)
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseIdleConnections()
			for _, want := range []string{row.first, row.second} {
				if _, err := get(t, c, s.URL); err != nil {
					t.Fatal(err)
				}
				if seen.Get("Authorization") != want || seen.Get("X-Scope-OrgID") != "tenant" || seen.Get("User-Agent") != "loadline" {
					t.Errorf("got %v, want authorization %q", seen, want)
				}
				writeFile(t, file, []byte("two\n"))
			}
		})
	}
}

func TestUnusableCertificates(t *testing.T) {
	cert, _ := selfSigned(t, "one")
	_, otherKey := selfSigned(t, "two")
	torn := filepath.Join(t.TempDir(), "ca")
	writeFile(t, torn, []byte("no certificate"))
	for name, row := range map[string]struct {
		server Server
		want   string
	}{
		"an authority's file without one": {Server{CAFile: torn}, torn + " holds no certificate"},
		"an authority that is no PEM":     {Server{CA: "x"}, "holds no certificate"},
		"a key of another certificate":    {Server{Cert: string(cert), Key: string(otherKey)}, "does not match"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := connect(row.server); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
