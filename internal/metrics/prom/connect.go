package prom

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// connection sends requests to a server: TLS, a proxy from the environment, credentials
// and headers. Files are read again at every request, so that renewed tokens and
// certificates take effect without a restart.
//
// It replaces prometheus/common/config, which links text/template: with that package in a
// program the linker keeps every exported method of every type (docs/adr/0013-binary-size.md).
type connection struct {
	server Server

	mu        sync.Mutex
	pem       identity // that transport was made from
	transport *http.Transport
}

// identity is what TLS needs, as PEM.
type identity struct{ authority, certificate, key string }

// connect prepares to reach a server, and refuses certificates that cannot be used.
func connect(s Server) (*connection, error) {
	c := &connection{server: s}
	_, err := c.current()
	return c, err
}

// RoundTrip implements http.RoundTripper.
func (c *connection) RoundTrip(req *http.Request) (*http.Response, error) {
	signed := req.Clone(req.Context())
	transport, err := c.current()
	if err == nil {
		err = c.sign(signed.Header)
	}
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	return transport.RoundTrip(signed)
}

// CloseIdleConnections closes the connections that no request uses.
func (c *connection) CloseIdleConnections() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.transport.CloseIdleConnections()
}

// sign adds the credentials and the server's headers to those of a request.
func (c *connection) sign(header http.Header) error {
	s := c.server
	header.Set("User-Agent", "loadline")
	for name, value := range s.Headers {
		header.Add(name, value)
	}
	switch {
	case s.TokenFile != "" || s.Token != "":
		token, err := secret(s.TokenFile, s.Token)
		if err != nil {
			return fmt.Errorf("read the bearer token: %w", err)
		}
		header.Set("Authorization", "Bearer "+token)
	case s.Username != "":
		password, err := secret(s.PasswordFile, s.Password)
		if err != nil {
			return fmt.Errorf("read the password: %w", err)
		}
		basic := http.Request{Header: header}
		basic.SetBasicAuth(s.Username, password)
	}
	return nil
}

// secret in a file, or the value if no file is named.
func secret(file, value string) (string, error) {
	text, err := fileOr(file, value)
	return strings.TrimSpace(text), err
}

// fileOr is the content of a file, or the value if no file is named.
func fileOr(file, value string) (string, error) {
	if file == "" {
		return value, nil
	}
	content, err := os.ReadFile(file)
	return string(content), err
}

// current is the transport for the certificates as they are now.
func (c *connection) current() (*http.Transport, error) {
	s := c.server
	var pem identity
	for _, part := range []struct {
		to          *string
		file, value string
	}{{&pem.authority, s.CAFile, s.CA}, {&pem.certificate, s.CertFile, s.Cert}, {&pem.key, s.KeyFile, s.Key}} {
		var err error
		if *part.to, err = fileOr(part.file, part.value); err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.transport != nil && c.pem == pem {
		return c.transport, nil
	}
	config, err := s.tls(pem)
	if err != nil {
		return nil, err
	}
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
	c.pem = pem
	c.transport = &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       5 * time.Minute,
		MaxIdleConnsPerHost:   100,
		DisableCompression:    true, // an answer's limit counts what is read
		ForceAttemptHTTP2:     true,
		HTTP2: &http.HTTP2Config{SendPingTimeout: time.Minute, MaxReceiveBufferPerStream: 256 << 10,
			MaxReceiveBufferPerConnection: 1 << 20},
		MaxResponseHeaderBytes: 64 << 10,
	}
	return c.transport, nil
}

// tls settings of a server.
func (s Server) tls(pem identity) (*tls.Config, error) {
	config := &tls.Config{ServerName: s.ServerName, InsecureSkipVerify: s.Insecure}
	if pem.authority != "" || s.CAFile != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(pem.authority)) {
			return nil, fmt.Errorf("TLS: the certificate authority %s holds no certificate; must be PEM", s.CAFile)
		}
	}
	if pem.certificate != "" || pem.key != "" {
		pair, err := tls.X509KeyPair([]byte(pem.certificate), []byte(pem.key))
		if err != nil {
			return nil, fmt.Errorf("TLS: client certificate %s with key %s: %w", s.CertFile, s.KeyFile, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
