package handover

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
)

// Handover of one LoadLine.
type Handover struct {
	Client       client.Client
	Manager      string // field manager of the writes
	Name         types.NamespacedName
	Direction    Direction
	NoController bool
}

// Step reads the cluster and makes the next write, if there is one to make. Nil = the handover is
// complete. A write that finds its object changed in the meantime is not made, and the next Step
// reads it again.
func (h *Handover) Step(ctx context.Context) (*Action, error) {
	s := State{NoController: h.NoController}
	var l v1alpha1.LoadLine
	switch err := h.Client.Get(ctx, h.Name, &l); {
	case err == nil:
		full, err := kube.Completed(ctx, h.Client, &l)
		if err != nil {
			return nil, err
		}
		s.LoadLine = full
	case !apierrors.IsNotFound(err):
		return nil, err
	}
	var err error
	if s.Objects, err = kube.ReadAutoscalers(ctx, h.Client, h.Name.Namespace); err != nil {
		return nil, err
	}
	a, err := Next(h.Direction, h.Name.Name, s)
	if a == nil || err != nil || a.Waits() {
		return a, err
	}
	if a.Object != nil {
		err = h.Client.Update(ctx, a.Object, client.FieldOwner(h.Manager))
	} else {
		l.Spec.Mode = a.Mode
		err = h.Client.Update(ctx, &l, client.FieldOwner(h.Manager))
	}
	if apierrors.IsConflict(err) {
		return &Action{Sentence: "reading again: it was changed in the meantime"}, nil
	}
	return a, err
}

// pollEvery is how often it is looked for what is waited for.
const pollEvery = 500 * time.Millisecond

// Run makes all steps, and calls done after each write. It ends with the context.
func (h *Handover) Run(ctx context.Context, done func(sentence string)) error {
	wrote := false
	for {
		a, err := h.Step(ctx)
		switch {
		case wrote && errors.Is(err, ErrNothing): // the LoadLine is gone, and all is given back
			return nil
		case err != nil || a == nil:
			return err
		}
		if !a.Waits() {
			wrote = true
			done(a.Sentence)
			continue
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", a.Sentence, ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}
