package deploy

import (
	"strings"
	"testing"
)

// switches are values that change which objects exist, or how they are connected. All
// combinations of them are rendered.
var switches = []string{
	"namespaces: [shop, orders]",
	"rollouts: true\nrecreate: true\notherTargets: [{group: example.com, resource: widgets}, {group: apps, resource: replicasets}]",
	"admissionPolicy: true\ndashboards: {enabled: true}\nprometheusRules: {enabled: true, labels: {release: prometheus}}\nserviceMonitor: {enabled: true, interval: 15s, labels: {release: prometheus}}",
	"models: {claims: [models, more.models]}\nfleet: {nats: \"tls://n0:4222,tls://n1:4222\", credentialsSecretName: nats-user, tls: " +
		"{secretName: nats-tls, mutual: true}, trustKeysSecretName: fleet-trust}\nprometheus: http://prometheus.monitoring:9090",
	"sources: [{namespace: shop, secrets: [prometheus-token]}, {namespace: orders, configMaps: [twin, model]}]",
	"replicas: 1\nimage: {digest: sha256:" + digest + "}\nimagePullSecrets: [{name: registry}]\n" +
		"podLabels: {team: sre}\npodAnnotations: {a/b: c}\nserviceAccount: {annotations: {a/b: c}}\npriorityClassName: " +
		"system-cluster-critical\n" +
		"nodeSelector: {kubernetes.io/os: linux}\ntolerations: [{key: critical, operator: Exists}]\naffinity: {nodeAffinity: {}}\n" +
		"resources: {limits: {cpu: 2}}\nlog: {format: text, level: debug}\nextraArgs: [--hpa-tolerance=0.05]",
}

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// scalers are the ways in which KEDA is served.
var scalers = []string{
	"keda: {enabled: true}",
	"keda: {enabled: false}",
	"keda: {tls: {secretName: loadline-keda}}",
	"keda: {tls: {secretName: loadline-keda, mutual: true}, namespace: scaling}\nnetworkPolicy: {metricsFrom: [{podSelector: {}}], " +
		"egress: [{ports: [{port: 443}]}]}",
	"keda: {tls: {plainText: true}}\nnetworkPolicy: {enabled: false}",
	"console: {enabled: false}\ndecisions: {claim: loadline-decisions}",
	"console: {tlsSecretName: web-tls, hosts: [loadline.example.com]}\nnetworkPolicy: {consoleFrom: [{podSelector: {}}]}",
}

// The CRD is left out here: it is large, and the same in all of them.
func TestEveryCombinationOfValues(t *testing.T) {
	for mask := range 1 << len(switches) {
		for _, scaler := range scalers {
			lines := []string{"crd: {install: false}", scaler}
			for i, s := range switches {
				if mask&(1<<i) != 0 {
					lines = append(lines, s)
				}
			}
			text := strings.Join(lines, "\n")
			checkWiring(t, objects(t, mustHelm(t, text)), parseValues(t, text))
			if t.Failed() {
				t.Fatalf("with the values\n%s", text)
			}
		}
	}
}

func TestValuesThatAreRefused(t *testing.T) {
	for _, row := range []struct{ name, values, message string }{
		{"a slip in a name", "replica: 3", "'replica' not allowed"},
		{"a slip below", "keda: {tsl: {}}", "'tsl' not allowed"},
		{"too many replicas", "replicas: 100", "maximum: got 100"},
		{"an unknown level", "log: {level: trace}", "log/level"},
		{"not a digest", "image: {digest: latest}", "image/digest"},
		{"a namespace that cannot be one", "namespaces: [Shop]", "namespaces/0"},
		{"the same namespace twice", "namespaces: [shop, shop]", "namespaces"},
		{"sources of nothing", "sources: [{namespace: shop}]", "sources/0"},
		{"a path for a claim", "models: {claims: [../etc]}", "models/claims/0"},
		{"TLS and plain text", "keda: {tls: {mutual: true, plainText: true}}", "keda.tls.mutual and keda.tls.plainText exclude each other"},
		{"TLS without a certificate", "keda: {tls: {secretName: ''}}", "keda/tls/secretName"},
		{"keys without servers", "fleet: {trustKeysSecretName: x}", "need fleet.nats"},
		{"a log smaller than a segment", "decisions: {max: 1}", "decisions/max"},
		{"credentials in an address", "prometheus: http://me:secret@prometheus", "prometheus"},
		{"our own label overridden", "podLabels: {app.kubernetes.io/name: other}", "invalid propertyName 'app.kubernetes.io/name'"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, _, err := helm(parseValues(t, row.values))
			if err == nil || !strings.Contains(err.Error(), row.message) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNotesTellTheNextStep(t *testing.T) {
	for values, wants := range map[string][]string{
		"": {"kubectl -n loadline-system rollout status deployment/loadline", "namespace: default}",
			"create the Secret loadline-keda-tls"},
		"keda: {tls: {plainText: true}}": {"without TLS"},
		"namespaces: [shop]":             {"for the namespaces shop", "namespace: shop}"},
	} {
		_, notes, err := helm(parseValues(t, values))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range append(wants, "kubectl get ll -A -w", "docs/firsthour.md") {
			if !strings.Contains(notes, want) {
				t.Errorf("%q is not in\n%s", want, notes)
			}
		}
	}
}
