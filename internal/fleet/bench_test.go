package fleet

import (
	"context"
	"fmt"
	"testing"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// BenchmarkPublisher is the cost of a decision from the student to the disk of the embedded
// server, a thousand students at a time.
func BenchmarkPublisher(b *testing.B) {
	config := DefaultServer(b.TempDir())
	config.LazySync = true
	s, err := Serve(config)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Stop()
	c := Default()
	c.Server, c.MaxMessages, c.PerService, c.MaxBytes = s, 1<<40, 1<<40, 200<<20
	l, err := Open(c)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	if err := l.Wait(b.Context()); err != nil {
		b.Fatal(err)
	}
	services := make([]string, 1000)
	for i := range services {
		services[i] = fmt.Sprintf("service-%d", i)
	}
	publisher := l.NewPublisher(services, 1, 1<<20)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() {
		publisher.Run(ctx)
		close(done)
	}()
	defer func() {
		cancel()
		<-done
	}()
	b.ReportAllocs()
	for i := range b.N {
		publisher.Add(i%len(services), noon, 1, &drpc.Local{}, drpc.Action{})
	}
	if err := publisher.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	_, wire := l.Traffic().PerDecision()
	b.ReportMetric(wire, "wire-B/op")
}

// BenchmarkAdd is the cost for the student itself.
func BenchmarkAdd(b *testing.B) {
	c := Default()
	c.URL = "nats://127.0.0.1:1"
	l, err := Open(c)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	publisher := l.NewPublisher([]string{"cart"}, 1, MaxUnacknowledged)
	b.ReportAllocs()
	for range b.N {
		publisher.Add(0, noon, 1, &drpc.Local{}, drpc.Action{})
	}
}
