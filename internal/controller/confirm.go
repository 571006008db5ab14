package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

// confirm that this process holds the lease and that the status is as it has left
// it: no other process has decided since.
func (r *runner) confirm(ctx context.Context) error {
	if err := r.c.Lease.Check(ctx); err != nil {
		return err
	}
	return r.compareStored(ctx)
}

// compareStored reads the LoadLine from the API server and returns an error that
// wraps errStale if its status is not the one that this process has read or written.
func (r *runner) compareStored(ctx context.Context) error {
	l := r.latest.Load()
	var now v1alpha1.LoadLine
	if err := r.c.Live.Get(ctx, client.ObjectKeyFromObject(l), &now); err != nil {
		return fmt.Errorf("read the LoadLine: %w", err)
	}
	switch {
	case now.UID != l.UID:
		return fmt.Errorf("%w: the LoadLine was deleted and created again", errStale)
	case !equality.Semantic.DeepEqual(now.Status, r.stored):
		return fmt.Errorf("%w: another process has written the status of the LoadLine", errStale)
	}
	r.version = now.ResourceVersion
	return nil
}

// resume reads the LoadLine from the API server before the application is assembled:
// a cache may lag behind the decisions of the process that decided before. If no
// other process has written the status, the newest of this process is the one to go
// on with, whether or not it was stored.
func (r *runner) resume(ctx context.Context) error {
	if err := r.c.Lease.Check(ctx); err != nil {
		return err
	}
	l := r.latest.Load()
	var now v1alpha1.LoadLine
	if err := r.c.Live.Get(ctx, client.ObjectKeyFromObject(l), &now); err != nil {
		return fmt.Errorf("read the LoadLine: %w", err)
	}
	if now.UID != l.UID {
		return fmt.Errorf("%w: the LoadLine was deleted and created again", errStale)
	}
	if equality.Semantic.DeepEqual(now.Status, r.stored) {
		r.version = now.ResourceVersion
	} else {
		r.startFrom(&now)
	}
	if now.Generation >= l.Generation {
		full, err := r.c.complete(ctx, &now)
		if err != nil {
			return err
		}
		r.latest.Store(full)
	}
	return nil
}

// resource is the LoadLine with the newest status of this process.
func (r *runner) resource() *v1alpha1.LoadLine {
	l := *r.latest.Load()
	l.Status = *r.newest.DeepCopy()
	return &l
}

// statusTries is the number of attempts to write a status: others may change the
// LoadLine's spec and metadata at the same time.
const statusTries = 5

// patch writes the status, if no other process has written it since this one has
// read or written it. Otherwise the error wraps errStale.
func (r *runner) patch(ctx context.Context, l *v1alpha1.LoadLine, status v1alpha1.LoadLineStatus) error {
	var err error
	for range statusTries {
		if r.version == "" {
			if err := r.compareStored(ctx); err != nil {
				return client.IgnoreNotFound(err)
			}
		}
		base := l.DeepCopy()
		base.ResourceVersion, base.Status = r.version, *r.stored.DeepCopy()
		changed := base.DeepCopy()
		changed.Status = status
		err = r.c.Client.Status().Patch(ctx, changed, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
		if err == nil {
			r.stored, r.version = changed.Status, changed.ResourceVersion
			return nil
		}
		if !apierrors.IsConflict(err) {
			return client.IgnoreNotFound(err)
		}
		r.version = "" // as the conflict says
	}
	return err
}
