package controller

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

// MaxShards is how many shards there may be: the Role of the leases names each.
const MaxShards = 16

// Sharding divides LoadLines over groups of processes, each with a lease of its own. The zero value is one shard.
type Sharding struct {
	Shards int // 0 or 1 = one
	Shard  int // that this process runs
}

func (s Sharding) count() int { return max(s.Shards, 1) }

// Owns reports whether a LoadLine is of this shard, by rendezvous hashing: each LoadLine goes to the shard for which
// its hash is largest, so that another number of shards moves as few LoadLines as possible.
func (s Sharding) Owns(l *v1alpha1.LoadLine) bool {
	return s.ownerOf(client.ObjectKeyFromObject(l)) == s.Shard
}

func (s Sharding) ownerOf(name types.NamespacedName) int {
	owner, largest := 0, uint64(0)
	for shard := range s.count() {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name.String()))
		_, _ = h.Write([]byte{0, byte(shard)})
		if weight := mix(h.Sum64()); weight > largest {
			owner, largest = shard, weight
		}
	}
	return owner
}

// mix spreads the last bytes of what was hashed over all bits (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

const declares = "_shards-"

// Declare returns the identity of a process as the holder of a lease. It says how many shards the process knows,
// where there are several: two processes with different numbers would divide LoadLines differently.
func (s Sharding) Declare(identity string) string {
	if s.count() == 1 {
		return identity
	}
	return identity + declares + strconv.Itoa(s.Shards)
}

// declared is how many shards the holder of a lease knows.
func declared(holder string) int {
	_, count, _ := strings.Cut(holder, declares)
	n, err := strconv.Atoi(count)
	if err != nil {
		return 1
	}
	return n
}

// LeaseOf a shard, by the name of the lease without shards, which is that of the first: a process without shards and
// the first of several exclude each other.
func LeaseOf(name string, shard int) string {
	if shard == 0 {
		return name
	}
	return name + ".shard-" + strconv.Itoa(shard)
}

// agree checks that all who write have the same number of shards. The holder of the first shard's lease declares it.
// Others write only while that lease is held with their number; the first writes only when no other lease is held
// with another number. So no LoadLine has two owners while the number is changed.
func (l *Lease) agree(ctx context.Context, now time.Time, transitions int32) error {
	if l.Sharding.Shard > 0 {
		return l.follow(ctx, now)
	}
	l.mu.Lock()
	clear := l.alone && l.aloneAt == transitions
	l.mu.Unlock()
	if clear {
		return nil
	}
	for shard := 1; shard < MaxShards && l.ByShards; shard++ {
		key := l.Key
		key.Name = LeaseOf(l.Key.Name, shard)
		holder, err := l.holder(ctx, key, now)
		switch {
		case apierrors.IsForbidden(err) && l.Sharding.count() == 1:
			// A Role of before there were shards.
		case err != nil:
			return fmt.Errorf("nothing is written, since the lease %s cannot be read: %w", key, err)
		case holder != "" && declared(holder) != l.Sharding.count():
			return fmt.Errorf("nothing is written until the lease %s is released or ends: %s has %d shards, this process %d",
				key, holder, declared(holder), l.Sharding.count())
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alone, l.aloneAt = true, transitions
	return nil
}

// follow the number of shards that the first shard declares.
func (l *Lease) follow(ctx context.Context, now time.Time) error {
	key := l.Key
	key.Name = strings.TrimSuffix(l.Key.Name, LeaseOf("", l.Sharding.Shard))
	holder, err := l.holder(ctx, key, now)
	switch {
	case err != nil:
		return fmt.Errorf("nothing is written, since the lease %s cannot be read: %w", key, err)
	case holder == "":
		return fmt.Errorf("nothing is written while no process holds the lease %s, which says how many shards there are", key)
	case declared(holder) != l.Sharding.count():
		err := fmt.Errorf("%w: %s, which holds the lease %s, has %d shards, this process %d: give all processes the same --shards",
			errStale, holder, key, declared(holder), l.Sharding.count())
		if l.Disagreed != nil {
			l.Disagreed(err)
		}
		return err
	}
	return nil
}

// holder of a lease that has not expired; "" = none.
func (l *Lease) holder(ctx context.Context, key client.ObjectKey, now time.Time) (string, error) {
	var lease coordinationv1.Lease
	if err := l.Live.Get(ctx, key, &lease); apierrors.IsNotFound(err) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	s := &lease.Spec
	if s.HolderIdentity == nil || s.RenewTime == nil {
		return "", nil
	}
	duration := l.Duration
	if s.LeaseDurationSeconds != nil {
		duration = cmp.Or(time.Duration(*s.LeaseDurationSeconds)*time.Second, duration)
	}
	if !now.Before(s.RenewTime.Add(duration)) {
		return "", nil
	}
	return *s.HolderIdentity, nil
}

// watchEvery is how often a process looks whether it agrees with the first shard, also if it has nothing to write.
const watchEvery = 5 * time.Second

// Start checks the lease until the context ends. As a runnable of the manager it is for the holder.
func (l *Lease) Start(ctx context.Context) error {
	clock := &realClock{now: l.Now}
	for clock.WaitUntil(ctx, l.Now().Add(watchEvery)) == nil {
		_ = l.Check(ctx) // the condition Disagreed reports a failure
	}
	return nil
}
