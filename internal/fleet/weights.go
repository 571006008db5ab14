package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// Put implements drpc.Shelf. Versions only increase, also with several writers: an object
// is replaced only at the revision that was read.
func (l *Link) Put(w drpc.Weights) error {
	ctx, cancel := context.WithTimeout(context.Background(), l.config.Timeout)
	defer cancel()
	_, bucket, err := l.ready(ctx)
	if err != nil {
		return fmt.Errorf("weights %d of %s: %w", w.Version, w.Service, err)
	}
	data, err := appendWeights(nil, w, Schema())
	if err != nil {
		return err
	}
	data = l.keys.seal(l.config.Name, data)
	key := token(w.Service)
	there, err := bucket.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		_, err = bucket.Create(ctx, key, data)
	case err == nil:
		// Weights that no student uses are replaced.
		old, fault := l.decode(there.Value())
		if fault == nil || errors.Is(fault, drpc.ErrUnfit) {
			fault = checkVersion(old, w.Version)
		}
		if fault == nil && old.Version >= w.Version {
			return fmt.Errorf("weights %d of %s: there are %d already: %w", w.Version, w.Service, old.Version, drpc.ErrOutdate)
		}
		_, err = bucket.Update(ctx, key, data, there.Revision())
	}
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return fmt.Errorf("weights %d of %s: another teacher publishes them at the same time, there must be only one: %w", w.Version,
			w.Service, drpc.ErrOutdate)
	}
	if err != nil {
		l.recheck(err)
		return fmt.Errorf("weights %d of %s: %w", w.Version, w.Service, err)
	}
	return nil
}

// Latest implements drpc.Shelf. It asks the server; WeightCache does not block.
func (l *Link) Latest(service string) (drpc.Weights, error) {
	ctx, cancel := context.WithTimeout(context.Background(), l.config.Timeout)
	defer cancel()
	_, bucket, err := l.ready(ctx)
	if err != nil {
		return drpc.Weights{}, fmt.Errorf("weights of %s: %w", service, err)
	}
	entry, err := bucket.Get(ctx, token(service))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return drpc.Weights{}, fmt.Errorf("%s: %w", service, drpc.ErrNone)
	}
	if err != nil {
		l.recheck(err)
		return drpc.Weights{}, fmt.Errorf("weights of %s: %w", service, err)
	}
	return l.decode(entry.Value())
}

// decode weights as they are kept in the bucket.
func (l *Link) decode(object []byte) (drpc.Weights, error) {
	weights, err := l.keys.open(l.config.Name, object)
	if err != nil {
		return drpc.Weights{}, err
	}
	return readWeights(weights, Schema())
}
