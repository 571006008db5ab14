package scenarios

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// TestLoadStep: load steps up and the replicas follow, so that the SLO is kept; it
// steps down and they follow; everything is told.
func TestLoadStep(t *testing.T) {
	s := setUp(t, single(t), 40)
	p := s.c.Run(t, cluster.ProductOptions{})
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, "")
	s.waitCondition(t, "Ready=True/Deciding", "Active=True/Acting", "Stale=False/Fresh")
	low := s.replicas(t, name)

	s.player.SetRate(160)
	s.waitReplicas(t, name, low+2, 12)
	s.c.WaitReady(t, s.ns, name, -1)
	time.Sleep(20 * time.Second) // what the step broke is over, and replicas have settled
	if over := s.over(t, func() { time.Sleep(15 * time.Second) }); over > 0.01 {
		t.Errorf("%.2f %% of requests over the SLO after the step, want at most 1 %%", 100*over)
	}
	high := s.replicas(t, name)
	if st := s.service(t, name); st.State != v1alpha1.ServiceMoved || st.Seen == nil || st.Seen.Rate == "" || st.Why == "" || st.LastChangeTime == nil {
		t.Errorf("the status does not tell of it: %+v", st)
	}
	if len(s.events(t, "Changed")) == 0 {
		t.Error("no Event tells of a change")
	}
	if text := loadlineCommand(t, "explain", s.ns+"/shop", name, "--log", filepath.Join(p.Dir, "decisions")); !strings.Contains(text, name) || !strings.Contains(text, "replicas") {
		t.Errorf("explain says: %s", text)
	}

	s.player.SetRate(20)
	s.waitReplicas(t, name, 1, high-2)
}
