package guard_test

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

func TestIgnoreStartupCPU(t *testing.T) {
	const settle = 30 * time.Second
	at := func(cores float64) loadline.Sample { return loadline.Sample{Value: cores, At: start} }
	pod := func(phase loadline.PodPhase, readyFor time.Duration, cores float64) loadline.PodObservation {
		return loadline.PodObservation{Phase: phase, Ready: start.Add(-readyFor), CPU: at(cores)}
	}
	old := pod(loadline.PodReady, time.Hour, 0.4)
	for name, row := range map[string]struct {
		pods  []loadline.PodObservation
		kept  int
		cores loadline.Sample // of the service, which showed 3
	}{
		"settled pods count as they are": {[]loadline.PodObservation{old, old}, 2, at(3)},
		"a starting pod is left out": {[]loadline.PodObservation{old, old, pod(loadline.PodStarting, 0, 2)}, 2,
			at(0.8)},
		"one that is new counts as busy as the settled": {[]loadline.PodObservation{old, old,
			pod(loadline.PodReady, 10*time.Second, 2)}, 2, at(1.2)},
		"one that has settled counts":               {[]loadline.PodObservation{old, pod(loadline.PodReady, settle, 0.6)}, 2, at(3)},
		"one that drains has nothing to do with it": {[]loadline.PodObservation{old, pod(loadline.PodDraining, time.Hour, 0.1)}, 2, at(3)},
		"without a settled pod nothing is known":    {[]loadline.PodObservation{pod(loadline.PodStarting, 0, 2)}, 0, loadline.Sample{}},
		"pods that are not measured change nothing": {[]loadline.PodObservation{{Phase: loadline.PodStarting},
			{Phase: loadline.PodReady}}, 0, at(3)},
	} {
		t.Run(name, func(t *testing.T) {
			o := loadline.Observation{Services: []loadline.ServiceObservation{{CPU: at(3), Pods: row.pods}}}
			guard.IgnoreStartupCPU(settle, &o)
			kept := 0
			for _, p := range o.Services[0].Pods {
				if p.CPU.Present() {
					kept++
				}
			}
			got := o.Services[0].CPU
			if kept != row.kept || got.Present() != row.cores.Present() || got.Value-row.cores.Value > 1e-9 ||
				row.cores.Value-got.Value > 1e-9 {
				t.Errorf("%d pods count and the service uses %+v, want %d and %+v", kept, got, row.kept, row.cores)
			}
		})
	}
}
