package guard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/loop"
)

func TestAxes(t *testing.T) {
	all := loadline.Setting{
		Replicas: loadline.Some(3), CPURequest: loadline.Some(2.0), CPULimit: loadline.Some(4.0),
		MemoryRequest: loadline.Some(int64(200)), MemoryLimit: loadline.Some(int64(400)), Brownout: loadline.Some(true),
	}
	s := loadline.Situation{InFlight: []loadline.Allocation{{Size: loadline.Size{CPULimit: 1, MemoryLimit: 1000}}}}
	for _, row := range []struct {
		name    string
		allowed guard.AllowedAxes
		want    loadline.Setting
		why     string
	}{
		{"everything passes", guard.AllowedAxes{Replicas: true, CPURequest: true, CPULimit: true, MemoryRequest: true,
			MemoryLimit: true,
			Brownout:    true}, all, ""},
		{"nothing passes", guard.AllowedAxes{}, loadline.Setting{},
			"replicas, CPU limit, memory limit, CPU request, memory request, brownout"},
		{"replicas only", guard.AllowedAxes{Replicas: true}, loadline.Setting{Replicas: all.Replicas}, "CPU limit"},
		{
			"a request stays under a limit that does not move", guard.AllowedAxes{CPURequest: true, MemoryRequest: true},
			loadline.Setting{CPURequest: loadline.Some(1.0), MemoryRequest: all.MemoryRequest}, "CPU request above its limit",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, why := guard.Axes{row.allowed}.Check(time.Time{}, s, 0, all)
			if got != row.want || (why == "") != (row.why == "") || !strings.Contains(why, row.why) {
				t.Errorf("got %+v because %q", got, why)
			}
		})
	}
}

func TestAxesAreFirstAndLast(t *testing.T) {
	chain := guard.Axes{{}}.Around([]loop.Guard{other{}})
	if len(chain) != 3 || chain[0].Name() != "axes" || chain[1].Name() != "other" || chain[2].Name() != "axes" {
		t.Errorf("chain: %v", chain)
	}
}

type other struct{}

func (other) Name() string { return "other" }
func (other) Check(_ time.Time, _ loadline.Situation, _ int, want loadline.Setting) (loadline.Setting, string) {
	return want, ""
}
