package apps

import (
	"math"
	"slices"

	"github.com/loadline/loadline"
)

// SizedFor returns a copy of an application whose services start with the replicas that a load
// needs: each uses the given share of its CPU limit (of its request without a limit), within
// its bounds. A run from the declared replicas would mainly measure how far off those were.
func SizedFor(app *loadline.App, perSecond []float64, utilisation float64) *loadline.App {
	sized := *app
	sized.Services = slices.Clone(app.Services)
	cpu := CPUSeconds(app)
	for i := range sized.Services {
		s := &sized.Services[i]
		cores := 0.0
		for kind, rate := range perSecond {
			cores += rate * cpu[kind][i]
		}
		each := s.Size.CPULimit
		if each == 0 {
			each = s.Size.CPURequest
		}
		each = utilisation*each - s.IdleCPU
		if each <= 0 {
			s.Replicas = s.Bounds.MaxReplicas
			continue
		}
		n := max(int(math.Ceil(cores/each-1e-9)), s.Bounds.MinReplicas, 1)
		s.Replicas = min(n, s.Bounds.MaxReplicas)
	}
	return &sized
}
