package advice

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	_ "time/tzdata" // zones do not depend on the machine

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
)

var update = flag.Bool("update", false, "rewrite the expected results in testdata/today")

// readToday reads a text as a file of objects.
func readToday(name, text, namespace string) (Today, error) {
	objects, err := ReadObjects(name, strings.NewReader(text))
	if err != nil {
		return Today{}, err
	}
	return ReadToday(shop(), objects, namespace)
}

// TestWhatIsWrittenIsReadBack: the objects that a policy becomes are the same deployment again.
func TestWhatIsWrittenIsReadBack(t *testing.T) {
	for _, spec := range []string{
		"hpa:target=60", "hpa:target=60,cart=75", "hpa:target=60,memory-target=80", "hpa:target=60,cart=off",
		"hpa:target=130,up-window=30s,down-window=120s",
		"hpa:target=60,up-policies=20/15s+400%/60s,up-select=disabled,down-policies=1/60s,down-select=min",
		"hpa:target=60,up-tolerance=0.05,down-tolerance=0.2", "hpa:target=off,concurrency-target=3,rps-target=20",
		"hpa:target=off,queue-target=250",
		"keda:web=20,cart=35.5", "keda:web=20,cart=35.5,target=60,window=5m0s,cached=on,activation=2,polling=10s,cooldown=60s,down-window=60s",
		"vpa", "vpa:cpu=off", "vpa:memory=off,update=in-place",
		"hpa+vpa:target=60", "hpa+vpa:target=off,rps-target=20,cpu=on,down-window=60s",
		"by-service:web=hpa(target=60;down-window=60s),cart=keda(threshold=20)",
		"by-service:web=keda(threshold=20)|vpa(cpu=off),cart=hpa+vpa(target=70)",
	} {
		text := strings.Join(written(t, spec), "---\n")
		today, err := readToday("shop.yaml", text, "prod")
		if err != nil || today.Spec != spec {
			t.Errorf("%s became %q: %v", spec, today.Spec, err)
			continue
		}
		if len(today.LeftOut) > 0 || len(today.Aside) > 0 {
			t.Errorf("%s: left out %q, aside %q", spec, today.LeftOut, today.Aside)
		}
		want := shop().Services[0].Bounds
		if strings.Contains(spec, "vpa") { // what the recommender recommends at least is among the bounds
			want.MinMemory = 250 << 20
		}
		if got := today.Bounds[0]; got.MinReplicas != 2 || got.MaxReplicas != 9 || got.MaxCPU != want.MaxCPU || got.MinMemory != want.MinMemory {
			t.Errorf("%s: bounds %+v, want %+v", spec, got, want)
		}
	}
}

// TestObjectsBecomeADeployment reads every file of testdata/today. What is expected is in the file
// of the same name that ends in .txt.
func TestObjectsBecomeADeployment(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "today", "*.yaml"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		today, err := readToday(filepath.Base(file), string(text), "shop")
		got := describe(today, err)
		expected := strings.TrimSuffix(file, ".yaml") + ".txt"
		if *update {
			if err := os.WriteFile(expected, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(expected)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%swant\n%s", file, got, want)
		}
	}
}

func describe(today Today, err error) string {
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "policy: %s\n", today.Spec)
	for i, of := range shop().Services {
		if got := today.Bounds[i]; got != of.Bounds {
			fmt.Fprintf(&b, "bounds of %s: %d to %d replicas, %g to %g cores, %d to %d MiB\n", of.Name, got.MinReplicas, got.MaxReplicas,
				got.MinCPU, got.MaxCPU, got.MinMemory>>20, got.MaxMemory>>20)
		}
	}
	for _, part := range []struct {
		name string
		all  []string
	}{{"left out", today.LeftOut}, {"note", today.Notes}, {"aside", today.Aside}} {
		for _, text := range part.all {
			fmt.Fprintf(&b, "%s: %s\n", part.name, text)
		}
	}
	return b.String()
}

