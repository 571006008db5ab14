package advice

import (
	"bytes"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/yaml"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

func shop() *loadline.App {
	of := func(name string) loadline.Service {
		return loadline.Service{Name: name, CPU: loadline.Dist{Mean: 10 * time.Millisecond}, Workers: 8,
			Size:   loadline.Size{CPURequest: 0.5, CPULimit: 1, MemoryRequest: 256 << 20, MemoryLimit: 512 << 20},
			Bounds: loadline.Bounds{MinReplicas: 2, MaxReplicas: 9, MinCPU: 0.1, MaxCPU: 2}}
	}
	return &loadline.App{Name: "shop", Services: []loadline.Service{of("web"), of("cart")}, Kinds: []loadline.Kind{{
		Name: "view", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond},
		Root: loadline.Call{Service: 0, Probability: 1, Work: 1, Stages: [][]loadline.Call{{{Service: 1, Probability: 1, Work: 1}}}},
	}}}
}

// written are the documents of a policy, as a user would read them from the file.
func written(t *testing.T, spec string) (documents []string) {
	t.Helper()
	all, err := Manifests(spec, Target{App: shop(), Namespace: "prod"})
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	var b bytes.Buffer
	if err := Write(&b, all); err != nil {
		t.Fatal(err)
	}
	return strings.Split(b.String(), "---\n")
}

// parse reads a document strictly: fields that the type does not have are errors.
func parse[T any](t *testing.T, document string) T {
	t.Helper()
	var object T
	if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
		t.Fatalf("%v in:\n%s", err, document)
	}
	return object
}

func TestTargetsAreIntegersAndWarnAboveTheRequest(t *testing.T) {
	document := written(t, "hpa:target=132.5")[0]
	for _, want := range []string{"# The cpu target was 132.5; the field is an integer.",
		"# WARNING: with a target of 132 % the pods of web run above their cpu requests"} {
		if !strings.Contains(document, want) {
			t.Errorf("%q is not in:\n%s", want, document)
		}
	}
	if h := parse[autoscalingv2.HorizontalPodAutoscaler](t, document); *h.Spec.Metrics[0].Resource.Target.AverageUtilization != 132 {
		t.Errorf("%+v", h.Spec.Metrics)
	}
	if strings.Contains(written(t, "hpa:target=100")[0], "WARNING") {
		t.Error("a target of 100 % warns")
	}
}

