package scenarios

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// TestLoadStep: the load steps up and the replicas follow, so that the SLO is met; it
// steps down and they follow; the status, an Event and explain show the changes.
func TestLoadStep(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 40)
	p := s.run(t, cluster.ProductOptions{})
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, "")
	s.waitCondition(t, "Ready=True/Deciding", "Active=True/Acting", "Stale=False/Fresh")
	low := s.replicas(t, name)

	s.player.SetRate(160)
	s.waitReplicas(t, name, low+2, 12)
	s.c.WaitReady(t, s.ns, name, -1)
	began := metric(t, p, passCount)
	cluster.Eventually(t, "ten seconds with at most 1 % of requests over the SLO", func() error {
		if over := s.over(t, func() { time.Sleep(10 * time.Second) }); over > 0.01 {
			return fmt.Errorf("%.2f %% of requests are over the SLO", 100*over)
		}
		return nil
	})
	if passes := metric(t, p, passCount) - began; passes > 30 { // a minute; a busy machine makes fewer
		t.Errorf("%v passes until the SLO was met", passes)
	}
	high := s.replicas(t, name)
	if st := s.service(t, name); st.State != v1alpha1.ServiceMoved || st.Seen == nil || st.Seen.Rate == "" || st.Why == "" ||
		st.LastChangeTime == nil {
		t.Errorf("the status does not show the change: %+v", st)
	}
	if len(s.events(t, "Changed")) == 0 {
		t.Error("no Event reports a change")
	}
	if text := loadlineCommand(t, "explain", s.ns+"/shop", name, "--log", filepath.Join(p.Dir, "decisions")); !strings.Contains(text,
		name) || !strings.Contains(text, "replicas") {
		t.Errorf("explain says: %s", text)
	}

	s.player.SetRate(20)
	s.waitReplicas(t, name, 1, high-2)
}
