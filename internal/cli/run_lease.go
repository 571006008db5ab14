package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/internal/controller"
)

const (
	// leaseName is the Lease of the process that decides.
	leaseName = "loadline.dev"

	leaseDuration = 15 * time.Second // after which another process may take an expired lease
	renewDeadline = 10 * time.Second // after which the holder gives up
	renewEvery    = 2 * time.Second

	// requestTimeout of a process with a lease: one request that hangs must not lose it.
	requestTimeout = renewDeadline / 2
)

// newLock returns the lock on the lease, with an identity of this process that is
// unique: HOST_UUID.
func (f *liveFlags) newLock(config *rest.Config) (*resourcelock.LeaseLock, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("the identity for the lease needs the host's name: %w", err)
	}
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	config.Timeout = requestTimeout
	c, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: f.lease(), Name: f.leaseName()},
		Client:     c,
		LockConfig: resourcelock.ResourceLockConfig{Identity: f.sharding.Declare(host + "_" + string(uuid.NewUUID()))},
	}, nil
}

// newCache is a cache whose watches last, although requests have a timeout: with it, each watch
// would end after that time and begin again.
func newCache(config *rest.Config, o cache.Options) (cache.Cache, error) {
	config = rest.CopyConfig(config)
	config.Timeout, o.HTTPClient = 0, nil // the client given has the timeout
	return cache.New(config, o)
}

// fence is the lease as the controller checks it before it writes.
func (f *liveFlags) fence(lock *resourcelock.LeaseLock, live client.Reader) *controller.Lease {
	return &controller.Lease{
		Live: live, Key: client.ObjectKey{Namespace: f.lease(), Name: f.leaseName()}, Identity: lock.Identity(),
		Duration: leaseDuration, Now: time.Now, Sharding: f.sharding, ByShards: f.fleet.agent == "",
	}
}

// withLease acquires the lease, renews it while do runs, and releases it. The context
// of do ends if the lease is lost.
func withLease(ctx context.Context, lock resourcelock.Interface, wait time.Duration, log *slog.Logger,
	do func(context.Context) error) error {
	leading, stopped := make(chan context.Context, 1), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: renewEvery,
		ReleaseOnCancel: true, Name: leaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { leading <- ctx },
			OnStoppedLeading: func() {},
			OnNewLeader: func(holder string) {
				if holder != lock.Identity() && holder != "" {
					log.Info("waiting for the lease", "lease", lock.Describe(), "holder", holder, "limit", wait)
				}
			},
		},
	})
	if err != nil {
		return err
	}
	electing, release := context.WithCancel(ctx)
	go func() {
		defer close(stopped)
		elector.Run(electing)
	}()
	defer func() {
		release()
		<-stopped
	}()
	limit := time.NewTimer(wait)
	defer limit.Stop()
	select {
	case held := <-leading:
		err := do(held)
		if held.Err() != nil && ctx.Err() == nil {
			err = errors.Join(err, fmt.Errorf("the lease %s was lost meanwhile", lock.Describe()))
		}
		return err
	case <-limit.C:
		return notAcquired(ctx, lock, wait)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// notAcquired says who holds the lease, or why it cannot be had, and what to do.
func notAcquired(ctx context.Context, lock resourcelock.Interface, wait time.Duration) error {
	const instead = "--dry-run needs no lease"
	held, _, err := lock.Get(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the lease %s cannot be created: name a namespace that exists, and in which you may create leases, "+
			"with --lease-namespace; %s", lock.Describe(), instead)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the lease %s may not be read: apply deploy/rbac/leader-election.yaml for your account; %s: %w", lock.Describe(),
			instead, err)
	case err != nil:
		return fmt.Errorf("the lease %s cannot be read: %w", lock.Describe(), err)
	case held.HolderIdentity == "" || held.HolderIdentity == lock.Identity():
		return fmt.Errorf("the lease %s could not be acquired within %v: may you update it? (deploy/rbac/leader-election.yaml); %s",
			lock.Describe(), wait, instead)
	}
	return fmt.Errorf("%s holds the lease %s, and still did after %v (--lease-wait): stop that controller first, "+
		"since two processes must not change the same services; %s", held.HolderIdentity, lock.Describe(), wait, instead)
}
