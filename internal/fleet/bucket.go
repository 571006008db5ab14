package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

func (l *Link) bucketName() string { return l.config.Name + "-weights" }

// weightHistory is the number of versions that are kept of each service's weights.
const weightHistory = 3

// openBucket opens the bucket of weights, or creates it.
func (l *Link) openBucket(ctx context.Context) (jetstream.KeyValue, error) {
	bucket, err := l.js.KeyValue(ctx, l.bucketName())
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		bucket, err = l.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: l.bucketName(), Description: "Weights of students, by service", History: weightHistory,
			MaxBytes: l.config.WeightBytes, MaxValueSize: maxWeights,
			Storage: jetstream.FileStorage, Replicas: l.replicas(),
		})
		if errors.Is(err, jetstream.ErrBucketExists) { // created concurrently
			bucket, err = l.js.KeyValue(ctx, l.bucketName())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fleet: bucket %s: %w", l.bucketName(), err)
	}
	return bucket, nil
}

// maxWeights leaves room for students that are a hundred times larger.
const maxWeights = 256 << 10
