package resource

import (
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
)

// allowedAxes of a service. Without any, replicas are scaled: the default of the schema, for
// resources that no API server has defaulted.
func allowedAxes(s *v1alpha1.Service) guard.AllowedAxes {
	names := []string{guard.Horizontal}
	if len(s.Axes) > 0 {
		names = nil
		for _, a := range s.Axes {
			names = append(names, string(a))
		}
	}
	return guard.Allow(names, s.Bounds.CPU != nil, s.Bounds.Memory != nil, s.Optional != nil)
}
