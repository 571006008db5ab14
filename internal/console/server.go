package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/console/page"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/tlsfiles"
)

// Limits for callers. Through the API server's proxy all of them come from its addresses.
const (
	mostConnections = 512
	mostPerPeer     = 256
	mostStreams     = 256
	mostPerUser     = 32 // streams
	mostAnswer      = 8 << 20
	mostHeaders     = 32 << 10
	headersWithin   = 10 * time.Second
	answerWithin    = 30 * time.Second
	idleFor         = 2 * time.Minute
	stopWithin      = 5 * time.Second
	readsAtOnce     = 2 // of decision logs
)

// Options of a Server.
type Options struct {
	Address string
	TLS     tlsfiles.Files // zero = plain text, for loopback addresses only
	// Hosts are names under which we are addressed, besides IP addresses and localhost.
	Hosts []string
	// Peers are HOST:PORT of the other processes; a host may have several addresses.
	Peers []string

	Client    client.Client   // reads LoadLines from a cache, and asks for reviews
	Cache     ctrlcache.Cache // says when LoadLines change
	Elected   <-chan struct{} // closed when this process decides
	Agent     string          // whose LoadLines this process decides for
	Decisions string          // folder of decision logs; "" = none are kept
	Models    string          // folder below which registries are read; "" = there is none

	Log *slog.Logger
	Now func() time.Time
}

// Server is the console.
type Server struct {
	options Options
	access  *access
	history *history
	hub     *hub
	leader  *leader
	certs   *tlsfiles.Certificates // nil = plain text, or the files do not exist yet
	await   time.Duration          // between two looks for them
	reading chan struct{}
}

// New returns a server. The certificate is read here, so that errors are reported at the start.
func New(o Options) (*Server, error) {
	if err := errors.Join(o.TLS.Validate(), checkPlain(o)); err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	s := &Server{options: o, access: newAccess(o.Client, o.Now), hub: newHub(), await: tlsfiles.AwaitEvery,
		reading: make(chan struct{}, readsAtOnce)}
	s.history = newHistory(o.Decisions, o.Log, o.Now, s.hub.touch)
	if o.TLS != (tlsfiles.Files{}) {
		var err error
		if s.certs, err = tlsfiles.LoadOrAwait(o.TLS, s.reloaded, "http/1.1"); err != nil {
			return nil, fmt.Errorf("console: %w", err)
		}
	}
	s.leader = newLeader(o, func() []byte { return s.certs.Leaf() })
	return s, nil
}

// checkPlain refuses to carry tokens in plain text over a network.
func checkPlain(o Options) error {
	if o.TLS != (tlsfiles.Files{}) {
		return nil
	}
	host, _, err := net.SplitHostPort(o.Address)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("the address %q needs a certificate: requests carry tokens", o.Address)
	}
	return nil
}

// Record a decision of this process, as it is made. It is quick, and keeps the record.
func (s *Server) Record(namespace, name string, app *loadline.App, r *decisionlog.Record) {
	s.history.add(key{namespace, name}, app, r)
}

// NeedLeaderElection is false: standbys serve as well.
func (s *Server) NeedLeaderElection() bool { return false }

// Start listens on Options.Address and serves until the context ends.
func (s *Server) Start(ctx context.Context) error {
	if s.options.TLS != (tlsfiles.Files{}) && s.certs == nil {
		s.options.Log.Warn("the console is not served: its certificate does not exist yet", "file", s.options.TLS.CertFile, "remedy",
			"create the Secret of docs/see.md#certificate")
		var err error
		if s.certs, err = tlsfiles.Await(ctx, s.await, s.options.TLS, s.reloaded, func(err error) {
			s.options.Log.Warn("the console is not served: its certificate cannot be used", "error", err)
		}, "http/1.1"); err != nil {
			return nil // the process ends
		}
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", s.options.Address)
	if err != nil {
		return fmt.Errorf("console: %w", err)
	}
	return s.Serve(ctx, l)
}

// Serve on a listener, which it closes, until the context ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := s.follow(ctx); err != nil {
		l.Close()
		return fmt.Errorf("console: %w", err)
	}
	life, stop := context.WithCancel(ctx)
	defer stop()
	go s.history.load(life)
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: headersWithin, IdleTimeout: idleFor,
		MaxHeaderBytes: mostHeaders, BaseContext: func(net.Listener) context.Context { return life },
		ErrorLog: slog.NewLogLogger(s.options.Log.Handler(), slog.LevelDebug),
	}
	address := l.Addr().String()
	l = &limitedListener{Listener: l, peers: map[string]int{}}
	s.options.Log.Info("serving the console", "address", address, "tls", s.certs != nil)
	served := make(chan error, 1)
	go func() {
		if s.certs == nil {
			served <- server.Serve(l)
			return
		}
		server.TLSConfig = s.certs.ServerConfig()
		served <- server.ServeTLS(l, "", "")
	}()
	select {
	case err := <-served:
		return fmt.Errorf("console on %s: %w", address, err)
	case <-ctx.Done():
	}
	stop() // streams end
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	if server.Shutdown(limit) != nil {
		server.Close()
	}
	<-served
	return nil
}

