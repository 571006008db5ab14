package kedascaler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	pb "github.com/loadline/loadline/internal/kedascaler/externalscaler"
	"github.com/loadline/loadline/internal/tlsfiles"
)

// Limits for callers. A request contains a few names; KEDA's connection lives as
// long as KEDA, so a dead peer must be detected.
const (
	maxMessage         = 64 << 10
	maxHeaders         = 16 << 10
	handshakeWithin    = 10 * time.Second
	askAfterSilence    = 30 * time.Second
	answerWithin       = 10 * time.Second
	mayAskEvery        = 10 * time.Second
	unaryPerConnection = 1024
)

// Server serves KEDA.
type Server struct {
	source  Source
	options Options
	certs   *tlsfiles.Certificates // nil = plain text, or the files do not exist yet
	await   time.Duration          // between two looks for them
}

// New returns a server that answers from the source. The certificates are read
// here, so that errors are reported at the start.
func New(source Source, options Options) (*Server, error) {
	if source == nil {
		return nil, errors.New("KEDA scaler: no source of decisions")
	}
	if err := options.Validate(); err != nil {
		return nil, fmt.Errorf("KEDA scaler: %w", err)
	}
	s := &Server{source: source, options: options.withDefaults(), await: tlsfiles.AwaitEvery}
	if options.TLS != (TLS{}) {
		var err error
		if s.certs, err = tlsfiles.LoadOrAwait(options.TLS, s.reloaded, "h2"); err != nil {
			return nil, fmt.Errorf("KEDA scaler: %w", err)
		}
	}
	return s, nil
}

// Start listens on Options.Address and serves until the context ends. With
// NeedLeaderElection it implements controller-runtime's Runnable.
func (s *Server) Start(ctx context.Context) error {
	if s.awaitCertificates(ctx) != nil {
		return nil // the process ends
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", s.options.Address)
	if err != nil {
		return fmt.Errorf("KEDA scaler: %w", err)
	}
	return s.Serve(ctx, l)
}

// awaitCertificates returns when there are some, or with the context's error.
func (s *Server) awaitCertificates(ctx context.Context) (err error) {
	if s.certs != nil || s.options.TLS == (TLS{}) {
		return nil
	}
	s.options.Log.Warn("KEDA is not served: the certificate does not exist yet", "file", s.options.TLS.CertFile, "remedy",
		"create the Secret of docs/keda.md#tls if you use KEDA")
	s.certs, err = tlsfiles.Await(ctx, s.await, s.options.TLS, s.reloaded, func(err error) {
		s.options.Log.Warn("KEDA is not served: its certificate cannot be used", "error", err)
	}, "h2")
	return err
}

// NeedLeaderElection is false: standbys serve as well, or return that they are
// not ready.
func (s *Server) NeedLeaderElection() bool { return false }

// Serve serves on a listener, which it closes, until the context ends. Streams
// are then ended cleanly, and calls in progress finished.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stopping, stop := context.WithCancel(context.Background())
	calls := newCalls(stopping, s.options)
	g := grpc.NewServer(s.grpcOptions(calls)...)
	pb.RegisterExternalScalerServer(g, &scaler{source: s.source, options: s.options})
	h := health.NewServer()
	grpc_health_v1.RegisterHealthServer(g, h)

	reported := make(chan struct{})
	go func() {
		defer close(reported)
		s.tellHealth(stopping, h)
	}()
	defer func() {
		stop()
		<-reported
	}()

	s.options.Log.Info("serving KEDA", "address", l.Addr().String(), "tls", s.certs != nil, "client certificates",
		s.options.TLS.ClientCAFile != "")
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	select {
	case err := <-served:
		g.Stop()
		return fmt.Errorf("KEDA scaler on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}

	stop()
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		g.GracefulStop()
	}()
	limit := time.NewTimer(s.options.StopWithin)
	defer limit.Stop()
	select {
	case <-finished:
	case <-limit.C:
		s.options.Log.Warn("calls of KEDA cut short", "after", s.options.StopWithin)
		g.Stop() // does not wait for finished: that waits for the calls themselves
	}
	<-served
	s.options.Log.Info("stopped serving KEDA")
	return nil
}

func (s *Server) grpcOptions(c *calls) []grpc.ServerOption {
	options := []grpc.ServerOption{
		grpc.UnaryInterceptor(c.unary),
		grpc.StreamInterceptor(c.stream),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.ConnectionTimeout(handshakeWithin),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: askAfterSilence, Timeout: answerWithin}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: mayAskEvery, PermitWithoutStream: true}),
		// KEDA has one connection for all ScaledObjects. If streams could fill it, other
		// requests would be blocked behind them.
		grpc.MaxConcurrentStreams(uint32(s.options.MaxStreams) + unaryPerConnection),
	}
	if s.certs != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.certs.ServerConfig())))
	}
	return options
}

// tellHealth keeps the health service in sync with the source.
func (s *Server) tellHealth(stopping context.Context, h *health.Server) {
	defer h.Shutdown()
	for {
		changed := s.source.Changed()
		state := grpc_health_v1.HealthCheckResponse_SERVING
		if s.source.Ready() != nil {
			state = grpc_health_v1.HealthCheckResponse_NOT_SERVING
		}
		h.SetServingStatus("", state)
		h.SetServingStatus(pb.ExternalScaler_ServiceDesc.ServiceName, state)
		select {
		case <-changed:
		case <-stopping.Done():
			return
		}
	}
}

func (s *Server) reloaded(err error) {
	if err != nil {
		s.options.Log.Warn("certificates not reloaded, the old ones stay in use", "error", err)
	} else {
		s.options.Log.Info("certificates reloaded", "file", s.options.TLS.CertFile)
	}
	if s.options.Hooks.Reloaded != nil {
		s.options.Hooks.Reloaded(err)
	}
}
