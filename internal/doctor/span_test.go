package doctor

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/loadline/loadline/api/v1alpha1"
)

func cpus(q string) corev1.ResourceList {
	if q == "" {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(q)}
}

func (x span) text() string {
	if !x.set {
		return "none"
	}
	return x.low.String() + " to " + x.high.String()
}

// Ranges of a container's request and limit, with bounds of 200m to 2.
func TestReach(t *testing.T) {
	requests, limits := v1alpha1.VerticalRequests, v1alpha1.VerticalLimits
	for name, row := range map[string]struct {
		axes                       []v1alpha1.Axis
		request, limit             string
		wantedRequest, wantedLimit string
	}{
		"nothing is moved":              {nil, "500m", "1", "500m to 500m", "1 to 1"},
		"both are":                      {[]v1alpha1.Axis{requests, limits}, "500m", "1", "200m to 2", "200m to 2"},
		"requests under a limit":        {[]v1alpha1.Axis{requests}, "500m", "1", "200m to 1", "1 to 1"},
		"requests under a low limit":    {[]v1alpha1.Axis{requests}, "50m", "100m", "100m to 100m", "100m to 100m"},
		"requests without a limit":      {[]v1alpha1.Axis{requests}, "500m", "", "200m to 2", "none"},
		"limits above a request":        {[]v1alpha1.Axis{limits}, "500m", "1", "500m to 500m", "500m to 2"},
		"a limit that is not there yet": {[]v1alpha1.Axis{requests, limits}, "500m", "", "200m to 2", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &v1alpha1.Service{Axes: row.axes,
				Bounds: v1alpha1.Bounds{CPU: &v1alpha1.QuantityBounds{Min: resource.MustParse("200m"), Max: resource.MustParse("2")}}}
			spec := &corev1.PodSpec{Containers: []corev1.Container{{Name: "proxy"},
				{Name: "app", Resources: corev1.ResourceRequirements{Requests: cpus(row.request), Limits: cpus(row.limit)}}}}
			request, limit := reach(spec, s, "app", corev1.ResourceCPU)
			if request.text() != row.wantedRequest || limit.text() != row.wantedLimit {
				t.Errorf("request %s, want %s; limit %s, want %s", request.text(), row.wantedRequest, limit.text(), row.wantedLimit)
			}
		})
	}
}

// The total of a pod, with a container of 100m to 1 in it.
func TestTotal(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	asks := func(q string) corev1.ResourceRequirements { return corev1.ResourceRequirements{Requests: cpus(q)} }
	own := span{low: resource.MustParse("100m"), high: resource.MustParse("1"), set: true, moved: true}
	for name, row := range map[string]struct {
		spec corev1.PodSpec
		want string
	}{
		"alone":                        {corev1.PodSpec{}, "100m to 1"},
		"beside another":               {corev1.PodSpec{Containers: []corev1.Container{{Resources: asks("50m")}}}, "150m to 1050m"},
		"beside one that asks nothing": {corev1.PodSpec{Containers: []corev1.Container{{}}}, "100m to 1"},
		"after a small init container": {corev1.PodSpec{InitContainers: []corev1.Container{{Resources: asks("50m")}}}, "100m to 1"},
		"after a large init container": {corev1.PodSpec{InitContainers: []corev1.Container{{Resources: asks("500m")}}}, "500m to 1"},
		"with a sidecar": {corev1.PodSpec{InitContainers: []corev1.Container{{RestartPolicy: &always, Resources: asks("50m")}}},
			"150m to 1050m"},
		"with a sidecar before an init container": {corev1.PodSpec{InitContainers: []corev1.Container{{RestartPolicy: &always,
			Resources: asks("50m")}, {Resources: asks("2")}}},
			"2050m to 2050m"},
		"with resources of the whole pod": {corev1.PodSpec{Resources: &corev1.ResourceRequirements{Requests: cpus("3")}}, "3 to 3"},
	} {
		t.Run(name, func(t *testing.T) {
			row.spec.Containers = append(row.spec.Containers, corev1.Container{Name: "app", Resources: asks("700m")})
			if got := total(&row.spec, "app", own, requestsOf, corev1.ResourceCPU).text(); got != row.want {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
	if own.text() != "100m to 1" {
		t.Errorf("the container's own became %s", own.text())
	}
}

// A ratio that is exactly met counts as met: in thousandths 900m is three times 300m, in
// floating point it is more.
func TestRatioIsExact(t *testing.T) {
	item := corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, MaxLimitRequestRatio: cpus("3")}
	for limit, want := range map[string]int{"900m": 0, "901m": 1} {
		if got := breaches(item, corev1.ResourceCPU, fixed(cpus("300m"), corev1.ResourceCPU), fixed(cpus(limit), corev1.ResourceCPU),
			false); len(got) != want {
			t.Errorf("%s beside 300m: %+v", limit, got)
		}
	}
}
