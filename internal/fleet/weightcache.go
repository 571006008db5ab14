package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// WeightCache watches the weights of some services and holds the latest of each.
type WeightCache struct {
	link *Link
	keys []string

	lock    sync.Mutex
	latest  map[string]CachedWeights // by key
	created time.Time                // when the bucket was
	last    uint64                   // revision
	err     error                    // of the last attempt to watch
}

// CachedWeights is the latest object in the bucket for a service.
type CachedWeights struct {
	Revision uint64 // of the bucket; 0 = no object yet
	Weights  drpc.Weights
	Fault    error // why the object cannot be read
}

// NewWeightCache makes a cache for some services. Run watches.
func (l *Link) NewWeightCache(services []string) *WeightCache {
	c := &WeightCache{link: l, latest: map[string]CachedWeights{}}
	for _, s := range services {
		c.keys = append(c.keys, token(s))
	}
	return c
}

// Latest weights of a service. It never blocks.
func (c *WeightCache) Latest(service string) CachedWeights {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.latest[token(service)]
}

// Err is why weights are not received at the moment; nil if they are.
func (c *WeightCache) Err() error {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.err
}

// watchFor is how long a watch is used before it is renewed, so that a watch that died silently
// is noticed.
const watchFor = time.Minute

// Run watches until the context is done, and again after every failure.
func (c *WeightCache) Run(ctx context.Context) {
	for ctx.Err() == nil {
		reconnection := c.link.reconnection()
		if err := c.watch(ctx, reconnection); err != nil && ctx.Err() == nil {
			c.setErr(fmt.Errorf("watch weights: %w", err))
			sleep(ctx, 500*time.Millisecond, reconnection)
		}
	}
}

// setErr records an attempt. The first failure after a success is logged, unless the
// link has logged that the servers are unreachable.
func (c *WeightCache) setErr(err error) {
	c.lock.Lock()
	changed := err != nil && c.err == nil
	c.err = err
	c.lock.Unlock()
	if changed && !errors.Is(err, nats.ErrDisconnected) {
		c.link.config.log().Warn("weights cannot be watched: students keep those in use", "error", err)
	}
}

// watch until it is due for renewal.
func (c *WeightCache) watch(ctx context.Context, reconnection <-chan struct{}) error {
	_, bucket, err := c.link.ready(ctx)
	if err != nil {
		return err
	}
	options, err := c.resume(ctx, bucket)
	if err != nil {
		c.link.recheck(err)
		return err
	}
	watcher, err := bucket.WatchFiltered(ctx, slices.Clone(c.keys), options...)
	if err != nil {
		c.link.recheck(err)
		return err
	}
	defer func() { _ = watcher.Stop() }() // the connection may be gone, and the watch with it
	c.setErr(nil)
	timer := time.NewTimer(watchFor)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-reconnection:
			return nil
		case <-timer.C:
			return nil
		case entry, open := <-watcher.Updates():
			if !open {
				return jetstream.ErrConsumerNotFound
			}
			if entry != nil { // nil marks the end of the initial values
				c.store(entry)
			}
		}
	}
}

// resume is where to start watching: after the last revision, or from the beginning if the
// bucket is another one.
func (c *WeightCache) resume(ctx context.Context, bucket jetstream.KeyValue) ([]jetstream.WatchOpt, error) {
	status, err := bucket.Status(ctx)
	if err != nil {
		return nil, err
	}
	var made time.Time
	if s, ok := status.(*jetstream.KeyValueBucketStatus); ok {
		made = s.StreamInfo().Created
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if !made.Equal(c.created) {
		c.created, c.last = made, 0
	}
	if c.last == 0 {
		return nil, nil
	}
	return []jetstream.WatchOpt{jetstream.ResumeFromRevision(c.last + 1)}, nil
}

func (c *WeightCache) store(entry jetstream.KeyValueEntry) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.last = max(c.last, entry.Revision())
	if entry.Operation() != jetstream.KeyValuePut {
		return // the bucket was cleared: students keep the weights in use
	}
	s := CachedWeights{Revision: entry.Revision()}
	s.Weights, s.Fault = c.link.decode(entry.Value())
	c.latest[entry.Key()] = s
}
