package simulate

// kubeAutoscalers exposes the HorizontalPodAutoscalers.
func (r *Exposition) kubeAutoscalers() {
	for _, a := range r.Autoscalers {
		hpa := []string{"namespace", r.namespace, "horizontalpodautoscaler", a.Name}
		r.add(r.family("kube_horizontalpodautoscaler_info", "gauge", "What an autoscaler scales."), "", 1,
			append(hpa[:4:4], "scaletargetref_api_version", "apps/v1", "scaletargetref_kind", "Deployment", "scaletargetref_name", a.Service)...)
		r.add(r.family("kube_horizontalpodautoscaler_spec_min_replicas", "gauge", "Lower bound of an autoscaler."), "",
			float64(a.MinReplicas), hpa...)
		r.add(r.family("kube_horizontalpodautoscaler_spec_max_replicas", "gauge", "Upper bound of an autoscaler."), "",
			float64(a.MaxReplicas), hpa...)
		for _, t := range a.Targets {
			r.add(r.family("kube_horizontalpodautoscaler_spec_target_metric", "gauge", "What an autoscaler keeps a metric at."), "",
				t.Value, append(hpa[:4:4], "metric_name", t.Metric, "metric_target_type", t.Type)...)
		}
	}
}
