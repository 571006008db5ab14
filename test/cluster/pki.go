package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// pki is the keys and certificates of one cluster, as files in a folder. Servers
// share one certificate: all of them are on the loopback interface.
type pki struct {
	dir    string
	ca     *authority // of servers and clients
	front  *authority // of the aggregator, which must not be able to act as a client
	caText []byte
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// names of servers on the loopback interface, as clients in the cluster call them.
var serverNames = []string{
	"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
	"metrics-server.kube-system.svc", "keda-operator.keda.svc", "keda-metrics-apiserver.keda.svc",
}

func newPKI(dir string) (*pki, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	p := &pki{dir: dir}
	var err error
	if p.ca, err = p.newAuthority("ca"); err != nil {
		return nil, err
	}
	if p.front, err = p.newAuthority("front-proxy-ca"); err != nil {
		return nil, err
	}
	if p.caText, err = os.ReadFile(p.cert("ca")); err != nil {
		return nil, err
	}
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for _, c := range []struct {
		file    string
		by      *authority
		subject pkix.Name
		usage   []x509.ExtKeyUsage
		names   []string
	}{
		{"server", p.ca, pkix.Name{CommonName: "localhost"}, both, serverNames},
		{"kubelet-client", p.ca, pkix.Name{CommonName: "kube-apiserver", Organization: []string{"system:masters"}}, client, nil},
		{"front-proxy-client", p.front, pkix.Name{CommonName: "front-proxy-client"}, client, nil},
	} {
		if err := p.issue(c.file, c.by, c.subject, c.usage, c.names); err != nil {
			return nil, err
		}
	}
	return p, p.newAccountKey()
}

func (p *pki) cert(name string) string { return filepath.Join(p.dir, name+".crt") }
func (p *pki) key(name string) string  { return filepath.Join(p.dir, name+".key") }

// lifetime is longer than any test, and begins a little earlier: not every clock
// is exact.
func lifetime(c *x509.Certificate) {
	c.NotBefore = time.Now().Add(-time.Hour)
	c.NotAfter = time.Now().Add(30 * 24 * time.Hour)
}

func (p *pki) newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		IsCA:     true, BasicConstraintsValid: true,
	}
	lifetime(template)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert, key}, p.write(name, der, key)
}

func (p *pki) issue(file string, by *authority, subject pkix.Name, usage []x509.ExtKeyUsage, names []string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: subject, ExtKeyUsage: usage, DNSNames: names,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
	if len(names) > 0 {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}
	}
	lifetime(template)
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, key.Public(), by.key)
	if err != nil {
		return fmt.Errorf("certificate %s: %w", file, err)
	}
	return p.write(file, der, key)
}

// newAccountKey is what service accounts' tokens are signed with.
func (p *pki) newAccountKey() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(p.dir, "service-account.pub"), "PUBLIC KEY", der); err != nil {
		return err
	}
	return p.writeKey("service-account", key)
}

func (p *pki) write(name string, cert []byte, key *ecdsa.PrivateKey) error {
	if err := writePEM(p.cert(name), "CERTIFICATE", cert); err != nil {
		return err
	}
	return p.writeKey(name, key)
}

func (p *pki) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(p.key(name), "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