// follow the LoadLines, for live updates.
func (s *Server) follow(ctx context.Context) error {
	informer, err := s.options.Cache.GetInformer(ctx, &v1alpha1.LoadLine{})
	if err != nil {
		return err
	}
	touch := func(o any, gone bool) {
		if last, is := o.(toolscache.DeletedFinalStateUnknown); is {
			o = last.Obj
		}
		if l, is := o.(*v1alpha1.LoadLine); is {
			if gone {
				s.history.forget(keyOf(l))
			}
			s.hub.touch(keyOf(l))
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { touch(o, false) },
		UpdateFunc: func(_, o any) { touch(o, false) },
		DeleteFunc: func(o any) { touch(o, true) },
	})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(registration) })
	return nil
}

func keyOf(l *v1alpha1.LoadLine) key { return key{l.Namespace, l.Name} }

// elected reports whether this process decides.
func (s *Server) elected() bool {
	select {
	case <-s.options.Elected:
		return true
	default:
		return false
	}
}

func (s *Server) reloaded(err error) {
	if err != nil {
		s.options.Log.Warn("certificate of the console not reloaded, the old one stays in use", "error", err)
		return
	}
	s.options.Log.Info("certificate of the console reloaded", "file", s.options.TLS.CertFile)
}

// handler checks every request before it is answered, and confines a panic to it: the process
// also controls applications.
func (s *Server) handler() http.Handler {
	routes := s.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				s.options.Log.Error("panic in the console", "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				fail(w, http.StatusInternalServerError, "internal error of the console; see the log of the controller")
			}
		}()
		secure(w.Header())
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerWithin))
		switch {
		case !s.hostKnown(r):
			fail(w, http.StatusMisdirectedRequest, "the host of the request is not one of this server: see --console-hosts")
		case r.Header.Get("Sec-Fetch-Site") == "cross-site" && !(page.Has(r.URL.Path) && r.Header.Get("Sec-Fetch-Mode") == "navigate"):
			fail(w, http.StatusForbidden, "requests from pages of other sites are not answered")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			fail(w, http.StatusMethodNotAllowed, "the console only reads")
		case r.ContentLength != 0 || len(r.TransferEncoding) > 0:
			fail(w, http.StatusRequestEntityTooLarge, "a request has no body")
		default:
			routes.ServeHTTP(w, r)
		}
	})
}

// secure are headers of every answer.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", page.ContentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// hostKnown: a name of another site that leads to our address (DNS rebinding) is refused. The API
// server's proxy keeps its own name; there the token is in a header of ours, which no page of
// another site can set.
func (s *Server) hostKnown(r *http.Request) bool {
	if _, proxied := tokenOf(r); proxied {
		return true
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(host, "."), "["), "]")
	return net.ParseIP(host) != nil || strings.EqualFold(host, "localhost") ||
		slices.ContainsFunc(s.options.Hosts, func(known string) bool { return strings.EqualFold(host, known) })
}

// limitedListener refuses connections beyond the limits.
type limitedListener struct {
	net.Listener
	mu    sync.Mutex
	open  int
	peers map[string]int
}

// Accept the next connection within the limits.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		l.mu.Lock()
		if l.open >= mostConnections || l.peers[host] >= mostPerPeer {
			l.mu.Unlock()
			c.Close()
			continue
		}
		l.open++
		l.peers[host]++
		l.mu.Unlock()
		return &limitedConn{Conn: c, closed: sync.OnceFunc(func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.open--
			if l.peers[host]--; l.peers[host] == 0 {
				delete(l.peers, host)
			}
		})}, nil
	}
}

type limitedConn struct {
	net.Conn
	closed func()
}

// Close the connection.
func (c *limitedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}
