// Package tlsfiles serves TLS with certificates from files that may change, or appear
// later, as those of a mounted Secret do. KEDA's server and the console use it.
package tlsfiles

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Files names the files of the server's certificate and, for mutual TLS, of the CA
// that issues clients' certificates. They are read again at every new connection,
// so that renewed ones are used without a restart; open connections stay open.
type Files struct {
	CertFile, KeyFile string
	ClientCAFile      string // "" = clients need no certificate
	// Await: files that do not exist may appear later, as those of a Secret that is created after the
	// pod. Until then nothing is served: there is no plain text meanwhile.
	Await bool
}

// Validate returns all errors. The zero value is valid: plain text.
func (f Files) Validate() error {
	if f == (Files{}) {
		return nil
	}
	var faults []error
	if f.CertFile == "" {
		faults = append(faults, errors.New("TLS: no certificate file is given"))
	}
	if f.KeyFile == "" {
		faults = append(faults, errors.New("TLS: no key file is given"))
	}
	return errors.Join(faults...)
}

// Certificates are the contents of the files, or their last valid contents.
type Certificates struct {
	files     Files
	protocols []string
	reloaded  func(error)

	mu     sync.Mutex
	raw    [3][]byte // certificate, key, authority
	config *tls.Config
	failed string // what was reported last
}

// Load reads the files. Protocols are those of ALPN; reloaded is called when other
// contents are in use, and with an error once when they cannot be.
func Load(files Files, reloaded func(error), protocols ...string) (*Certificates, error) {
	c := &Certificates{files: files, protocols: protocols, reloaded: reloaded}
	raw, err := c.read()
	if err != nil {
		return nil, err
	}
	config, err := c.parse(raw)
	if err != nil {
		return nil, err
	}
	c.raw, c.config = raw, config
	return c, nil
}

// LoadOrAwait is Load at the start of a process: files that do not exist are no error
// where they may appear later, and there are no certificates then.
func LoadOrAwait(files Files, reloaded func(error), protocols ...string) (*Certificates, error) {
	c, err := Load(files, reloaded, protocols...)
	if err != nil && files.Await && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return c, err
}

// AwaitEvery is how often files that do not exist yet are looked for.
const AwaitEvery = 5 * time.Second

// Await returns when the files can be used, or with the context's error. Refused is
// called once for each reason why files that exist cannot be.
func Await(ctx context.Context, every time.Duration, files Files, reloaded, refused func(error), protocols ...string) (*Certificates,
	error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	failed := ""
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		c, err := Load(files, reloaded, protocols...)
		if err == nil {
			return c, nil
		}
		if text := err.Error(); text != failed && !errors.Is(err, fs.ErrNotExist) {
			refused(err)
			failed = text
		}
	}
}

// ServerConfig checks the files at every connection.
func (c *Certificates) ServerConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, // all clients of ours are written in Go or are browsers, which support it
		NextProtos: c.protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.latest(), nil
		},
	}
}

// Leaf is the certificate that is in use, in DER.
func (c *Certificates) Leaf() []byte { return c.latest().Certificates[0].Certificate[0] }

// latest reads the files, a few kilobytes, and compares. Their modification times
// are not enough: a mounted Secret changes by swapping a link. While a
// certificate is replaced and its key is not yet, the old pair is used.
func (c *Certificates) latest() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw, err := c.read()
	if err == nil {
		if sameFiles(raw, c.raw) {
			c.failed = ""
			return c.config
		}
		var config *tls.Config
		if config, err = c.parse(raw); err == nil {
			c.raw, c.config, c.failed = raw, config, ""
			c.reloaded(nil)
			return c.config
		}
	}
	if c.failed != err.Error() {
		c.failed = err.Error()
		c.reloaded(err)
	}
	return c.config
}

func (c *Certificates) read() (raw [3][]byte, err error) {
	for i, name := range []string{c.files.CertFile, c.files.KeyFile, c.files.ClientCAFile} {
		if name == "" {
			continue
		}
		if raw[i], err = os.ReadFile(name); err != nil {
			return raw, fmt.Errorf("TLS: %w", err)
		}
	}
	return raw, nil
}

func (c *Certificates) parse(raw [3][]byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(raw[0], raw[1])
	if err != nil {
		return nil, fmt.Errorf("TLS: certificate %s with key %s: %w", c.files.CertFile, c.files.KeyFile, err)
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS13,
		NextProtos:   c.protocols,
		Certificates: []tls.Certificate{pair},
		// A resumed session would bypass a new CA.
		SessionTicketsDisabled: true,
	}
	if c.files.ClientCAFile != "" {
		config.ClientAuth = tls.RequireAndVerifyClientCert
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(raw[2]) {
			return nil, fmt.Errorf("TLS: no certificate in %s", c.files.ClientCAFile)
		}
	}
	return config, nil
}

func sameFiles(a, b [3][]byte) bool {
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}
