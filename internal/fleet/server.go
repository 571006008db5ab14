package fleet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ServerConfig configures an embedded server.
type ServerConfig struct {
	Folder string // where streams are kept
	// Address to listen on for remote agents, host:port; port 0 = any. Empty: it serves this
	// process only.
	Address       string
	Cert, Key, CA string // files; with a CA, clients must present a certificate of it
	MaxStore      int64  // bytes on disk
	// Hurried leaves writing to disk to the kernel: an acknowledged experience survives this
	// process, but not a crash of the machine.
	LazySync bool
	Log      *slog.Logger // nil = none
}

// DefaultServer stores a quarter of a gigabyte at most.
func DefaultServer(folder string) ServerConfig {
	return ServerConfig{Folder: folder, MaxStore: 256 << 20}
}

// Server is a NATS server with JetStream in this process.
type Server struct {
	nats *server.Server
	lock io.Closer
}

// readyWithin is how long a server may take to read its stored data.
const readyWithin = 30 * time.Second

// Serve starts a server with the data in its folder.
func Serve(c ServerConfig) (*Server, error) {
	options, err := c.options()
	if err != nil {
		return nil, err
	}
	held, err := openFolder(c.Folder)
	if err != nil {
		return nil, err
	}
	n, err := server.NewServer(options)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fleet: server: %w", err), held.Close())
	}
	if c.Log != nil {
		n.SetLoggerV2(&logger{c.Log}, false, false, false)
	}
	s := &Server{n, held}
	go n.Start()
	if !n.ReadyForConnections(readyWithin) || !n.JetStreamEnabled() {
		s.Stop()
		return nil, fmt.Errorf("fleet: the server at %q with folder %s does not start within %v: is the address taken,"+
			" or the disk full?", c.Address, c.Folder, readyWithin)
	}
	return s, nil
}

func (c ServerConfig) options() (*server.Options, error) {
	o := &server.Options{
		ServerName: "loadline", JetStream: true, StoreDir: c.Folder, JetStreamMaxStore: c.MaxStore, JetStreamMaxMemory: 16 << 20,
		SyncAlways: !c.LazySync, NoSigs: true, MaxPayload: 1 << 20, DontListen: c.Address == "", AuthTimeout: 5, TLSTimeout: 5,
	}
	var faults []error
	if c.Folder == "" {
		faults = append(faults, errors.New("fleet: the server has no folder to keep streams in"))
	}
	if c.MaxStore < 1<<20 {
		faults = append(faults, fmt.Errorf("fleet: the server may keep %d bytes, must be at least 1048576", c.MaxStore))
	}
	if (c.Cert == "") != (c.Key == "") || c.CA != "" && c.Cert == "" {
		faults = append(faults, fmt.Errorf("fleet: the server's certificate, key and CA are %q, %q and %q: a certificate needs its "+
			"key, and a CA both", c.Cert, c.Key, c.CA))
	}
	if c.Address != "" {
		host, port, err := net.SplitHostPort(c.Address)
		if err == nil {
			o.Port, err = strconv.Atoi(port)
		}
		switch {
		case err != nil || o.Port < 0 || o.Port > 65535:
			faults = append(faults, fmt.Errorf("fleet: the server's address is %q, must be HOST:PORT", c.Address))
		case !loopback(host) && c.CA == "":
			faults = append(faults, fmt.Errorf("fleet: a server at %q would accept every client that reaches it: give certificate, key "+
				"and a CA that clients must have theirs from, or listen at 127.0.0.1", c.Address))
		}
		o.Host = host
		if o.Port == 0 {
			o.Port = server.RANDOM_PORT
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if c.Cert != "" {
		var err error
		if o.TLSConfig, err = c.tls(); err != nil {
			return nil, err
		}
		o.TLS, o.TLSVerify = true, c.CA != ""
	}
	return o, nil
}

// loopback reports whether an address is reachable from this machine only.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c ServerConfig) tls() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, fmt.Errorf("fleet: certificate %s with key %s: %w", c.Cert, c.Key, err)
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if c.CA == "" {
		return t, nil
	}
	text, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, fmt.Errorf("fleet: CA: %w", err)
	}
	t.ClientCAs, t.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !t.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("fleet: CA %s holds no certificate in PEM", c.CA)
	}
	return t, nil
}

// URL is the address for clients.
func (s *Server) URL() string { return s.nats.ClientURL() }

// Stop stops the server; its data stays in the folder.
func (s *Server) Stop() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	_ = s.lock.Close() // nothing was written to it
}

// logger forwards the warnings and errors of a server.
type logger struct{ to *slog.Logger }

func (l *logger) say(level slog.Level, format string, v []any) {
	l.to.Log(context.Background(), level, "nats server", "says", fmt.Sprintf(format, v...))
}

func (l *logger) Noticef(format string, v ...any) { l.say(slog.LevelDebug, format, v) }
func (l *logger) Warnf(format string, v ...any)   { l.say(slog.LevelWarn, format, v) }
func (l *logger) Fatalf(format string, v ...any)  { l.say(slog.LevelError, format, v) }
func (l *logger) Errorf(format string, v ...any)  { l.say(slog.LevelError, format, v) }
func (l *logger) Debugf(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
func (l *logger) Tracef(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
