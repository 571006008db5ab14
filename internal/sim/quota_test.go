package sim

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

// TestQuotaRefusesPodsUntilThereIsRoom: of ten pods that are wanted, a quota of 2 cores has room for
// four of 0.5 cores; a fifth comes when another service has fewer.
func TestQuotaRefusesPodsUntilThereIsRoom(t *testing.T) {
	app := oneService(1)
	app.Services = append(app.Services, app.Services[0])
	for i := range app.Services {
		app.Services[i].Size = loadline.Size{CPURequest: 0.5}
	}
	var cluster pool.Cluster
	cluster.Quota.Hard[loadline.QuotaCPURequests] = loadline.Some(2.0)
	c, _, _ := plane(t, app, Config{Cluster: cluster})
	count := func(service int) int { return len(c.Slots(service)) }
	if count(0) != 1 || count(1) != 1 {
		t.Fatalf("%d and %d pods at the start", count(0), count(1))
	}
	c.Apply(loadline.Plan{Services: []loadline.ServicePlan{{Service: 0, Setting: loadline.Setting{Replicas: loadline.Some(10)}}}}, time.Second)
	if count(0) != 3 {
		t.Errorf("%d pods within a quota for four with another service's one, want 3", count(0))
	}
	larger := loadline.Setting{CPURequest: loadline.Some(0.6)}
	c.Apply(loadline.Plan{Services: []loadline.ServicePlan{{Service: 1, Setting: larger}}}, 2*time.Second)
	c.Run(10 * time.Second)
	if got := c.Pod(c.Slots(1)[0]).Size.CPURequest; got != 0.5 {
		t.Errorf("a resize beyond the quota to %v cores", got)
	}
	none := loadline.Setting{Replicas: loadline.Some(0)}
	c.Apply(loadline.Plan{Services: []loadline.ServicePlan{{Service: 1, Setting: none}}}, 20*time.Second)
	for at := 20 * time.Second; at < 2*time.Minute; at += time.Second {
		c.Run(at)
	}
	if count(0) != 4 || count(1) != 0 {
		t.Errorf("%d and %d pods once the other service has none, want 4 and 0", count(0), count(1))
	}
}
