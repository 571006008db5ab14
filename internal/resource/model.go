package resource

import (
	"fmt"
	"path/filepath"

	"github.com/loadline/loadline/api/v1alpha1"
)

// Registry is the location of a model.
type Registry struct {
	Dir         string
	Application string
	Version     int // 0 = the current one
}

// RegistryOf returns the registry of a resource's model, below the controller's
// folder of models; false if it has none or it is in a ConfigMap.
func RegistryOf(l *v1alpha1.LoadLine, models string) (Registry, bool, error) {
	m := l.Spec.Policy.Model
	if m == nil || m.ConfigMap != nil {
		return Registry{}, false, nil
	}
	r := Registry{Application: m.Application}
	if r.Application == "" {
		r.Application = l.Name
	}
	if m.Version != nil {
		r.Version = int(*m.Version)
	}
	below, field := string(m.Folder), "spec.policy.model.folder"
	if m.Claim != nil {
		below, field = filepath.Join(m.Claim.Name, string(m.Claim.Path)), "spec.policy.model.claim"
		if !filepath.IsLocal(m.Claim.Name) {
			return Registry{}, false, fmt.Errorf("%s.name %q must be the name of a PersistentVolumeClaim", field, m.Claim.Name)
		}
	}
	// Write access to a LoadLine must not give read access to any file of the
	// controller.
	if !filepath.IsLocal(below) {
		return Registry{}, false, fmt.Errorf("%s %q must be a path below the controller's folder of models", field, below)
	}
	if !filepath.IsLocal(r.Application) {
		return Registry{}, false, fmt.Errorf("spec.policy.model.application %q must be a name in the registry", r.Application)
	}
	r.Dir = filepath.Join(models, below)
	return r, true, nil
}
