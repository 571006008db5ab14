package kedascaler

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"

	pb "github.com/loadline/loadline/internal/kedascaler/externalscaler"
)

func TestOptionsAreChecked(t *testing.T) {
	if _, err := New(nil, Options{}); err == nil {
		t.Error("no source was taken")
	}
	_, err := New(NewBoard(), Options{MaxAge: -time.Second, Heartbeat: -1, StopWithin: -1, HPATolerance: 1, MaxStreams: -1})
	if err == nil {
		t.Fatal("nonsense was taken")
	}
	for _, s := range []string{"max age -1s", "heartbeat", "stop within", "tolerance 1", "streams -1"} {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}

func TestHealthFollowsTheSource(t *testing.T) {
	b := NewBoard()
	s := serve(t, b, Options{})
	h := grpc_health_v1.NewHealthClient(dial(t, s.address, nil))
	watch, err := h.Watch(patient(t), &grpc_health_v1.HealthCheckRequest{Service: "externalscaler.ExternalScaler"})
	if err != nil {
		t.Fatal(err)
	}
	state := func(want grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		for {
			r, err := watch.Recv()
			if err != nil {
				t.Fatalf("waiting for %s: %v", want, err)
			}
			if r.Status == want {
				return
			}
			if r.Status != grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN { // before the first word
				t.Fatalf("it is %s, want %s", r.Status, want)
			}
		}
	}
	state(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	b.SetReady(true)
	state(grpc_health_v1.HealthCheckResponse_SERVING)
	b.SetReady(false)
	state(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	r, err := h.Check(patient(t), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || r.Status != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("got %v, %v", r, err)
	}
}

// slowSource takes its time, which it must not.
type slowSource struct {
	*Board
	asked, answer chan struct{}
}

func (s slowSource) Decision(t Target) (Decision, error) {
	s.asked <- struct{}{}
	<-s.answer
	return s.Board.Decision(t)
}

func TestCallsInProgressAreFinishedAtTheStop(t *testing.T) {
	src := slowSource{readyBoard(Decision{Replicas: 3, Made: noon}), make(chan struct{}), make(chan struct{})}
	s := serve(t, src, Options{Now: newClock().now, StopWithin: never})
	c := client(t, s)
	var call sync.WaitGroup
	call.Go(func() {
		if a, err := c.IsActive(patient(t), ref); err != nil || !a.Result {
			t.Errorf("the call in progress: %v, %v", a, err)
		}
	})
	<-src.asked
	var stopped sync.WaitGroup
	stopped.Go(s.stop)
	waitFor(t, "new connections to be refused", func() bool {
		conn, err := net.Dial("tcp", s.address)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	close(src.answer)
	call.Wait()
	stopped.Wait()
}

func TestCallsThatNeverEndAreCutAtTheStop(t *testing.T) {
	src := slowSource{readyBoard(Decision{Replicas: 3, Made: noon}), make(chan struct{}), make(chan struct{})}
	s := serve(t, src, Options{Now: newClock().now, StopWithin: time.Millisecond})
	c := client(t, s)
	var call sync.WaitGroup
	call.Go(func() {
		_, err := c.IsActive(patient(t), ref)
		wantCode(t, err, codes.Unavailable)
	})
	<-src.asked
	s.stop()
	call.Wait()
	close(src.answer)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestLargeQuestionsAreRefused(t *testing.T) {
	ctx, c := patient(t), client(t, serve(t, readyBoard(Decision{Replicas: 3, Made: noon}), Options{Now: newClock().now}))
	large := &pb.ScaledObjectRef{Namespace: "shop", Name: "so", ScalerMetadata: map[string]string{"note": strings.Repeat("x", maxMessage)}}
	_, err := c.IsActive(ctx, large)
	wantCode(t, err, codes.ResourceExhausted)
	if _, err := c.IsActive(ctx, ref); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	log := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("address=127.0.0.1:")) {
			cancel()
		}
		return len(p), nil
	}), nil))
	server, err := New(NewBoard(), Options{Address: "127.0.0.1:0", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(ctx); err != nil || ctx.Err() == nil {
		t.Errorf("it served until the context ended, and then: %v", err)
	}
	if server.NeedLeaderElection() {
		t.Error("standbys must serve as well")
	}

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	server, err = New(NewBoard(), Options{Address: taken.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err == nil || !strings.Contains(err.Error(), taken.Addr().String()) {
		t.Errorf("an address that is taken: %v", err)
	}
}

func TestServeTellsWhenItsListenerFails(t *testing.T) {
	server, err := New(NewBoard(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := server.Serve(t.Context(), l); err == nil {
		t.Error("it served on a closed listener")
	}
}

func TestEveryAnswerIsLoggedForThoseWhoLookCloser(t *testing.T) {
	var mu sync.Mutex
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return text.Write(p)
	}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := serve(t, NewBoard(), Options{Log: log})
	_, err := client(t, s).IsActive(patient(t), ref)
	wantCode(t, err, codes.Unavailable)
	s.stop()
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{`msg="serving KEDA"`, "method=IsActive code=Unavailable", "not ready to answer",
		`msg="stopped serving KEDA"`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, text.String())
		}
	}
}
