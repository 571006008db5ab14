package kedascaler

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/loadline/loadline/internal/kedascaler/externalscaler"
)

// from dials with a source address, over as many connections as it is called.
func from(t *testing.T, s served, host string) pb.ExternalScalerClient {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+s.address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}}
			return d.DialContext(ctx, "tcp", address)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return pb.NewExternalScalerClient(conn)
}

// TestOnePeerCannotTakeAllStreams, over however many connections: others get their places.
func TestOnePeerCannotTakeAllStreams(t *testing.T) {
	s := serve(t, readyBoard(Decision{Replicas: 3, Made: noon}), Options{Now: newClock().now, Heartbeat: never, MaxStreams: 5, MaxPerPeer: 3})
	open := func(c pb.ExternalScalerClient) error {
		stream, err := c.StreamIsActive(patient(t), ref)
		if err != nil {
			return err
		}
		_, err = stream.Recv()
		return err
	}
	for range 3 {
		if err := open(from(t, s, "127.0.0.1")); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, open(from(t, s, "127.0.0.1")), codes.ResourceExhausted)
	other := from(t, s, "127.0.0.2")
	for range 2 {
		if err := open(other); err != nil {
			t.Errorf("another peer: %v", err)
		}
	}
	wantCode(t, open(other), codes.ResourceExhausted) // of all
}

// TestCertificatesThatAppearLater: until they exist nothing is served, and then with TLS only.
func TestCertificatesThatAppearLater(t *testing.T) {
	ours := newAuthority(t, "ours")
	f := newTLSFiles(t)
	f.ClientCAFile = ""
	board := readyBoard(Decision{Replicas: 3, Made: noon})
	if _, err := New(board, Options{TLS: f.TLS}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without Await: %v", err)
	}
	f.Await = true
	s, err := New(board, Options{TLS: f.TLS, Now: newClock().now})
	if err != nil {
		t.Fatal(err)
	}
	s.await = time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Start(ctx); err != nil || s.certs != nil {
		t.Errorf("without certificates: %v", err)
	}
	cert, key := ours.issue(t, "scaler")
	put(t, f.CertFile, cert) // the key follows
	ready := make(chan error, 1)
	go func() { ready <- s.awaitCertificates(t.Context()) }()
	put(t, f.KeyFile, key)
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	address := served{address: l.Addr().String()}
	if err := reach(t, address, asKEDA(t, ours, nil, nil)); err != nil {
		t.Error(err)
	}
	wantCode(t, reach(t, address, nil), codes.Unavailable)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
