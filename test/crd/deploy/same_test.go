package deploy

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// Helm installs by default what "kubectl apply -k deploy" installs, except for the namespace,
// which Helm creates, and Helm's own labels.
func TestChartAndManifestsAreTheSame(t *testing.T) {
	chart, plain := objects(t, mustHelm(t, "")), objects(t, kustomize(t, deploy))
	delete(plain, "Namespace /"+namespace)
	compare(t, chart, plain)
}

// The same for each option and its file.
func TestOptionsAndFilesAreTheSame(t *testing.T) {
	for _, row := range []struct{ values, file string }{
		{"rollouts: true", "rbac/optional-rollouts.yaml"},
		{"recreate: true", "rbac/optional-recreate.yaml"},
		{"serviceMonitor: {enabled: true}", "optional/service-monitor.yaml"},
		{"prometheusRules: {enabled: true}", "optional/prometheus-rules.yaml"},
		{"reserve: true", "optional/reserve.yaml"},
		{"knative: true", "optional/knative.yaml"},
		{"admissionPolicy: true", "admission/pod-size.yaml"},
		{"sources: [{namespace: shop, secrets: [prometheus-token], configMaps: [monitoring-ca, shop-twin]}]",
			"rbac/namespace-secrets.yaml"},
	} {
		t.Run(row.file, func(t *testing.T) {
			more, file := objects(t, mustHelm(t, row.values)), objects(t, read(t, deploy, row.file))
			for id := range objects(t, mustHelm(t, "")) {
				delete(more, id)
			}
			for id, o := range file {
				if row.file == "rbac/namespace-secrets.yaml" { // applied with -n
					delete(file, id)
					o["metadata"].(map[string]any)["namespace"] = "shop"
					file[o.id()] = o
				}
			}
			compare(t, more, file)
		})
	}
}

// The chart's copies of our files are what make generate-chart copies.
func TestCopiesInTheChartAreUpToDate(t *testing.T) {
	sources := map[string]string{}
	for _, pattern := range []string{"crd/*.yaml", "rbac/cluster-role.yaml", "rbac/leader-election.yaml", "rbac/optional-*.yaml",
		"rbac/classes.yaml", "rbac/console.yaml", "admission/pod-size.yaml", "optional/reserve.yaml", "optional/knative.yaml", "optional/prometheus-rules.yaml", "grafana/*.json"} {
		files, err := filepath.Glob(filepath.Join(deploy, pattern))
		if err != nil || len(files) == 0 {
			t.Errorf("nothing is %s: %v", pattern, err)
		}
		for _, file := range files {
			sources[filepath.Base(file)] = file
		}
	}
	copies, err := filepath.Glob(filepath.Join(chartDir, "files", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range copies {
		source := sources[filepath.Base(c)]
		if source == "" {
			t.Errorf("%s is a copy of nothing", c)
		} else if read(t, c) != read(t, source) {
			t.Errorf("%s differs from %s: run make generate-chart", c, source)
		}
		delete(sources, filepath.Base(c))
	}
	if len(sources) > 0 {
		t.Errorf("not in the chart: %v: run make generate-chart", slices.Sorted(maps.Keys(sources)))
	}
}

func compare(t *testing.T, chart, plain map[string]object) {
	t.Helper()
	for id, p := range plain {
		c, there := chart[id]
		if !there {
			t.Errorf("the chart has no %s", id)
			continue
		}
		unmark(c)
		if !reflect.DeepEqual(c, p) {
			t.Errorf("%s: the chart gives\n%v\nand the manifests\n%v", id, c, p)
		}
	}
	for id := range chart {
		if _, there := plain[id]; !there {
			t.Errorf("only the chart has %s", id)
		}
	}
}

// unmark removes what only Helm's objects have.
func unmark(o object) {
	for _, m := range []any{o.at("metadata", "labels"), o.at("metadata", "annotations")} {
		marks, _ := m.(map[string]any)
		for _, key := range []string{"app.kubernetes.io/managed-by", "helm.sh/chart", "helm.sh/resource-policy"} {
			delete(marks, key)
		}
	}
}
