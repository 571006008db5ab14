package kedascaler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	pb "github.com/loadline/loadline/internal/kedascaler/externalscaler"
)

// never is a heartbeat that no test waits for: what comes, comes of a change.
const never = time.Hour

func next(t *testing.T, stream interface {
	Recv() (*pb.IsActiveResponse, error)
}) bool {
	t.Helper()
	a, err := stream.Recv()
	if err != nil {
		t.Fatalf("the stream ended: %v", err)
	}
	return a.Result
}

func TestStreamTellsAtOnceAndOnEveryChange(t *testing.T) {
	b := readyBoard(Decision{Replicas: 3, Made: noon})
	c := client(t, serve(t, b, Options{Now: newClock().now, Heartbeat: never}))
	stream, err := c.StreamIsActive(patient(t), ref)
	if err != nil {
		t.Fatal(err)
	}
	if !next(t, stream) {
		t.Error("three replicas are wanted, and it says none")
	}
	for _, replicas := range []int{7, 0, 1, 0, 20} {
		b.Post(app, map[string]Decision{"cart": {Replicas: replicas, Made: noon}})
		if replicas == 7 {
			continue // as active as before
		}
		if got := next(t, stream); got != (replicas > 0) {
			t.Errorf("%d replicas: active is %t", replicas, got)
		}
	}
}

func TestStreamIsSilentUntilItKnows(t *testing.T) {
	b := NewBoard()
	b.SetReady(true)
	var open atomic.Int64
	hooks := Hooks{Streams: func(n int) { open.Store(int64(n)) }}
	c := client(t, serve(t, b, Options{Now: newClock().now, Heartbeat: never, Hooks: hooks}))
	stream, err := c.StreamIsActive(patient(t), ref)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the stream to be open", func() bool { return open.Load() == 1 })
	b.Post(Name{"shop", "other"}, map[string]Decision{"cart": {Replicas: 0, Made: noon}})
	b.Post(app, map[string]Decision{"cart": {Replicas: 2, Made: noon.Add(-time.Hour)}}) // too old
	b.Post(app, map[string]Decision{"cart": {Replicas: 0, Made: noon.Add(-time.Hour)}})
	b.Post(app, map[string]Decision{"cart": {Replicas: 0, Made: noon, Withheld: "the mode is Recommend"}})
	b.Post(app, map[string]Decision{"cart": {Replicas: 2, Made: noon}})
	if !next(t, stream) {
		t.Error("the first that it says is false")
	}
}

func TestStreamBeats(t *testing.T) {
	now := newClock()
	b := readyBoard(Decision{Replicas: 3, Made: noon})
	c := client(t, serve(t, b, Options{Now: now.now, Heartbeat: 5 * time.Millisecond}))
	stream, err := c.StreamIsActive(patient(t), ref)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if !next(t, stream) {
			t.Fatal("a heartbeat says that nothing is wanted")
		}
	}
}

func TestStreamOfAReplicaThatIsNotReady(t *testing.T) {
	b := NewBoard()
	ctx, c := patient(t), client(t, serve(t, b, Options{Now: newClock().now, Heartbeat: never}))
	stream, err := c.StreamIsActive(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	wantCode(t, err, codes.Unavailable)

	b.Post(app, map[string]Decision{"cart": {Replicas: 3, Made: noon}})
	b.SetReady(true)
	if stream, err = c.StreamIsActive(ctx, ref); err != nil {
		t.Fatal(err)
	}
	if !next(t, stream) {
		t.Error("once ready it says that nothing is wanted")
	}
	b.SetReady(false)
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the lead is lost: the stream must end cleanly, got %v", err)
	}
}

