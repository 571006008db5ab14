package controller

import (
	"context"
	"log/slog"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kedascaler"
)

// Standby answers KEDA from the resources' status for as long as another process
// holds the lease.
type Standby struct {
	Cache   cache.Cache
	Board   *kedascaler.Board
	Elected <-chan struct{} // closed when this process holds the lease
	Agent   string          // whose LoadLines this process decides for, as Options.Agent
	// Sharding likewise.
	Sharding Sharding
	Log      *slog.Logger

	post func(*kedascaler.Board, *v1alpha1.LoadLine) // postStatus, except in tests
}

// NeedLeaderElection is false: it is for those that are not elected.
func (s *Standby) NeedLeaderElection() bool { return false }

// Start follows the resources until the context ends.
func (s *Standby) Start(ctx context.Context) error {
	informer, err := s.Cache.GetInformer(ctx, &v1alpha1.LoadLine{})
	if err != nil {
		return err
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    s.see,
		UpdateFunc: func(_, now any) { s.see(now) },
		DeleteFunc: func(was any) {
			if gone, ok := was.(toolscache.DeletedFinalStateUnknown); ok {
				was = gone.Obj
			}
			if l, ok := was.(*v1alpha1.LoadLine); ok {
				s.Board.Forget(nameOf(l))
			}
		},
	})
	if err != nil {
		return err
	}
	if toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		s.Board.SetReady(true)
	}
	<-ctx.Done()
	return nil
}

// see runs in an informer's goroutine.
func (s *Standby) see(now any) {
	_ = contained(s.Log, "read a status for KEDA", func() error {
		s.read(now)
		return nil
	})
}

func (s *Standby) read(now any) {
	l, ok := now.(*v1alpha1.LoadLine)
	if !ok {
		return
	}
	if !l.DeletionTimestamp.IsZero() { // a brownout in its status does not count any more
		s.Board.Forget(nameOf(l))
		return
	}
	select {
	case <-s.Elected:
		if l.Labels[v1alpha1.AgentLabel] == s.Agent && s.Sharding.Owns(l) {
			return // its own decisions are newer
		}
	default:
	}
	if s.post == nil {
		s.post = postStatus
	}
	s.post(s.Board, l)
}
