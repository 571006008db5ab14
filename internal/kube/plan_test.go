package kube

import (
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/loadline/loadline"
)

const mi = int64(1 << 20)

func TestPlan(t *testing.T) {
	burstable := resources("200m", "1", "100Mi", "200Mi")
	guaranteed := resources("500m", "500m", "100Mi", "100Mi")
	cores, bytes := loadline.Some[float64], loadline.Some[int64]
	for _, row := range []struct {
		name     string
		is       corev1.ResourceRequirements
		to       loadline.Setting
		patch    string // of resources
		refusal  string
		recreate bool
	}{
		{"only the axes that are set", burstable, loadline.Setting{CPURequest: cores(0.3)}, `{"requests":{"cpu":"300m"}}`, "", false},
		{"all axes", burstable, loadline.Setting{CPURequest: cores(0.3), CPULimit: cores(2), MemoryRequest: bytes(128 * mi),
			MemoryLimit: bytes(256 * mi)}, `{"limits":{"cpu":"2","memory":"256Mi"},"requests":{"cpu":"300m","memory":"128Mi"}}`, "",
			false},
		{"what it has already is not resized again", burstable, loadline.Setting{CPURequest: cores(0.2), CPULimit: cores(2)},
			`{"limits":{"cpu":"2"}}`, "", false},
		{"nothing new", burstable, loadline.Setting{CPURequest: cores(0.2), MemoryLimit: bytes(200 * mi), Replicas: loadline.Some(9)},
			"", "", false},
		{"rounded up to whole milli-cores", burstable, loadline.Setting{CPURequest: cores(1.0 / 3)}, `{"requests":{"cpu":"334m"}}`, "",
			false},
		{"but not by what is lost in floating point", burstable, loadline.Setting{CPURequest: cores(0.1 + 0.2)},
			`{"requests":{"cpu":"300m"}}`, "", false},
		{"request above a limit that stays", burstable, loadline.Setting{CPURequest: cores(2)}, "",
			"its cpu request of 2 would be above its limit of 1", false},
		{"limit below a request that stays", burstable, loadline.Setting{MemoryLimit: bytes(50 * mi)}, "",
			"its memory request of 100Mi would be above its limit of 50Mi", false},
		{"a limit that is to go", burstable, loadline.Setting{CPULimit: cores(0)}, "", "cannot be removed", false},
		{"no limit where there is none", resources("200m", "", "", ""), loadline.Setting{CPULimit: cores(0), CPURequest: cores(0.3)},
			`{"requests":{"cpu":"300m"}}`, "", false},
		{"best effort", corev1.ResourceRequirements{}, loadline.Setting{CPURequest: cores(0.3)}, "", "best-effort", true},
		{"guaranteed, request alone", guaranteed, loadline.Setting{CPURequest: cores(0.3)}, "", "from Guaranteed to Burstable", true},
		{"guaranteed, both alike", guaranteed, loadline.Setting{CPURequest: cores(1), CPULimit: cores(1)},
			`{"limits":{"cpu":"1"},"requests":{"cpu":"1"}}`, "", false},
		{"burstable that would become guaranteed", burstable, loadline.Setting{CPURequest: cores(1), MemoryRequest: bytes(200 * mi)},
			"", "from Burstable to Guaranteed", true},
		{"a limit makes the request of who has none", resources("500m", "", "", ""),
			loadline.Setting{CPULimit: cores(0.5), MemoryLimit: bytes(mi)}, "", "from Burstable to Guaranteed", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			pod := readyPod("web", "a", withSize(row.is, ""))
			q, err := quantitiesOf(row.to)
			if err != nil {
				t.Fatal(err)
			}
			got := planFor(pod, "app", q, false)
			want := ""
			if row.patch != "" {
				want = `{"metadata":{"uid":"pod-a"},"spec":{"containers":[{"name":"app","resources":` + row.patch + `}]}}`
			}
			if string(got.patch) != want || !strings.Contains(got.refusal, row.refusal) || (got.refusal == "") != (row.refusal == "") ||
				got.recreate != row.recreate {
				t.Errorf("got %s, %q, recreate %v", got.patch, got.refusal, got.recreate)
			}
		})
	}
}

