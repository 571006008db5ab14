package kedascaler

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
)

// TLS names the files of the server's certificate and, for mutual TLS, of the CA
// that issues clients' certificates. They are read again at every new connection,
// so that renewed ones are used without a restart; open connections stay open.
type TLS struct {
	CertFile, KeyFile string
	ClientCAFile      string // "" = clients need no certificate
	// Await: files that do not exist may appear later, as those of a Secret that is created after the
	// pod. Until then nothing is served: there is no plain text meanwhile.
	Await bool
}

func (t TLS) validate() error {
	if t == (TLS{}) {
		return nil
	}
	var faults []error
	if t.CertFile == "" {
		faults = append(faults, errors.New("TLS: no certificate file is given"))
	}
	if t.KeyFile == "" {
		faults = append(faults, errors.New("TLS: no key file is given"))
	}
	return errors.Join(faults...)
}

// certificates are the contents of the files, or their last valid contents.
type certificates struct {
	files    TLS
	reloaded func(error)

	mu     sync.Mutex
	raw    [3][]byte // certificate, key, authority
	config *tls.Config
	failed string // what was logged last
}

func loadCertificates(files TLS, reloaded func(error)) (*certificates, error) {
	c := &certificates{files: files, reloaded: reloaded}
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

// serverConfig checks the files at every connection.
func (c *certificates) serverConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, // KEDA is written in Go, which supports it
		NextProtos: []string{"h2"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.latest(), nil
		},
	}
}

// latest reads the files, a few kilobytes, and compares. Their modification times
// are not enough: a mounted Secret changes by swapping a link. While a
// certificate is replaced and its key is not yet, the old pair is used.
func (c *certificates) latest() *tls.Config {
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

func (c *certificates) read() (raw [3][]byte, err error) {
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

func (c *certificates) parse(raw [3][]byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(raw[0], raw[1])
	if err != nil {
		return nil, fmt.Errorf("TLS: certificate %s with key %s: %w", c.files.CertFile, c.files.KeyFile, err)
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{"h2"},
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
