package kedascaler

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/loadline/loadline/internal/kedascaler/externalscaler"
)

// clock is a time that tests set.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(noon.UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

// served is a server that runs on a random port of the loopback, until the test
// ends.
type served struct {
	address string
	stop    func()
}

// serve fails the test if anything of the server is left after its end.
func serve(t *testing.T, source Source, o Options) served {
	t.Helper()
	before := runtime.NumGoroutine()
	server, err := New(source, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, l) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the server ended with: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		noneLeft(t, before)
	})
	return served{l.Addr().String(), stop}
}

// noneLeft waits until no goroutine outlives what started it. The test binary's timeout
// prints those that do.
func noneLeft(t *testing.T, before int) {
	t.Helper()
	for runtime.NumGoroutine() > before {
		time.Sleep(time.Millisecond)
	}
}

// dial returns a connection that ends with the test, before the server does.
func dial(t *testing.T, address string, creds credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func client(t *testing.T, s served) pb.ExternalScalerClient {
	t.Helper()
	return pb.NewExternalScalerClient(dial(t, s.address, nil))
}

// patient is a context that ends with the test, after the server was stopped.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return ctx
}

var (
	app = Name{"shop", "main"}
	ref = &pb.ScaledObjectRef{Namespace: "shop", Name: "so", ScalerMetadata: map[string]string{
		"scalerAddress": "loadline:9092", "loadline": "shop/main", "service": "cart",
	}}
)

// readyBoard has one decision.
func readyBoard(d Decision) *Board {
	b := NewBoard()
	b.Post(app, map[string]Decision{"cart": d})
	b.SetReady(true)
	return b
}

// wantCode fails the test unless the error has that code.
func wantCode(t *testing.T, err error, code codes.Code) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("got %v, want %s", err, code)
	}
}
