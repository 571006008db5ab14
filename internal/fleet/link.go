package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Link is one end of the fleet: a student's or a teacher's. It may be used by
// many goroutines, but the inbox of a fleet is for one teacher. It is a
// drpc.Transport.
type Link struct {
	config Config
	conn   *nats.Conn
	js     jetstream.JetStream
	meter  meter
	reader  reader

	lock   sync.Mutex
	stream jetstream.Stream   // nil until it is known to be there
	bucket jetstream.KeyValue // the same
	reconnected  chan struct{}      // closed when the servers are back
	last   error              // of the connection
}

// Open begins to connect and returns at once: whoever decides does not wait for a
// server. Wait says whether it came to something.
func Open(c Config) (*Link, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	l := &Link{config: c, reconnected: make(chan struct{})}
	options, err := l.options()
	if err != nil {
		return nil, err
	}
	if l.conn, err = nats.Connect(c.URL, options...); err != nil {
		return nil, fmt.Errorf("fleet: connect to %s: %w", l.where(), err)
	}
	if l.js, err = jetstream.New(l.conn, jetstream.WithPublishAsyncMaxPending(c.InFlight), jetstream.WithPublishAsyncTimeout(c.Timeout), jetstream.WithDefaultTimeout(c.Timeout)); err != nil {
		l.conn.Close()
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return l, nil
}

func (l *Link) options() ([]nats.Option, error) {
	c := &l.config
	options := []nats.Option{
		nats.Name(c.Client), nats.Timeout(c.Timeout), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(250 * time.Millisecond), nats.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		// What was not sent is kept by those who publish; a second copy here would be
		// sent after they have given up waiting for it.
		nats.ReconnectBufSize(-1),
		nats.ConnectHandler(func(*nats.Conn) { l.connected() }),
		nats.ReconnectHandler(func(*nats.Conn) { l.connected() }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { l.disconnected(err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { l.disconnected(err) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.log().Warn("the connection of the fleet is in trouble", "servers", l.where(), "error", err)
		}),
	}
	if c.Server != nil {
		return append(options, nats.InProcessServer(inProcess{c.Server, &l.meter})), nil
	}
	options = append(options, nats.SetCustomDialer(&dialer{timeout: c.Timeout, meter: &l.meter}))
	if c.Credentials != "" {
		options = append(options, nats.UserCredentials(c.Credentials))
	}
	if c.CA != "" {
		options = append(options, nats.RootCAs(c.CA))
	}
	if c.Cert != "" {
		options = append(options, nats.ClientCert(c.Cert, c.Key))
	}
	return options, nil
}

// where the servers are, for messages.
func (l *Link) where() string {
	if l.config.Server != nil {
		return "the server in this process"
	}
	return l.config.URL
}

// connected wakes those who wait for servers.
func (l *Link) connected() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.last = nil
	l.stream, l.bucket = nil, nil // they may have come back without what they held
	close(l.reconnected)
	l.reconnected = make(chan struct{})
	l.config.log().Info("connected to the fleet", "servers", l.where())
}

func (l *Link) disconnected(err error) {
	if err == nil {
		return // closed on purpose
	}
	l.lock.Lock()
	changed := l.last == nil || l.last.Error() != err.Error()
	l.last = err
	l.lock.Unlock()
	if changed {
		l.config.log().Warn("the fleet is out of reach: students act on and keep what they did", "servers", l.where(), "error", err)
	}
}

// reconnection is closed at the next time that the servers are back.
func (l *Link) reconnection() <-chan struct{} {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.reconnected
}

// Wait until stream and bucket are there, for those who cannot do without.
func (l *Link) Wait(ctx context.Context) error {
	for {
		back := l.reconnection()
		_, _, err := l.ready(ctx)
		if err == nil {
			return nil
		}
		var misfit *MisfitError
		if errors.As(err, &misfit) {
			return err
		}
		if !sleep(ctx, 250*time.Millisecond, back) {
			return fmt.Errorf("fleet: %s: %w", l.where(), errors.Join(err, l.Err()))
		}
	}
}

// Err is what keeps the connection from being there; nil while it is.
func (l *Link) Err() error {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.last
}

// ready makes sure once that there are a stream and a bucket.
func (l *Link) ready(ctx context.Context) (jetstream.Stream, jetstream.KeyValue, error) {
	if !l.conn.IsConnected() {
		return nil, nil, nats.ErrDisconnected
	}
	l.lock.Lock()
	stream, bucket := l.stream, l.bucket
	l.lock.Unlock()
	if stream != nil {
		return stream, bucket, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	stream, err := l.openStream(ctx)
	if err != nil {
		return nil, nil, err
	}
	if bucket, err = l.openBucket(ctx); err != nil {
		return nil, nil, err
	}
	l.lock.Lock()
	l.stream, l.bucket = stream, bucket
	l.lock.Unlock()
	return stream, bucket, nil
}

// recheck looks again before the next use: a server may have come back without what
// it held.
func (l *Link) recheck(err error) {
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, jetstream.ErrStreamNotFound) {
		l.lock.Lock()
		l.stream, l.bucket = nil, nil
		l.lock.Unlock()
	}
}

// Close ends the connection.
func (l *Link) Close() { l.conn.Close() }

// sleep until the time is over or something happens; false means that the context
// is done.
func sleep(ctx context.Context, d time.Duration, happens <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-happens:
	}
	return true
}
