package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errStale means that another process decides for an application, or may do so.
// Nothing may be written; the process is about to end, or restarts the application
// with what the other has left in the status.
var errStale = errors.New("this process is stale")

// Lease is the lease that a process holds while it decides. Leader election alone
// does not prevent writes of a process that was suspended and resumes after another
// has taken over: it notices the loss only at its next renewal. So every write is
// fenced: the lease is read from the API server immediately before.
//
// A nil Lease fences nothing.
type Lease struct {
	Live     client.Reader // reads from the API server
	Key      client.ObjectKey
	Identity string        // of this process, as the holder
	Duration time.Duration // validity of the lease after a renewal
	Now      func() time.Time

	Sharding Sharding
	// ByShards: there may be other shards, whose leases are looked at.
	ByShards bool
	// Disagreed is called if the first shard has another number of shards; nil = it is not.
	Disagreed func(error)

	mu          sync.Mutex
	checked     time.Time // when it was last found to be held
	expires     time.Time // that renewal
	transitions int32     // changes of the holder so far
	known       bool      // transitions is known
	since       time.Time // passes that began before were interrupted by another holder
	alone       bool      // no other shard has another number of shards, since
	aloneAt     int32     // this number of changes of the holder
}

// checkedFor is how long a successful check holds, for plans with many writes. It is
// far below the time in which another process can take over.
const checkedFor = time.Second

// passSpan is the pass that a write belongs to.
type passSpan struct {
	began  time.Time
	period time.Duration
}

type passKey struct{}

// withPass returns a context for the writes of a pass that begins now.
func withPass(ctx context.Context, began time.Time, period time.Duration) context.Context {
	return context.WithValue(ctx, passKey{}, passSpan{began, period})
}

// Check returns nil if this process holds the lease and has held it since the pass
// of the context began. The error wraps errStale unless the lease cannot be read.
func (l *Lease) Check(ctx context.Context) error {
	if l == nil {
		return nil
	}
	now := l.Now()
	pass, inPass := ctx.Value(passKey{}).(passSpan)
	// Both times have a monotonic reading: this needs no clock and no API server.
	if age := now.Sub(pass.began); inPass && age > l.Duration+pass.period {
		return fmt.Errorf("%w: the pass began %v ago, and the lease %s lasts %v", errStale, age.Round(time.Second), l.Key, l.Duration)
	}
	if !l.recent(now) {
		if err := l.read(ctx, now); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if inPass && pass.began.Before(l.since) {
		return fmt.Errorf("%w: another process held the lease %s after the pass began", errStale, l.Key)
	}
	return nil
}

// recent reports whether the last check still holds.
func (l *Lease) recent(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.checked.IsZero() && now.Sub(l.checked) < checkedFor && now.Before(l.expires)
}

// read the lease and verify that this process holds it.
func (l *Lease) read(ctx context.Context, now time.Time) error {
	var lease coordinationv1.Lease
	if err := l.Live.Get(ctx, l.Key, &lease); apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: the lease %s does not exist", errStale, l.Key)
	} else if err != nil {
		return fmt.Errorf("nothing is written, since the lease %s cannot be read: %w", l.Key, err)
	}
	s := &lease.Spec
	if s.HolderIdentity == nil || *s.HolderIdentity != l.Identity {
		holder := "no process"
		if s.HolderIdentity != nil && *s.HolderIdentity != "" {
			holder = *s.HolderIdentity
		}
		return fmt.Errorf("%w: %s holds the lease %s, not %s", errStale, holder, l.Key, l.Identity)
	}
	duration := l.Duration
	if s.LeaseDurationSeconds != nil {
		duration = time.Duration(*s.LeaseDurationSeconds) * time.Second
	}
	var renewed time.Time
	if s.RenewTime != nil {
		renewed = s.RenewTime.Time
	}
	expires := renewed.Add(duration)
	if !now.Before(expires) {
		return fmt.Errorf("%w: the lease %s of %s expired at %s", errStale, l.Key, l.Identity, expires.UTC().Format(time.RFC3339))
	}
	transitions := int32(0)
	if s.LeaseTransitions != nil {
		transitions = *s.LeaseTransitions
	}
	if err := l.agree(ctx, now, transitions); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checked, l.expires = now, expires
	if s.LeaseTransitions != nil {
		if l.known && l.transitions != *s.LeaseTransitions {
			l.since = now
		}
		l.transitions, l.known = *s.LeaseTransitions, true
	}
	return nil
}

// Fenced is a client whose writes need the lease; nil = they need none.
func Fenced(c client.Client, l *Lease) client.Client {
	if l == nil {
		return c
	}
	return fenced{c, l}
}

// fenced is a client whose writes need the lease.
type fenced struct {
	client.Client
	lease *Lease
}

func (f fenced) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if err := f.lease.Check(ctx); err != nil {
		return err
	}
	return f.Client.Create(ctx, o, opts...)
}

func (f fenced) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if err := f.lease.Check(ctx); err != nil {
		return err
	}
	return f.Client.Delete(ctx, o, opts...)
}

func (f fenced) DeleteAllOf(ctx context.Context, o client.Object, opts ...client.DeleteAllOfOption) error {
	if err := f.lease.Check(ctx); err != nil {
		return err
	}
	return f.Client.DeleteAllOf(ctx, o, opts...)
}

func (f fenced) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if err := f.lease.Check(ctx); err != nil {
		return err
	}
	return f.Client.Update(ctx, o, opts...)
}

func (f fenced) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if err := f.lease.Check(ctx); err != nil {
		return err
	}
	return f.Client.Patch(ctx, o, p, opts...)
}

func (f fenced) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if err := f.lease.Check(ctx); err != nil {
		return err
	}
	return f.Client.Apply(ctx, o, opts...)
}

func (f fenced) Status() client.SubResourceWriter { return f.SubResource("status") }

func (f fenced) SubResource(name string) client.SubResourceClient {
	return fencedSub{f.Client.SubResource(name), f.lease}
}

// fencedSub is the same for a subresource.
type fencedSub struct {
	client.SubResourceClient
	lease *Lease
}

func (f fencedSub) Create(ctx context.Context, o, sub client.Object, opts ...client.SubResourceCreateOption) error {
	if err := f.lease.Check(ctx); err != nil {
		return err
	}
	return f.SubResourceClient.Create(ctx, o, sub, opts...)
}

func (f fencedSub) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	if err := f.lease.Check(ctx); err != nil {
		return err
	}
	return f.SubResourceClient.Update(ctx, o, opts...)
}

func (f fencedSub) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	if err := f.lease.Check(ctx); err != nil {
		return err
	}
	return f.SubResourceClient.Patch(ctx, o, p, opts...)
}

func (f fencedSub) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	if err := f.lease.Check(ctx); err != nil {
		return err
	}
	return f.SubResourceClient.Apply(ctx, o, opts...)
}
