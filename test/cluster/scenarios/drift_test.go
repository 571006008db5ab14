package scenarios

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/test/cluster"
)

// TestDrift: a release doubles the CPU of a request under the planner. The SLO is met again, and the
// condition Drift, an Event and a metric name the service.
func TestDrift(t *testing.T) {
	t.Parallel()
	const released = 3 * time.Minute // of the player's time: by then the application was compared as its twin
	s := setUp(t, single(t), 60, sim.Disturbance{At: released, Version: &sim.VersionChange{Service: 0, CPUFactor: 2}})
	p := s.run(t, cluster.ProductOptions{})
	name := s.app.Services[0].Name
	twin, err := os.ReadFile("../../../internal/apps/single.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.c.ApplyYAML(t, s.ns, mayRead)
	s.twin(t, string(twin))
	s.loadLine(t, v1alpha1.Act, "  policy: {baseline: \"planner:period=2s,down-window=10s\"}\n"+
		"  twin: {name: twin, key: twin.yaml}\n  drift: {window: 40s}\n")
	s.waitCondition(t, "Ready=True/Deciding", "Fallback=False/Following", "Drift=False/AsJudged")
	before := s.replicas(t, name)

	time.Sleep(time.Until(s.player.Began().Add(released)))
	s.waitCondition(t, "Drift=True/DriftCPU")
	c := meta.FindStatusCondition(s.get(t).Status.Conditions, v1alpha1.ConditionDrift)
	if !strings.Contains(c.Message, "the CPU of a visit to "+name+" is 2 times the twin's") &&
		!strings.Contains(c.Message, "the CPU of a visit to "+name+" is 1.9 times the twin's") {
		t.Errorf("the condition says: %s", c.Message)
	}
	if len(s.events(t, v1alpha1.ReasonDriftCPU)) == 0 {
		t.Error("no Event reports the drift")
	}
	if on := metric(t, p, "loadline_drift"); on != 1 {
		t.Errorf("loadline_drift is %v", on)
	}
	cluster.Eventually(t, "ten seconds with at most 1 % of requests over the SLO", func() error {
		if over := s.over(t, func() { time.Sleep(10 * time.Second) }); over > 0.01 {
			return fmt.Errorf("%.2f %% of requests are over the SLO", 100*over)
		}
		return nil
	})
	if after := s.replicas(t, name); after <= before {
		t.Errorf("%d replicas before the release and %d after", before, after)
	}
}
