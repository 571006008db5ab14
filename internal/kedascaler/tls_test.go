package kedascaler

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"

	pb "github.com/loadline/loadline/internal/kedascaler/externalscaler"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	key, cert, der := sign(t, name, nil, nil)
	return authority{cert, key, toPEM("CERTIFICATE", der)}
}

// issue a certificate for the loopback, good for servers and for clients.
func (a authority) issue(t *testing.T, name string) (certPEM, keyPEM []byte) {
	t.Helper()
	key, _, der := sign(t, name, a.cert, a.key)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return toPEM("CERTIFICATE", der), toPEM("PRIVATE KEY", raw)
}

func (a authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// sign a certificate, by itself if there is no parent.
func sign(t *testing.T, name string, parent *x509.Certificate, by *ecdsa.PrivateKey) (*ecdsa.PrivateKey, *x509.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if parent == nil {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
		parent, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert, der
}

func toPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// tlsFiles are a server's in a folder, written over by put.
type tlsFiles struct{ TLS }

func newTLSFiles(t *testing.T) tlsFiles {
	dir := t.TempDir()
	return tlsFiles{TLS{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
		ClientCAFile: filepath.Join(dir, "ca.crt")}}
}

func put(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// asKEDA dials as KEDA does with caCert, and with tlsClientCert and tlsClientKey
// if there are any.
func asKEDA(t *testing.T, server authority, certPEM, keyPEM []byte) credentials.TransportCredentials {
	t.Helper()
	config := &tls.Config{RootCAs: server.pool(), MinVersion: tls.VersionTLS12}
	if certPEM != nil {
		pair, err := tls.X509KeyPair(certPEM, keyPEM)
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config)
}

// reach asks one question over a connection of its own.
func reach(t *testing.T, s served, creds credentials.TransportCredentials) error {
	t.Helper()
	conn := dial(t, s.address, creds)
	defer conn.Close()
	_, err := pb.NewExternalScalerClient(conn).IsActive(t.Context(), ref)
	return err
}

func TestTLS(t *testing.T) {
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	f := newTLSFiles(t)
	cert, key := ours.issue(t, "scaler")
	put(t, f.CertFile, cert)
	put(t, f.KeyFile, key)
	f.ClientCAFile = ""
	s := serve(t, readyBoard(Decision{Replicas: 3, Made: noon}), Options{Now: newClock().now, TLS: f.TLS})

	if err := reach(t, s, asKEDA(t, ours, nil, nil)); err != nil {
		t.Errorf("with the right authority: %v", err)
	}
	err := reach(t, s, asKEDA(t, theirs, nil, nil))
	wantCode(t, err, codes.Unavailable)
	if err != nil && !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("with the wrong authority: %v", err)
	}
	wantCode(t, reach(t, s, nil), codes.Unavailable) // plain text
}

func TestMutualTLS(t *testing.T) {
	ours, clients, strangers := newAuthority(t, "ours"), newAuthority(t, "clients"), newAuthority(t, "strangers")
	f := newTLSFiles(t)
	cert, key := ours.issue(t, "scaler")
	put(t, f.CertFile, cert)
	put(t, f.KeyFile, key)
	put(t, f.ClientCAFile, clients.pem)
	s := serve(t, readyBoard(Decision{Replicas: 3, Made: noon}), Options{Now: newClock().now, TLS: f.TLS})

	kedaCert, kedaKey := clients.issue(t, "keda-operator")
	if err := reach(t, s, asKEDA(t, ours, kedaCert, kedaKey)); err != nil {
		t.Errorf("with a client certificate: %v", err)
	}
	wantCode(t, reach(t, s, asKEDA(t, ours, nil, nil)), codes.Unavailable)
	strangeCert, strangeKey := strangers.issue(t, "keda-operator")
	wantCode(t, reach(t, s, asKEDA(t, ours, strangeCert, strangeKey)), codes.Unavailable)
}

func TestCertificatesAreReadAgainWhenTheyChange(t *testing.T) {
	before, after, clients := newAuthority(t, "before"), newAuthority(t, "after"), newAuthority(t, "clients")
	f := newTLSFiles(t)
	cert, key := before.issue(t, "scaler")
	put(t, f.CertFile, cert)
	put(t, f.KeyFile, key)
	put(t, f.ClientCAFile, clients.pem)

	var mu sync.Mutex
	var reloads []error
	hooks := Hooks{Reloaded: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		reloads = append(reloads, err)
	}}
	s := serve(t, readyBoard(Decision{Replicas: 3, Made: noon}), Options{Now: newClock().now, TLS: f.TLS, Hooks: hooks})
	kedaCert, kedaKey := clients.issue(t, "keda-operator")
	oldConn := dial(t, s.address, asKEDA(t, before, kedaCert, kedaKey))
	old := pb.NewExternalScalerClient(oldConn)
	if _, err := old.IsActive(patient(t), ref); err != nil {
		t.Fatal(err)
	}

	// Half of the change: the old pair serves on, and it is reported once.
	cert, key = after.issue(t, "scaler")
	put(t, f.CertFile, cert)
	for range 3 {
		if err := reach(t, s, asKEDA(t, before, kedaCert, kedaKey)); err != nil {
			t.Errorf("with a certificate that has no key yet: %v", err)
		}
	}
	put(t, f.KeyFile, key)
	if err := reach(t, s, asKEDA(t, after, kedaCert, kedaKey)); err != nil {
		t.Errorf("with the new certificate: %v", err)
	}
	wantCode(t, reach(t, s, asKEDA(t, before, kedaCert, kedaKey)), codes.Unavailable)
	if _, err := old.IsActive(patient(t), ref); err != nil {
		t.Errorf("the connection from before: %v", err)
	}

	// Another authority of clients: those of the old one are refused.
	others := newAuthority(t, "others")
	put(t, f.ClientCAFile, others.pem)
	wantCode(t, reach(t, s, asKEDA(t, after, kedaCert, kedaKey)), codes.Unavailable)
	otherCert, otherKey := others.issue(t, "keda-operator")
	if err := reach(t, s, asKEDA(t, after, otherCert, otherKey)); err != nil {
		t.Errorf("a client of the new authority: %v", err)
	}

	// The files vanish, as while a Secret is replaced.
	if err := os.Remove(f.KeyFile); err != nil {
		t.Fatal(err)
	}
	if err := reach(t, s, asKEDA(t, after, otherCert, otherKey)); err != nil {
		t.Errorf("while the key is gone: %v", err)
	}

	mu.Lock()
	defer mu.Unlock()
	if len(reloads) != 4 || reloads[0] == nil || reloads[1] != nil || reloads[2] != nil || reloads[3] == nil {
		t.Errorf("reported changes: %v", reloads)
	}
}

func TestWrongCertificatesAreReportedAtTheStart(t *testing.T) {
	a := newAuthority(t, "ours")
	cert, key := a.issue(t, "scaler")
	_, otherKey := a.issue(t, "other")
	for _, c := range []struct {
		name          string
		cert, key, ca []byte
		change        func(*TLS)
		says          string
	}{
		{"no key is named", cert, key, a.pem, func(f *TLS) { f.KeyFile = "" }, "no key file is given"},
		{"no certificate is named", cert, key, a.pem, func(f *TLS) { f.CertFile = "" }, "no certificate file is given"},
		{"the file is not there", cert, key, a.pem, func(f *TLS) { f.KeyFile += "x" }, "tls.keyx"},
		{"the key is another's", cert, otherKey, a.pem, nil, "tls.key"},
		{"the certificate is none", []byte("x"), key, a.pem, nil, "tls.crt"},
		{"the authority is none", cert, key, []byte("x"), nil, "ca.crt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newTLSFiles(t)
			put(t, f.CertFile, c.cert)
			put(t, f.KeyFile, c.key)
			put(t, f.ClientCAFile, c.ca)
			if c.change != nil {
				c.change(&f.TLS)
			}
			if _, err := New(NewBoard(), Options{TLS: f.TLS}); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want it to say %q", err, c.says)
			}
		})
	}
}
