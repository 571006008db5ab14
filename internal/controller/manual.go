package controller

import (
	"fmt"
	"time"

	"github.com/loadline/loadline/internal/kube"
)

// noticeManual sees that somebody else has changed the replicas of a service that
// we have set, and leaves them alone for a while. What others set before we ever
// did is where we begin, and no reason to wait.
func (t *told) noticeManual(s *kube.State, now time.Time, respect time.Duration) {
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
	t.replicas.Value = s.Replicas // seen: the next difference is another change
	if s.Replicas > 0 {
		t.brownout = false
	}
}

// whyManual says who and until when.
func (t *told) whyManual(s *kube.State) string {
	by := s.Changed.Manager
	if by == "" {
		by = "somebody"
	}
	return fmt.Sprintf("%s set %d replicas, which is left alone until %s (spec.respectManualChangesFor)", by, s.Replicas, t.manual.UTC().Format("2006-01-02 15:04:05Z"))
}
