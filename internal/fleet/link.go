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

// Link is a connection to the servers of a fleet, of an agent or of a teacher. It may be
// used by many goroutines; reading the stream is for one teacher. It is a
// drpc.Transport.
type Link struct {
	config Config
	conn   *nats.Conn
	js     jetstream.JetStream
	meter  meter
	reader reader
	keys   keys

	lock        sync.Mutex
	stream      jetstream.Stream   // nil until it was found or created
	bucket      jetstream.KeyValue // likewise
	reconnected chan struct{}      // closed when the servers are connected again
	last        error              // of the connection
	setup       error              // of the last attempt to open stream and bucket
}

// Open begins to connect and returns at once, since no decision may wait for a server.
// Wait waits for the connection.
func Open(c Config) (*Link, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	l := &Link{config: c, reconnected: make(chan struct{})}
	var err error
	if l.keys, err = c.readKeys(); err != nil {
		return nil, err
	}
	options, err := l.options()
	if err != nil {
		return nil, err
	}
	if l.conn, err = nats.Connect(c.URL, options...); err != nil {
		return nil, fmt.Errorf("fleet: connect to %s: %w", l.where(), err)
	}
	if l.js, err = jetstream.New(l.conn, jetstream.WithPublishAsyncMaxPending(c.InFlight),
		jetstream.WithPublishAsyncTimeout(c.Timeout), jetstream.WithDefaultTimeout(c.Timeout)); err != nil {
		l.conn.Close()
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return l, nil
}

func (l *Link) options() ([]nats.Option, error) {
	c := &l.config
	options := []nats.Option{
		nats.Name(c.Client), nats.CustomInboxPrefix(inboxPrefix(c.Name)), nats.Timeout(c.Timeout),
		nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(250 * time.Millisecond), nats.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		// Publisher keeps unsent messages. A second copy here would be sent after the publisher
		// has stopped waiting for it.
		nats.ReconnectBufSize(-1),
		nats.ConnectHandler(func(*nats.Conn) { l.connected() }),
		nats.ReconnectHandler(func(*nats.Conn) { l.connected() }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { l.disconnected(err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { l.disconnected(err) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.log().Warn("error on the connection to the fleet", "servers", l.where(), "error", err)
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

// inboxPrefix is where answers are sent to: each fleet has its own, so that users of one fleet need not be
// allowed to listen to the answers of others.
func inboxPrefix(fleet string) string { return "_INBOX_LOADLINE." + fleet }

// where names the servers in messages.
func (l *Link) where() string {
	if l.config.Server != nil {
		return "the server in this process"
	}
	return l.config.URL
}

// connected wakes everything that waits for servers.
func (l *Link) connected() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.last, l.setup = nil, nil
	l.stream, l.bucket = nil, nil // a server may have been restarted without its data
	close(l.reconnected)
	l.reconnected = make(chan struct{})
	l.config.log().Info("connected to the fleet", "servers", l.where())
}

func (l *Link) disconnected(err error) {
	if err == nil {
		return // closed by us
	}
	l.lock.Lock()
	changed := l.last == nil || l.last.Error() != err.Error()
	l.last = err
	l.lock.Unlock()
	if changed {
		l.config.log().Warn("the fleet is unreachable: students keep deciding, and their decisions wait", "servers", l.where(), "error",
			err)
	}
}

// reconnection is closed when the servers are connected the next time.
func (l *Link) reconnection() <-chan struct{} {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.reconnected
}

// Wait until stream and bucket can be used.
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

// Err is why the fleet cannot be used at the moment: no server is connected, or stream
// or bucket cannot be used. It is nil if it can be used.
func (l *Link) Err() error {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.last != nil {
		return l.last
	}
	return l.setup
}

// ready opens stream and bucket, once for each connection.
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
	if err == nil {
		bucket, err = l.openBucket(ctx)
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if errors.Is(err, context.Canceled) {
		return nil, nil, err
	}
	changed := err != nil && l.setup == nil
	if l.setup = err; err != nil {
		if changed {
			l.config.log().Warn("the fleet's stream or bucket cannot be used: students keep their decisions", "servers", l.where(),
				"error", err)
		}
		return nil, nil, err
	}
	l.stream, l.bucket = stream, bucket
	return stream, bucket, nil
}

// recheck opens stream and bucket again before the next use if the server does not have them:
// it may have been restarted without its data.
func (l *Link) recheck(err error) {
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err,
		jetstream.ErrStreamNotFound) {
		l.lock.Lock()
		l.stream, l.bucket = nil, nil
		l.lock.Unlock()
	}
}

// Close ends the connection.
func (l *Link) Close() { l.conn.Close() }

// sleep until the time is over or the channel is closed; false means that the context
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
