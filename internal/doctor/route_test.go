package doctor

import (
	"reflect"
	"testing"
	"time"
)

// Two LoadLines with the same Prometheus share a connection, and one that does not answer is
// queried once.
func TestConnectionsAreShared(t *testing.T) {
	p := healthy(t)
	other := p.find("LoadLine", "main").DeepCopy()
	other.SetName("other")
	p.objects = append(p.objects, other)
	p.series.down = true
	n := 0
	for _, f := range p.examine().Findings {
		if f.Check == "prometheus" {
			n++
		}
	}
	if n != 2 || len(p.asked) != 1 {
		t.Errorf("%d findings of two LoadLines, by %d connections", n, len(p.asked))
	}
}

// How a Prometheus is reached depends on its location and on ours.
func TestAddress(t *testing.T) {
	for name, row := range map[string]struct {
		spoil func(*patient)
		want  Address
	}{
		"through the API server": {func(*patient) {},
			Address{URL: "http://prometheus.monitoring:9090", Proxy: "/api/v1/namespaces/monitoring/services/prometheus:9090/proxy",
				Timeout: 10 * time.Second}},
		"from within the cluster": {func(p *patient) { p.options.InCluster = true },
			Address{URL: "http://prometheus.monitoring:9090", Timeout: 10 * time.Second}},
		"outside the cluster, with a tenant": {func(p *patient) {
			p.change("LoadLine", "main", map[string]any{
				"url": "https://mimir.example.com", "timeout": "20s", "headers": []any{map[string]any{"name": "X-Scope-OrgID",
					"value": "shop"}},
				"tls": map[string]any{"insecureSkipVerify": true, "serverName": "mimir"},
			}, "spec", "prometheus")
		}, Address{URL: "https://mimir.example.com", Timeout: 20 * time.Second, Headers: map[string]string{"X-Scope-OrgID": "shop"},
			ServerName: "mimir", Insecure: true}},
		"a host that could be a Service and is none": {func(p *patient) {
			p.change("LoadLine", "main", "https://prometheus.example", "spec", "prometheus", "url")
		}, Address{URL: "https://prometheus.example", Timeout: 10 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			p := healthy(t)
			row.spoil(p)
			p.examine()
			if row.want.Headers == nil {
				row.want.Headers = map[string]string{}
			}
			if !reflect.DeepEqual(p.asked, []Address{row.want}) {
				t.Errorf("%+v, want %+v", p.asked, row.want)
			}
		})
	}
}

func TestServiceOf(t *testing.T) {
	for address, want := range map[string]string{
		"http://prometheus.monitoring:9090":                       "/api/v1/namespaces/monitoring/services/prometheus:9090/proxy",
		"http://prometheus:9090/":                                 "/api/v1/namespaces/loadline-system/services/prometheus:9090/proxy",
		"https://mimir.monitoring.svc/prometheus":                 "/api/v1/namespaces/monitoring/services/https:mimir:443/proxy/prometheus",
		"http://thanos-query.obs.svc.cluster.local./thanos/":      "/api/v1/namespaces/obs/services/thanos-query:80/proxy/thanos",
		"http://10.0.0.1:9090":                                    "",
		"http://localhost:9090":                                   "",
		"https://prometheus.example.com":                          "",
		"https://aps-workspaces.eu-west-1.amazonaws.com/x/prom":   "",
		"http://[::1]:9090":                                       "",
		"http://prometheus.monitoring.svc.cluster.local:9090/a/b": "/api/v1/namespaces/monitoring/services/prometheus:9090/proxy/a/b",
	} {
		s, inside := serviceOf(address, "loadline-system")
		got := ""
		if inside {
			got = s.proxy()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
