package resource

import (
	"cmp"
	"slices"

	"github.com/loadline/loadline/api/v1alpha1"
)

// Workload is a Deployment or StatefulSet that a selector may find.
type Workload struct {
	APIVersion, Kind, Name string
	Labels, Annotations    map[string]string
}

// service is the name under which metrics know the workload.
func (w *Workload) service() string {
	return cmp.Or(w.Annotations[v1alpha1.ServiceAnnotation], w.Name)
}

// Complete is a LoadLine with the services that its selector finds among the workloads of its
// namespace, after those that it names, by name. Without a selector it is the LoadLine itself. A
// workload that a service names is not found again.
func Complete(l *v1alpha1.LoadLine, workloads []Workload) *v1alpha1.LoadLine {
	selector, template := l.Spec.Selector, l.Spec.Template
	if selector == nil || template == nil {
		return l
	}
	full := *l
	full.Spec.Services = slices.DeleteFunc(slices.Clone(l.Spec.Services), func(s v1alpha1.Service) bool { return s.Selected })
	named := map[[3]string]bool{}
	for i := range full.Spec.Services {
		r := full.Spec.Services[i].TargetRef
		named[[3]string{cmp.Or(r.APIVersion, "apps/v1"), cmp.Or(r.Kind, "Deployment"), r.Name}] = true
	}
	found := slices.Clone(workloads)
	slices.SortFunc(found, func(a, b Workload) int {
		return cmp.Or(cmp.Compare(a.service(), b.service()), cmp.Compare(a.Kind, b.Kind))
	})
	for i := range found {
		w := &found[i]
		if named[[3]string{w.APIVersion, w.Kind, w.Name}] || !Matches(selector, w) {
			continue
		}
		full.Spec.Services = append(full.Spec.Services, v1alpha1.Service{
			Name: w.service(), TargetRef: v1alpha1.TargetRef{APIVersion: w.APIVersion, Kind: w.Kind, Name: w.Name}, Selected: true,
			Bounds: *template.Bounds.DeepCopy(), Axes: slices.Clone(template.Axes), Resize: template.Resize, MovedBy: v1alpha1.ByScale,
			Floor: template.Floor.DeepCopy(),
		})
	}
	return &full
}

// Matches reports whether a selector finds a workload.
func Matches(s *v1alpha1.Selector, w *Workload) bool {
	if slices.Contains(s.Except, v1alpha1.WorkloadName(w.Name)) || len(s.MatchLabels) == 0 {
		return false
	}
	for key, value := range s.MatchLabels {
		if has, found := w.Labels[key]; !found || has != string(value) {
			return false
		}
	}
	return true
}
