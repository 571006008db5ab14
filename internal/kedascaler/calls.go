package kedascaler

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path"
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// calls intercepts every call: streams are bounded and end with the server, a
// panic is confined to its call (the process also controls applications), and
// every outcome is counted and logged.
type calls struct {
	stopping context.Context
	options  Options

	mu    sync.Mutex
	open  int            // streams
	peers map[string]int // of them, by address
}

func newCalls(stopping context.Context, o Options) *calls {
	return &calls{stopping: stopping, options: o, peers: map[string]int{}}
}

func (c *calls) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (resp any, err error) {
	began := time.Now()
	defer func() { c.answered(info.FullMethod, began, err) }()
	defer c.recovered(info.FullMethod, &err)
	return handle(ctx, req)
}

func (c *calls) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	began := time.Now()
	defer func() { c.answered(info.FullMethod, began, err) }()
	from := peerOf(stream.Context())
	if err := c.enter(from); err != nil {
		return err
	}
	defer c.leave(from)
	defer c.recovered(info.FullMethod, &err)

	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(c.stopping, cancel)()
	err = handle(srv, endingStream{stream, ctx})
	if c.stopping.Err() != nil {
		return nil // a clean end: the client reconnects soon
	}
	return err
}

// endingStream has its own context.
type endingStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s endingStream) Context() context.Context { return s.ctx }

// peerOf is the host that a call comes from.
func peerOf(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return ""
	}
	if host, _, err := net.SplitHostPort(p.Addr.String()); err == nil {
		return host
	}
	return p.Addr.String()
}

// enter counts a stream. One peer cannot take the places of all others.
func (c *calls) enter(from string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.open >= c.options.MaxStreams:
		return status.Errorf(codes.ResourceExhausted, "%d streams are open, which is the maximum", c.options.MaxStreams)
	case c.peers[from] >= c.options.MaxPerPeer:
		return status.Errorf(codes.ResourceExhausted, "%d streams from this address are open, which is the maximum", c.options.MaxPerPeer)
	}
	c.open++
	c.peers[from]++
	c.tellOpen()
	return nil
}

func (c *calls) leave(from string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.peers[from]--; c.peers[from] == 0 {
		delete(c.peers, from)
	}
	c.tellOpen()
}

// tellOpen is called under the lock, so that the last reported number is the
// current one.
func (c *calls) tellOpen() {
	if c.options.Hooks.Streams != nil {
		c.options.Hooks.Streams(c.open)
	}
}

func (c *calls) recovered(method string, err *error) {
	if r := recover(); r != nil {
		c.options.Log.Error("panic while answering KEDA", "method", path.Base(method), "panic", fmt.Sprint(r), "stack",
			string(debug.Stack()))
		*err = status.Error(codes.Internal, "internal error of the scaler; see its log")
	}
}

func (c *calls) answered(method string, began time.Time, err error) {
	a := Answer{Method: path.Base(method), Code: status.Code(err), Took: time.Since(began)}
	if c.options.Hooks.Answered != nil {
		c.options.Hooks.Answered(a)
	}
	// KEDA logs errors and records them as events: this log is for details.
	level := slog.LevelDebug
	if a.Code == codes.Internal {
		level = slog.LevelError
	}
	if c.options.Log.Enabled(context.Background(), level) {
		c.options.Log.Log(context.Background(), level, "answered KEDA", "method", a.Method, "code", a.Code.String(), "took", a.Took,
			"error", err)
	}
}
