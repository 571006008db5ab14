package advice

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/policy"
)

// twinKey is the key of the ConfigMap of an application model.
const twinKey = "twin.yaml"

// loadLine is the resource with which Loadline itself runs a policy: a trained model from the
// registry, or a rule that Kubernetes does not have.
func (t Target) loadLine(spec, method string) ([]Document, error) {
	m, err := policy.Named(method)
	if err != nil {
		return nil, err
	}
	l := &v1alpha1.LoadLine{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "LoadLine"},
		ObjectMeta: t.metadata(t.App.Name),
	}
	d := Document{Object: l, Comments: []string{"Recommend shows decisions in the status and changes nothing; Act applies them."}}
	l.Spec.Mode = v1alpha1.Recommend
	l.Spec.Prometheus = v1alpha1.PrometheusSource{PrometheusServer: v1alpha1.PrometheusServer{URL: t.Prometheus}, Preset: t.Preset}
	if t.Prometheus == "" {
		l.Spec.Prometheus.URL = DefaultPrometheus
		d.Comments = append(d.Comments, "Check the address of Prometheus.")
	}
	l.Spec.Policy = v1alpha1.Policy{Baseline: v1alpha1.Baseline(spec)}
	if m.Kind != "" || m.ReadBy != "" || m.Name == "model" {
		folder := t.Registry
		if folder == "" {
			folder = "registry"
		}
		l.Spec.Policy = v1alpha1.Policy{Model: &v1alpha1.Model{Folder: v1alpha1.RelativePath(folder), Application: t.App.Name}}
		d.Comments = append(d.Comments, "The model is the current version in the registry: loadline promote puts it there.")
	}
	l.Spec.Fallback = v1alpha1.Baseline(t.Fallback)
	if t.Twin != "" {
		l.Spec.Twin = &v1alpha1.ConfigMapKey{Name: t.Twin, Key: twinKey}
		d.Comments = append(d.Comments, fmt.Sprintf("The twin: kubectl create configmap %s --from-file=%s=RUN/twin.yaml", t.Twin, twinKey))
	}
	for _, k := range t.App.Kinds {
		l.Spec.Objectives = append(l.Spec.Objectives, v1alpha1.Objective{
			Kind: k.Name, Percentile: v1alpha1.Decimal(k.SLO.Percentile),
			Latency: v1alpha1.Duration{Duration: k.SLO.Latency}, Service: t.App.Services[k.Root.Service].Name,
		})
	}
	for i := range t.App.Services {
		of := serviceOf(&t.App.Services[i])
		if t.Axes != nil {
			of.Axes = nil
			for _, axis := range t.Axes {
				of.Axes = append(of.Axes, v1alpha1.Axis(axis))
			}
		}
		l.Spec.Services = append(l.Spec.Services, of)
	}
	return []Document{d}, nil
}

func serviceOf(s *loadline.Service) v1alpha1.Service {
	of := v1alpha1.Service{
		Name: s.Name, TargetRef: v1alpha1.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: s.Name},
		Axes:   []v1alpha1.Axis{v1alpha1.Horizontal},
		Bounds: v1alpha1.Bounds{Replicas: v1alpha1.ReplicaBounds{Min: new(int32(s.Bounds.MinReplicas)), Max: int32(maxReplicas(s))}},
	}
	if s.Bounds.MinCPU > 0 && s.Bounds.MaxCPU > 0 {
		of.Bounds.CPU = &v1alpha1.QuantityBounds{Min: resource.MustParse(cores(s.Bounds.MinCPU)),
			Max: resource.MustParse(cores(s.Bounds.MaxCPU))}
	}
	if s.Bounds.MinMemory > 0 && s.Bounds.MaxMemory > 0 {
		of.Bounds.Memory = &v1alpha1.QuantityBounds{Min: resource.MustParse(bytesText(s.Bounds.MinMemory)),
			Max: resource.MustParse(bytesText(s.Bounds.MaxMemory))}
	}
	if of.Bounds.CPU != nil || of.Bounds.Memory != nil {
		of.Axes = slices.Concat(of.Axes, []v1alpha1.Axis{v1alpha1.VerticalRequests, v1alpha1.VerticalLimits})
	}
	return of
}
