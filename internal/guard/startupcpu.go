package guard

import (
	"time"

	"github.com/loadline/loadline"
)

// IgnoreStartupCPU removes the CPU that pods use to start from an observation. Loading
// classes and filling caches is not load; a policy that took it for load would add pods,
// which use even more of it.
//
// The CPU of a pod that is not ready, or has been ready for less than settle, becomes
// absent. The CPU of the service becomes what its measured pods would use if all of them
// were as busy as the settled ones. Without a settled pod the load is unknown, and the
// CPU of the service is absent. Complete adds the pods that are not measured.
func IgnoreStartupCPU(settle time.Duration, o *loadline.Observation) {
	for i := range o.Services {
		ignoreStartup(settle, &o.Services[i])
	}
}

func ignoreStartup(settle time.Duration, s *loadline.ServiceObservation) {
	ready, settled, dropped := 0, 0, 0
	used := 0.0
	var at time.Time
	for j := range s.Pods {
		p := &s.Pods[j]
		if p.Phase == loadline.PodReady && p.CPU.Present() {
			ready++
		}
		switch {
		case !p.CPU.Present():
		case p.Phase == loadline.PodDraining:
			// It has been serving until now: neither start-up nor the future.
		case p.Phase != loadline.PodReady || p.CPU.At.Before(p.Ready.Add(settle)):
			p.CPU = loadline.Sample{}
			dropped++
		default:
			settled++
			used += p.CPU.Value
			at = p.CPU.At
		}
	}
	switch {
	case dropped == 0 || !s.CPU.Present():
	case settled == 0:
		s.CPU = loadline.Sample{}
	default:
		s.CPU = loadline.Sample{Value: used / float64(settled) * float64(ready), At: at}
	}
}
