package msars

import (
	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// scale is DRPC's Algorithm 2 with replicas first: CPU and memory change only if the replicas
// do not, because the agent keeps them (within the dead zone) or they are at their bound. A
// vertical move changes the profile, and with it every service's part; a horizontal one does
// not.
func scale(of *drpc.Scaler, service int, desired loadline.Allocation, used loadline.Sample, want drpc.Action) (loadline.Setting,
	drpc.Action) {
	level := drpc.Action{drpc.AxisHorizontal: want[drpc.AxisHorizontal]}
	if setting, done := of.Scale(service, desired, used, level); done != (drpc.Action{}) {
		return setting, done
	}
	want[drpc.AxisHorizontal] = 0
	return of.Scale(service, desired, used, want)
}
