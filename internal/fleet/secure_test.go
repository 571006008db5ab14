package fleet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/loadline/loadline/internal/policy/drpc"
)

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// papers are the files of a test CA and its certificates.
type papers struct{ ca, cert, key string }

func newPapers(t *testing.T) papers {
	t.Helper()
	dir := t.TempDir()
	p := papers{filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	sign := func(template, parent *x509.Certificate, by *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if by == nil {
			by = key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
		if err != nil {
			t.Fatal(err)
		}
		return der, key
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fleet"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, caKey := sign(ca, ca, nil)
	der, key := sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "teacher"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth,
			x509.ExtKeyUsageClientAuth},
	}, ca, caKey)
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{
		p.ca: {Type: "CERTIFICATE", Bytes: caDER}, p.cert: {Type: "CERTIFICATE", Bytes: der}, p.key: {Type: "EC PRIVATE KEY",
			Bytes: keyDER},
	} {
		writeText(t, path, string(pem.EncodeToMemory(block)))
	}
	return p
}

// TestTheServerInThisProcessAsksForCertificates, except from this process itself.
func TestTheServerInThisProcessAsksForCertificates(t *testing.T) {
	t.Parallel()
	p := newPapers(t)
	c := DefaultServer(t.TempDir())
	c.Address, c.Cert, c.Key, c.CA = "127.0.0.1:0", p.cert, p.key, p.ca
	s, err := Serve(c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	wait(t, link(t, func(c *Config) { c.Server = s }))
	known := link(t, func(c *Config) { c.URL, c.CA, c.Cert, c.Key = s.URL(), p.ca, p.cert, p.key })
	wait(t, known)
	publish(t, known, experience("cart", 1, 1))
	stranger := link(t, func(c *Config) { c.URL, c.CA = s.URL(), p.ca })
	eventually(t, "an unknown client gets the reason", func() bool { return stranger.Err() != nil })
	if _, err := stranger.Publish(experience("cart", 1, 2)); err == nil {
		t.Error("a stranger may publish")
	}
}

// TestAnExternalServerWithCredentials, over TLS.
func TestAnExternalServerWithCredentials(t *testing.T) {
	t.Parallel()
	p := newPapers(t)
	operator, operatorID := newKeys(t, nkeys.CreateOperator)
	_, systemID := newKeys(t, nkeys.CreateAccount)
	account, accountID := newKeys(t, nkeys.CreateAccount)
	claims := jwt.NewAccountClaims(accountID)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	resolver := &server.MemAccResolver{}
	for id, c := range map[string]*jwt.AccountClaims{accountID: claims, systemID: jwt.NewAccountClaims(systemID)} {
		text, err := c.Encode(operator)
		if err != nil {
			t.Fatal(err)
		}
		if err := resolver.Store(id, text); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.LoadX509KeyPair(p.cert, p.key)
	if err != nil {
		t.Fatal(err)
	}
	n, err := server.NewServer(&server.Options{
		ServerName: "outside", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true,
		StoreDir:         t.TempDir(),
		TrustedOperators: []*jwt.OperatorClaims{jwt.NewOperatorClaims(operatorID)}, SystemAccount: systemID, AccountResolver: resolver,
		TLS: true, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair},
			MinVersion: tls.VersionTLS12}, TLSTimeout: 20, AuthTimeout: 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	go n.Start()
	defer n.Shutdown()
	if !n.ReadyForConnections(soon) {
		t.Fatal("the server does not start")
	}
	credentials := func(by nkeys.KeyPair, may ...string) string {
		user, userID := newKeys(t, nkeys.CreateUser)
		claims := jwt.NewUserClaims(userID)
		claims.Pub.Allow.Add(may...)
		claims.Sub.Allow.Add("_INBOX_LOADLINE.>")
		token, err := claims.Encode(by)
		if err != nil {
			t.Fatal(err)
		}
		seed, err := user.Seed()
		if err != nil {
			t.Fatal(err)
		}
		text, err := jwt.FormatUserConfig(token, seed)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "user.creds")
		writeText(t, path, string(text))
		return path
	}
	// Wider permissions than those in deploy/optional/nats, as an operator may give them.
	agents := []string{"loadline.x.>", "$JS.API.INFO", "$JS.API.STREAM.INFO.>", "$JS.API.STREAM.CREATE.>", "$JS.API.CONSUMER.>",
		"$JS.FC.>"}
	teachers := append(slices.Clone(agents), "$JS.API.DIRECT.GET.>", "$JS.API.STREAM.PURGE.loadline-experience", "$KV.loadline-weights.>")
	agent := link(t, func(c *Config) { c.URL, c.CA, c.Credentials = n.ClientURL(), p.ca, credentials(account, agents...) })
	wait(t, agent)
	if r := publish(t, agent, experience("details", 1, 1)); r.Sequence != 1 {
		t.Errorf("%+v", r)
	}
	mirror := agent.NewWeightCache([]string{"details"})
	background(t, mirror.Run)
	end := link(t, func(c *Config) { c.URL, c.CA, c.Credentials = n.ClientURL(), p.ca, credentials(account, teachers...) })
	wait(t, end)
	teacher, err := NewCollector(end, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, model := bookinfo(t, 1)
	if n, err := teacher.pass(); n != 1 || err != nil {
		t.Errorf("%d counted, %v", n, err)
	}
	if published, err := teacher.Publish(model); !published || err != nil {
		t.Errorf("published %v, %v", published, err)
	}
	eventually(t, "weights are seen", func() bool { return mirror.Latest("details").Weights.Version == 2 })
	// Forbidden requests get no response.
	bold := link(t, func(c *Config) {
		c.URL, c.CA, c.Credentials, c.Timeout = n.ClientURL(), p.ca, credentials(account, agents...), 2*time.Second
	})
	wait(t, bold)
	if err := bold.Put(drpc.WeightsOf(newStudent(t, "details", 9), 9)); err == nil {
		t.Error("an agent may publish weights")
	}

	other, _ := newKeys(t, nkeys.CreateAccount)
	for name, change := range map[string]func(*Config){
		"without credentials":                  func(c *Config) { c.CA = p.ca },
		"with credentials of another account":  func(c *Config) { c.CA, c.Credentials = p.ca, credentials(other) },
		"with a server's certificate unproven": func(c *Config) { c.Credentials = credentials(account) },
	} {
		l := link(t, func(c *Config) {
			c.URL = n.ClientURL()
			change(c)
		})
		eventually(t, name, func() bool { return l.Err() != nil })
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		err := l.Wait(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "Authorization") && !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func newKeys(t *testing.T, create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
	t.Helper()
	pair, err := create()
	if err != nil {
		t.Fatal(err)
	}
	id, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return pair, id
}

// TestTheFolderIsTheOwnersAlone: one server at a time, readable by its owner only.
func TestTheFolderIsTheOwnersAlone(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "nats")
	s := serve(t, folder, "")
	l := link(t, func(c *Config) { c.Server = s })
	wait(t, l)
	publish(t, l, experience("cart", 1, 1))
	if _, err := Serve(DefaultServer(folder)); err == nil || !strings.Contains(err.Error(), "in use by process") {
		t.Errorf("a second server in the folder: %v", err)
	}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && path == folder && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", path, info.Mode())
		} else if err == nil && !d.IsDir() && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Serve(DefaultServer(open)); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a folder that all users may write to: %v", err)
	}
}

func TestConfigSaysEverythingThatIsWrong(t *testing.T) {
	c := Default()
	c.Name, c.URL, c.Cert, c.Credentials, c.Replicas, c.InFlight = "a.b", "http://x,nats://", "cert.pem", "absent.creds", 9, 0
	err := c.Validate()
	for _, want := range []string{
		`name is "a.b"`, `"http://x" is no address`, `"nats://" is no address`, "both given or neither",
		"credentials: stat absent.creds", "replicas is 9", "in flight is 0",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if err := Default().Validate(); err == nil || !strings.Contains(err.Error(), "no server") {
		t.Errorf("no server: %v", err)
	}
	for _, c := range []struct {
		name string
		c    ServerConfig
		want string
	}{
		{"open to all clients", ServerConfig{Folder: "x", MaxStore: 1 << 30, Address: "0.0.0.0:4222"}, "would accept every client"},
		{"no address", ServerConfig{Folder: "x", MaxStore: 1 << 30, Address: "4222"}, "must be HOST:PORT"},
		{"no folder, too small, no key", ServerConfig{Cert: "c"}, "a certificate needs its key"},
	} {
		if _, err := Serve(c.c); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v does not say %q", c.name, err, c.want)
		}
	}
}