func TestStreamRefusesMetadataAtOnce(t *testing.T) {
	c := client(t, serve(t, readyBoard(Decision{Replicas: 3, Made: noon}), Options{Now: newClock().now}))
	stream, err := c.StreamIsActive(patient(t), &pb.ScaledObjectRef{Namespace: "shop", Name: "so",
		ScalerMetadata: map[string]string{"servcie": "cart"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	wantCode(t, err, codes.InvalidArgument)
}

func TestStreamOfTheSpecificationTellsOnceAndStays(t *testing.T) {
	s := serve(t, NewBoard(), Options{})
	c := client(t, s)
	stream, err := c.StreamMetricSpec(patient(t), ref)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := stream.Recv()
	if err != nil || spec.MetricSpecs[0].TargetSizeFloat != 1 {
		t.Fatalf("got %v, %v", spec, err)
	}
	s.stop()
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after one message and the server's stop: %v", err)
	}
}

func TestStreamEndsWithTheCallersContext(t *testing.T) {
	var open atomic.Int64
	hooks := Hooks{Streams: func(n int) { open.Store(int64(n)) }}
	c := client(t, serve(t, readyBoard(Decision{Replicas: 3, Made: noon}), Options{Now: newClock().now, Heartbeat: never, Hooks: hooks}))
	ctx, cancel := context.WithCancel(patient(t))
	stream, err := c.StreamIsActive(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	next(t, stream)
	cancel()
	_, err = stream.Recv()
	wantCode(t, err, codes.Canceled)
	waitFor(t, "the server to notice", func() bool { return open.Load() == 0 })
}

func TestManyStreamsAtOnce(t *testing.T) {
	const many = 300
	b := NewBoard()
	b.SetReady(true)
	post := func(replicas int) {
		services := map[string]Decision{}
		for i := range many {
			services[fmt.Sprint("s", i)] = Decision{Replicas: replicas, Made: noon}
		}
		b.Post(app, services)
	}
	s := serve(t, b, Options{Now: newClock().now, Heartbeat: never})
	ctx, c := patient(t), client(t, s)

	// Everybody hears that some are wanted, then that none are, then the end.
	streams := make([]grpc.ServerStreamingClient[pb.IsActiveResponse], many)
	for i := range streams {
		var err error
		r := &pb.ScaledObjectRef{Namespace: "shop", Name: "so", ScalerMetadata: map[string]string{"loadline": "main",
			"service": fmt.Sprint("s", i)}}
		if streams[i], err = c.StreamIsActive(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, replicas := range []int{2, 0} {
		post(replicas)
		var all sync.WaitGroup
		for i, stream := range streams {
			all.Go(func() {
				if a, err := stream.Recv(); err != nil || a.Result != (replicas > 0) {
					t.Errorf("stream %d, %d replicas: %v, %v", i, replicas, a, err)
				}
			})
		}
		if _, err := c.GetMetricSpec(ctx, ref); err != nil {
			t.Errorf("beside so many streams: %v", err)
		}
		all.Wait()
	}
	s.stop()
	for i, stream := range streams {
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("stream %d at the end: %v", i, err)
		}
	}
}

func TestStreamsAreBounded(t *testing.T) {
	c := client(t, serve(t, readyBoard(Decision{Replicas: 3, Made: noon}), Options{Now: newClock().now, Heartbeat: never, MaxStreams: 2}))
	ctx, cancel := context.WithCancel(patient(t))
	for range 2 {
		stream, err := c.StreamIsActive(ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		next(t, stream)
	}
	third, err := c.StreamMetricSpec(patient(t), ref)
	if err != nil {
		t.Fatal(err)
	}
	_, err = third.Recv()
	wantCode(t, err, codes.ResourceExhausted)
	if _, err := c.IsActive(patient(t), ref); err != nil {
		t.Errorf("questions must be answered all the same: %v", err)
	}
	cancel()
	waitFor(t, "a place to be free again", func() bool {
		stream, err := c.StreamMetricSpec(patient(t), ref)
		if err != nil {
			return false
		}
		_, err = stream.Recv()
		return err == nil
	})
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	t.Logf("waiting for %s", what)
	for !is() {
		time.Sleep(time.Millisecond)
	}
}
