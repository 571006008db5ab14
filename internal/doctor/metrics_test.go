package doctor

import "testing"

// A Prometheus and a namespace can be checked before installation.
func TestMetricsBeforeTheInstallation(t *testing.T) {
	p := healthy(t)
	delete(p.resources, "loadline.dev/v1alpha1")
	p.remove("CustomResourceDefinition", crdName)
	p.remove("Deployment", "loadline")
	p.options.Prometheus, p.options.Metrics = newSeries().client(t), "shop"
	r := p.examine()
	if !(want{state: OK, check: "preset", found: "istio fits"}).in(r) ||
		!(want{state: OK, check: "freshness", found: "every 15s; the newest sample is 10s old"}).in(r) ||
		!(want{state: OK, check: "metrics", found: "8 of 9 metrics of services are there"}).in(r) {
		t.Errorf("%+v", r.Findings)
	}
	if r.Count(Fault) > 0 {
		t.Errorf("%+v", r.Findings)
	}
}