func TestSetupBecomesPatches(t *testing.T) {
	documents := written(t, "hpa:target=70,limits=lifted,request=web:0.3+cart:0.12")
	if len(documents) != 4 {
		t.Fatalf("%d documents", len(documents))
	}
	d := parse[appsv1.Deployment](t, documents[1])
	c := d.Spec.Template.Spec.Containers[0]
	if d.Name != "cart" || c.Name != "cart" || c.Resources.Requests.Cpu().MilliValue() != 120 ||
		c.Resources.Limits.Cpu().MilliValue() != 2000 {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(documents[1], `# kubectl -n prod patch deployment cart -p '{"spec":{"template":`) {
		t.Errorf("no command in:\n%s", documents[1])
	}
	text := strings.Join(written(t, "sre"), "")
	for _, want := range []string{"p95 percentile of past use", "Reserve of 1 cores", "averageUtilization: 60"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

func TestALiftedLimitIsNull(t *testing.T) {
	app := shop()
	size := app.Services[0].Size
	size.CPULimit = 0
	var b bytes.Buffer
	if err := Write(&b, []Document{Target{App: app, Container: "app"}.Patch(0, size)}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "limits:\n            cpu: null\n") || strings.Contains(b.String(), "requests") {
		t.Errorf("%s", b.String())
	}
	if d := parse[appsv1.Deployment](t, b.String()); d.Spec.Template.Spec.Containers[0].Name != "app" {
		t.Errorf("%+v", d)
	}
}

func TestOtherAutoscalers(t *testing.T) {
	for spec, wants := range map[string][]string{
		"keda:web=20,cart=35.5,target=60": {"kind: ScaledObject", `threshold: "35.5"`, "maxReplicaCount: 9", "type: cpu", `value: "60"`,
			`destination_workload_namespace="prod"}[120s]))`, "stabilizationWindowSeconds: 300"},
		"keda":           {`threshold: "35"`, "70 % of what a CPU request of 500m serves"},
		"keda:share=1.5": {"WARNING: with a target of 150 % the pods of web run above their cpu requests"},
		"vpa:percentile=95": {"kind: VerticalPodAutoscaler", "updateMode: InPlaceOrRecreate", "cpu: 100m", "memory: 250Mi",
			"--target-cpu-percentile=0.95"},
		"hpa+vpa":                 {"kind: VerticalPodAutoscaler", "kind: HorizontalPodAutoscaler", "- memory\n"},
		"static:replicas=3,cpu=1": {"replicas: 3", "cpu: 1000m", "kind: Deployment"},
	} {
		text := strings.Join(written(t, spec), "")
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in:\n%s", spec, want, text)
			}
		}
	}
}

func TestALoadLineRunsWhatKubernetesCannot(t *testing.T) {
	l := parse[v1alpha1.LoadLine](t, written(t, "phpa:target=70")[0])
	if l.Spec.Policy.Baseline != "phpa:target=70" || l.Spec.Mode != v1alpha1.Recommend || len(l.Spec.Services) != 2 ||
		l.Spec.Objectives[0].Latency.Span() != 250*time.Millisecond || l.Spec.Services[0].Bounds.CPU.Max.MilliValue() != 2000 {
		t.Errorf("%+v", l.Spec)
	}
	l = parse[v1alpha1.LoadLine](t, written(t, "model:file=registry/shop/0002/model.safetensors")[0])
	if l.Spec.Policy.Model == nil || l.Spec.Policy.Model.Application != "shop" || l.Spec.Policy.Baseline != "" {
		t.Errorf("%+v", l.Spec.Policy)
	}
	if _, err := Manifests("hps", Target{App: shop()}); err == nil || !strings.Contains(err.Error(), `did you mean "hpa"`) {
		t.Error(err)
	}
}

// TestFloorsBecomeCronTriggers: an HPA has one minimum, so KEDA scales by CPU and by the clock.
func TestFloorsBecomeCronTriggers(t *testing.T) {
	const floors = "floor=Mon-Fri/08:00-20:00:web:5+22:30-24:00:3"
	for _, spec := range []string{"hpa:target=70," + floors, "keda:" + floors} {
		documents := written(t, spec)
		if len(documents) != 2 {
			t.Fatalf("%s: %d documents", spec, len(documents))
		}
		for _, want := range []string{"kind: ScaledObject", "start: 0 8 * * 1,2,3,4,5", "end: 0 20 * * 1,2,3,4,5", `desiredReplicas: "5"`,
			"start: 30 22 * * *", "end: 0 0 * * *", "timezone: Etc/UTC"} {
			if !strings.Contains(documents[0], want) {
				t.Errorf("%s: %q is not in:\n%s", spec, want, documents[0])
			}
		}
		if strings.Contains(documents[1], `desiredReplicas: "5"`) || !strings.Contains(documents[1], `desiredReplicas: "3"`) {
			t.Errorf("%s: of the other service:\n%s", spec, documents[1])
		}
	}
	if documents := written(t, "hpa:target=70,floor=Sat-Sun/23:00-02:00:web:5"); !strings.Contains(documents[0], "start: 0 23 * * 6,0") ||
		!strings.Contains(documents[0], "end: 0 2 * * 0,1") || !strings.Contains(documents[0], `value: "70"`) {
		t.Errorf("over midnight:\n%s", documents[0])
	}
}

// TestTheReserveIsPlaceholderPods of a priority below every other.
func TestTheReserveIsPlaceholderPods(t *testing.T) {
	documents := written(t, "hpa:target=70,reserve=1.2")
	if !strings.Contains(documents[0], "kind: PriorityClass") || !strings.Contains(documents[0], "value: -10") ||
		!strings.Contains(documents[0], "preemptionPolicy: Never") {
		t.Errorf("%s", documents[0])
	}
	d := parse[appsv1.Deployment](t, documents[1])
	pod := d.Spec.Template.Spec
	if *d.Spec.Replicas != 3 || pod.PriorityClassName != "shop-reserve" || pod.Containers[0].Resources.Requests.Cpu().String() != "500m" ||
		pod.Containers[0].Resources.Requests.Memory().IsZero() || d.Spec.Selector.MatchLabels["app.kubernetes.io/name"] != d.Spec.Template.Labels["app.kubernetes.io/name"] {
		t.Errorf("%+v", d.Spec)
	}
}

// TestLimitsByService become patches.
func TestLimitsByService(t *testing.T) {
	d := parse[appsv1.Deployment](t, written(t, "hpa:target=70,limits=web:1.5,request=web:0.3")[0])
	size := d.Spec.Template.Spec.Containers[0].Resources
	if size.Limits.Cpu().String() != "1500m" || size.Requests.Cpu().String() != "300m" {
		t.Errorf("%+v", size)
	}
}
