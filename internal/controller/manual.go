package controller

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/kube"
)

// noticeManual detects that others have changed the replicas that we have set, and
// leaves them alone for a while. Replicas that others set before we ever did are
// where we start, and no reason to wait.
func (t *desired) noticeManual(s *kube.State, now time.Time, respect time.Duration) {
	if !t.replicas.Set || s.Err != nil {
		return
	}
	if len(s.Conflicts) > 0 && !t.brownout { // another autoscaler is in control: its changes are no person's
		t.replicas = loadline.Opt[int]{}
		return
	}
	want := t.replicas.Value
	if t.brownout {
		want = 0
	}
	zeroed := t.before.Set && s.Replicas == 0 && s.Changed.Manager != "" // others want the zero, too
	if s.Changed.Ours || s.Replicas == want && !zeroed {
		return
	}
	at := s.Changed.At
	switch {
	case at.IsZero() || at.After(now):
		at = now
	case t.resumed && at.Before(t.changed):
		// They were set before our last change: that change is in the status, and the
		// process ended before it was applied.
		t.replicas.Value = s.Replicas
		return
	}
	t.manual = at.Add(respect)
	t.replicas.Value = s.Replicas // the next difference is another change
	t.brownout, t.before = false, loadline.Opt[int]{}
}

// whyManual names the manager and the end of the wait.
func (t *desired) whyManual(s *kube.State) string {
	by := s.Changed.Manager
	if by == "" {
		by = "an unknown manager"
	}
	return fmt.Sprintf("%s set %d replicas, which are kept until %s (spec.respectManualChangesFor)", by, s.Replicas,
		t.manual.UTC().Format("2006-01-02 15:04:05Z"))
}
