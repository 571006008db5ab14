package fleet

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// WeightCache watches the weights of some services and has the latest of each at hand.
type WeightCache struct {
	link *Link
	keys []string

	lock  sync.Mutex
	latest map[string]CachedWeights // by key
	created  time.Time        // when the bucket was
	last  uint64           // revision
}

// CachedWeights is what lies on the shelf for a service.
type CachedWeights struct {
	Revision uint64 // of the bucket; 0 = there is nothing yet
	Weights  drpc.Weights
	Fault    error // the object cannot be read, and why
}

// NewWeightCache watches so many services. Run sets it to work.
func (l *Link) NewWeightCache(services []string) *WeightCache {
	m := &WeightCache{link: l, latest: map[string]CachedWeights{}}
	for _, s := range services {
		m.keys = append(m.keys, token(s))
	}
	return m
}

// CachedWeights is the latest of a service. It never waits.
func (m *WeightCache) Latest(service string) CachedWeights {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.latest[token(service)]
}

// again is after how long a watch is begun anew, from where it was: a watch that
// has died in silence costs no longer than that.
const watchFor = time.Minute

// Run watches until the context is done, over every loss of the servers.
func (m *WeightCache) Run(ctx context.Context) {
	for ctx.Err() == nil {
		back := m.link.reconnection()
		if err := m.watch(ctx, back); err != nil {
			m.link.config.log().Debug("weights cannot be watched now", "error", err)
			sleep(ctx, 500*time.Millisecond, back)
		}
	}
}

// watch until it is time to begin anew.
func (m *WeightCache) watch(ctx context.Context, back <-chan struct{}) error {
	_, bucket, err := m.link.ready(ctx)
	if err != nil {
		return err
	}
	options, err := m.resume(ctx, bucket)
	if err != nil {
		m.link.recheck(err)
		return err
	}
	watcher, err := bucket.WatchFiltered(ctx, slices.Clone(m.keys), options...)
	if err != nil {
		m.link.recheck(err)
		return err
	}
	defer func() { _ = watcher.Stop() }() // the connection may be gone, and the watch with it
	timer := time.NewTimer(watchFor)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-back:
			return nil
		case <-timer.C:
			return nil
		case entry, open := <-watcher.Updates():
			if !open {
				return jetstream.ErrConsumerNotFound
			}
			if entry != nil { // nil: up to here it was there already
				m.store(entry)
			}
		}
	}
}

// resume is from where to watch: after what was seen, or from the beginning if
// this is another bucket than before.
func (m *WeightCache) resume(ctx context.Context, bucket jetstream.KeyValue) ([]jetstream.WatchOpt, error) {
	status, err := bucket.Status(ctx)
	if err != nil {
		return nil, err
	}
	var made time.Time
	if s, ok := status.(*jetstream.KeyValueBucketStatus); ok {
		made = s.StreamInfo().Created
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	if !made.Equal(m.created) {
		m.created, m.last = made, 0
	}
	if m.last == 0 {
		return nil, nil
	}
	return []jetstream.WatchOpt{jetstream.ResumeFromRevision(m.last + 1)}, nil
}

func (m *WeightCache) store(entry jetstream.KeyValueEntry) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.last = max(m.last, entry.Revision())
	if entry.Operation() != jetstream.KeyValuePut {
		return // somebody has cleared the shelf: students act on with what they have
	}
	s := CachedWeights{Revision: entry.Revision()}
	s.Weights, s.Fault = readWeights(entry.Value(), Schema())
	m.latest[entry.Key()] = s
}
