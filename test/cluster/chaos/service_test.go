package chaos

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// service forwards connections to the processes behind it in turn, as a Service of the cluster
// does: KEDA asks it for whichever Loadline is there.
type service struct {
	address string
	next    atomic.Uint64
}

func newService(t testing.TB, backends ...string) *service {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := &service{address: listener.Addr().String()}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go s.serve(conn, backends)
		}
	}()
	return s
}

func (s *service) serve(from net.Conn, backends []string) {
	defer from.Close()
	for range backends {
		to, err := net.Dial("tcp", backends[s.next.Add(1)%uint64(len(backends))])
		if err != nil {
			continue
		}
		defer to.Close()
		go func() {
			_, _ = io.Copy(to, from)
			_ = to.Close()
		}()
		_, _ = io.Copy(from, to)
		return
	}
}