func TestFaultsOfFilesNameWhere(t *testing.T) {
	hpa := func(fields string) string {
		return "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web, namespace: shop}\nspec:\n  scaleTargetRef: " +
			"{kind: Deployment, name: web}\n  maxReplicas: 9\n" + fields
	}
	keda := func(trigger string) string {
		return "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\nspec:\n  scaleTargetRef: {name: web}\n" +
			"  triggers:\n  - " + trigger + "\n"
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "f.yaml has no object in it: write it with kubectl get hpa,vpa,scaledobject,deploy -o yaml"},
		{"no YAML", hpa("") + "---\na: b: c\n", "f.yaml, document 2 is no YAML"},
		{"no object", hpa("") + "---\na: 1\n", "f.yaml, document 2 has no kind or no apiVersion"},
		{"a list with a fault", "apiVersion: v1\nkind: List\nitems:\n- {kind: Service}\n",
			"f.yaml, document 1, item 1 has no kind or no apiVersion"},
		{"a text for a number", hpa("  minReplicas: two\n"),
			"f.yaml, document 1, HorizontalPodAutoscaler shop/web: field spec.minReplicas is a string, must be a int32"},
		{"an old version", strings.Replace(hpa(""), "/v2", "/v2beta1", 1), `apiVersion is "autoscaling/v2beta1", must be autoscaling/v2`},
		{"no target", strings.Replace(hpa(""), ", name: web}\n  max", "}\n  max", 1), "spec.scaleTargetRef.name is missing"},
		{"bounds that exclude each other", hpa("  minReplicas: 12\n"), "at least 12 replicas and at most 9"},
		{"two autoscalers", hpa("") + "---\n" + strings.Replace(hpa(""), "{name: web, ", "{name: other, ", 1),
			"f.yaml, document 2, HorizontalPodAutoscaler shop/other: HorizontalPodAutoscaler shop/web scales the same service web"},
		{"a metric without a target", hpa("  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization}}}]\n"),
			"spec.metrics[0]: the target of metric cpu is 0, must be above 0"},
		{"only a metric of others",
			hpa("  metrics: [{type: External, external: {metric: {name: queue}, target: {type: Value, value: 30}}}]\n"),
			"no policy here scales by its metrics (External queue)"},
		{"a number for a text", keda("{type: prometheus, metadata: {threshold: 20}}"),
			"field spec.triggers.metadata is a number, must be a string"},
		{"a threshold that is none", keda(`{type: prometheus, metadata: {threshold: many, query: "rate(x[2m])"}}`),
			`spec.triggers[0].metadata.threshold is "many", must be a number of at least 0.001`},
		{"a target that is none", keda(`{type: cpu, metadata: {value: "60%"}}`),
			`spec.triggers[0].metadata.value is "60%", must be a percentage or an amount above 0, such as 60 or 300m`},
		{"only a queue", keda(`{type: kafka, metadata: {topic: orders}}`), "no policy here scales by its triggers alone (kafka)"},
		{"none of the services", strings.ReplaceAll(hpa(""), "web", "blog"), "none of 1 objects scales a service of shop (web, cart)"},
		{"both on CPU", hpa("") + "---\napiVersion: autoscaling.k8s.io/v1\nkind: VerticalPodAutoscaler\nmetadata: {name: v}\nspec: " +
			"{targetRef: {name: web}}\n",
			"VerticalPodAutoscaler v: it sizes cpu, by the share of which HorizontalPodAutoscaler shop/web scales: each undoes"},
	} {
		if _, err := readToday("f.yaml", c.text, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
}

// TestEveryPolicyOfObjectsRuns: the application of the test has what the notation names.
func TestEveryPolicyOfObjectsRuns(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "today", "mixed.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	today, err := readToday("mixed.yaml", string(text), "shop")
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(today.Spec, shop())
	if err != nil {
		t.Fatal(err)
	}
	if p.Needs() == (loadline.Needs{}) || p.Name() != "by-service" {
		t.Errorf("%s: %+v", p.Name(), p.Needs())
	}
}