func TestInvalidSizes(t *testing.T) {
	_, err := quantitiesOf(loadline.Setting{CPURequest: loadline.Some(math.NaN()), CPULimit: loadline.Some(-1.0),
		MemoryLimit: loadline.Some(int64(-1))})
	for _, part := range []string{"CPU request of NaN", "CPU limit of -1", "memory limit of -1"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %v", part, err)
		}
	}
}

func TestRestartPolicy(t *testing.T) {
	pod := readyPod("web", "a", func(p *corev1.Pod) {
		p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{
			{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired}, {ResourceName: corev1.ResourceMemory,
				RestartPolicy: corev1.RestartContainer},
		}
	})
	for name, row := range map[string]struct {
		to   loadline.Setting
		want bool
	}{
		"CPU":    {loadline.Setting{CPURequest: loadline.Some(0.3)}, false},
		"memory": {loadline.Setting{CPURequest: loadline.Some(0.3), MemoryLimit: loadline.Some(256 * mi)}, true},
	} {
		q, err := quantitiesOf(row.to)
		if got := planFor(pod, "app", q, false); err != nil || got.restarts != row.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestQoSOfSeveralContainers(t *testing.T) {
	full, half := resources("1", "1", "1Gi", "1Gi"), resources("500m", "1", "1Gi", "1Gi")
	for _, row := range []struct {
		name       string
		containers []corev1.ResourceRequirements
		init       []corev1.ResourceRequirements
		pod        *corev1.ResourceRequirements
		want       corev1.PodQOSClass
	}{
		{"all guaranteed", []corev1.ResourceRequirements{full, full}, []corev1.ResourceRequirements{full}, nil, corev1.PodQOSGuaranteed},
		{"one is not", []corev1.ResourceRequirements{full, half}, nil, nil, corev1.PodQOSBurstable},
		{"one has nothing", []corev1.ResourceRequirements{full, {}}, nil, nil, corev1.PodQOSBurstable},
		{"an init container has nothing", []corev1.ResourceRequirements{full}, []corev1.ResourceRequirements{{}}, nil,
			corev1.PodQOSBurstable},
		{"limits alone, as a template may have them", []corev1.ResourceRequirements{{Limits: full.Limits}}, nil, nil,
			corev1.PodQOSGuaranteed},
		{"a request of nothing", []corev1.ResourceRequirements{{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.Quantity{}},
			Limits: full.Limits}}, nil, nil, corev1.PodQOSBurstable},
		{"no requests and no limits", []corev1.ResourceRequirements{{}, {}}, nil, nil, corev1.PodQOSBestEffort},
		{"the whole pod's count alone", []corev1.ResourceRequirements{half}, nil, &full, corev1.PodQOSGuaranteed},
	} {
		t.Run(row.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Resources: row.pod}}
			for _, r := range row.containers {
				pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: r, Name: "x"})
			}
			for _, r := range row.init {
				pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Resources: r})
			}
			if got := QoSClass(pod); got != row.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestPlanThatOnlyRaises(t *testing.T) {
	burstable := resources("200m", "1", "100Mi", "200Mi")
	cores, bytes := loadline.Some[float64], loadline.Some[int64]
	for _, row := range []struct {
		name  string
		is    corev1.ResourceRequirements
		to    loadline.Setting
		patch string // of resources
	}{
		{"nothing is made smaller", burstable, loadline.Setting{CPURequest: cores(0.1), CPULimit: cores(0.2), MemoryLimit: bytes(150 * mi)},
			""},
		{"the axes that raise are sent", burstable, loadline.Setting{CPURequest: cores(0.3), CPULimit: cores(0.5),
			MemoryRequest: bytes(90 * mi), MemoryLimit: bytes(300 * mi)}, `{"limits":{"memory":"300Mi"},"requests":{"cpu":"300m"}}`},
		{"a first limit would make it smaller", resources("200m", "", "100Mi", ""), loadline.Setting{CPULimit: cores(2)}, ""},
		{"a request below the limit that stands for it", resources("", "1", "", ""), loadline.Setting{CPURequest: cores(0.5)}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			pod := readyPod("web", "a", withSize(row.is, ""))
			q, err := quantitiesOf(row.to)
			if err != nil {
				t.Fatal(err)
			}
			got := planFor(pod, "app", q, true)
			if got.refusal != "" || row.patch == "" && got.patch != nil || !strings.Contains(string(got.patch), row.patch) {
				t.Errorf("patch %s, refusal %q, want %q", got.patch, got.refusal, row.patch)
			}
		})
	}
}
