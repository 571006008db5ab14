package controller

import (
	"fmt"
	"time"

	"github.com/loadline/loadline/internal/kube"
)

// noticeManual detects that others have changed the replicas that we have set, and
// leaves them alone for a while. Replicas that others set before we ever did are
// where we start, and no reason to wait.
func (t *desired) noticeManual(s *kube.State, now time.Time, respect time.Duration) {
	if !t.replicas.Set || s.Err != nil {
		return
	}
	want := t.replicas.Value
	if t.brownout {
		want = 0
	}
	if s.Replicas == want || s.Changed.Ours {
		return
	}
	at := s.Changed.At
	if at.IsZero() || at.After(now) {
		at = now
	}
	t.manual = at.Add(respect)
	t.replicas.Value = s.Replicas // the next difference is another change
	if s.Replicas > 0 {
		t.brownout = false
	}
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
