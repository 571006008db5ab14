package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	root      = "../../.."
	deploy    = root + "/deploy"
	chartDir  = deploy + "/chart/loadline"
	namespace = "loadline-system"
)

var loadChart = sync.OnceValues(func() (*chart.Chart, error) { return loader.Load(chartDir) })

// helm renders the chart with values, as "helm install -n loadline-system" would.
func helm(values map[string]any) (manifests, notes string, err error) {
	c, err := loadChart()
	if err != nil {
		return "", "", err
	}
	release := chartutil.ReleaseOptions{Name: "loadline", Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, values, release, chartutil.DefaultCapabilities.Copy())
	if err != nil {
		return "", "", err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return "", "", err
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, "NOTES.txt"):
			notes = files[name]
		case strings.HasSuffix(name, ".yaml"):
			b.WriteString("\n---\n" + files[name])
		}
	}
	return b.String(), notes, nil
}

func mustHelm(t *testing.T, values string) string {
	t.Helper()
	text, _, err := helm(parseValues(t, values))
	if err != nil {
		t.Fatalf("with the values\n%s\n%v", values, err)
	}
	return text
}

func parseValues(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return values
}

// kustomize builds a folder, as "kubectl apply -k" does.
func kustomize(t *testing.T, dir string) string {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
