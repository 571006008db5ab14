package msars

import (
	"testing"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
)

func TestReplicasComeFirst(t *testing.T) {
	app := shop()
	of := drpc.NewScaler(app, drpc.DefaultSteps())
	for _, c := range []struct {
		name     string
		replicas int
		want     drpc.Action
		done     drpc.Action
	}{
		{"both are wanted: only replicas change", 2, drpc.Action{1, 1, 1}, drpc.Action{0, 0, 1}},
		{"replicas within the dead zone: size changes", 2, drpc.Action{1, 0, 0.4}, drpc.Action{1, 0, 0}},
		{"as many replicas as are allowed: size changes", 10, drpc.Action{1, 0, 1}, drpc.Action{1, 0, 0}},
		{"as few as are allowed: size changes", 1, drpc.Action{-1, 0, -1}, drpc.Action{-1, 0, 0}},
		{"fewer replicas, larger size: only replicas change", 3, drpc.Action{1, 0, -1}, drpc.Action{0, 0, -1}},
		{"nothing is wanted", 2, drpc.Action{0.5, -0.5, 0.5}, drpc.Action{}},
	} {
		desired := loadline.Allocation{Replicas: c.replicas, Size: app.Services[1].Size}
		setting, done := scale(of, 1, desired, seen(100<<20), c.want)
		if done != c.done {
			t.Errorf("%s: done %v, want %v", c.name, done, c.done)
		}
		if level := done[drpc.AxisHorizontal] != 0; level && (setting.CPULimit.Set || setting.MemoryLimit.Set) || !level &&
			setting.Replicas.Set {
			t.Errorf("%s: %+v", c.name, setting)
		}
	}
}
