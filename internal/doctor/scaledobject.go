package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
)

const kedaPage = "docs/keda.md"

// scaledObject checks the ScaledObject of a service that KEDA scales.
func (e *exam) scaledObject(ctx context.Context, a about, l *v1alpha1.LoadLine, s *v1alpha1.Service, t *target) {
	if !e.hasKEDA {
		return // reported for the cluster
	}
	all := e.aimedAt(ctx, a, l.Namespace, "scaledobjects", kube.ScaledObjects, t, "scaleTargetRef")
	if len(all) == 0 {
		a.fault("scaledobject", "apply the ScaledObject in "+kedaPage,
			"Replicas are left to KEDA, and no ScaledObject names %s: it is not scaled.", t)
		return
	}
	o := &all[0]
	trigger, others := e.ourTrigger(o)
	if trigger == nil {
		a.fault("scaledobject", "add Loadline's trigger, as "+kedaPage+" has it",
			"ScaledObject %s has no trigger of Loadline (type external, scalerAddress %s…).", o.GetName(), e.ScalerHost)
		return
	}
	before := len(e.report.Findings)
	e.trigger(a, l, s, o.GetName(), trigger)
	e.kedaBounds(a, s, o)
	e.kedaFallback(a, l, o, others)
	e.kedaTolerance(ctx, a, l, o, trigger)
	e.kedaState(a, l, o)
	for _, r := range moved(s) {
		if slices.Contains(others, string(r)) && slices.Contains(s.Axes, v1alpha1.VerticalRequests) {
			a.fault("scaledobject", "take that trigger out, or VerticalRequests out of axes",
				"ScaledObject %s has a %s trigger, and Loadline moves the requests that it is measured against.", o.GetName(), r)
		}
	}
	if len(e.report.Findings) == before {
		a.ok("scaledobject", "ScaledObject %s asks Loadline.", o.GetName())
	}
}

// ourTrigger of a ScaledObject, and the types of the others.
func (e *exam) ourTrigger(o *unstructured.Unstructured) (ours map[string]any, others []string) {
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "triggers")
	for _, item := range list {
		m, _ := item.(map[string]any)
		kind, _ := m["type"].(string)
		address, _, _ := unstructured.NestedString(m, "metadata", "scalerAddress")
		named, _, _ := unstructured.NestedString(m, "metadata", "loadline")
		if ours == nil && (kind == "external" || kind == "external-push") && (named != "" || kube.Reaches(address, e.ScalerHost)) {
			ours = m
			continue
		}
		others = append(others, kind)
	}
	return ours, others
}

// trigger must name this service, and must not set the metric's type.
func (e *exam) trigger(a about, l *v1alpha1.LoadLine, s *v1alpha1.Service, name string, trigger map[string]any) {
	text := func(field string) string {
		v, _, _ := unstructured.NestedString(trigger, "metadata", field)
		return v
	}
	if named := text("loadline"); named != "" && named != key(l) && named != l.Name {
		a.fault("scaledobject", "write loadline: "+key(l)+" into its metadata",
			"The trigger of ScaledObject %s names another LoadLine: %s.", name, named)
	}
	if named := text("service"); named != "" && named != s.Name {
		var known []string
		for i := range l.Spec.Services {
			known = append(known, l.Spec.Services[i].Name)
		}
		a.fault("scaledobject", "write service: "+s.Name+" into its metadata", "The trigger of ScaledObject %s names the service %q%s.",
			name, named, hint(named, known))
	}
	if kind, _, _ := unstructured.NestedString(trigger, "metricType"); kind != "" && kind != "AverageValue" {
		a.fault("scaledobject", "take metricType out",
			"The trigger of ScaledObject %s has metricType %s: the HPA would multiply replicas by replicas.", name, kind)
	}
}

// kedaBounds take precedence over ours, so they must not be narrower.
func (e *exam) kedaBounds(a about, s *v1alpha1.Service, o *unstructured.Unstructured) {
	least, _, _ := unstructured.NestedInt64(o.Object, "spec", "minReplicaCount")
	most, stated, _ := unstructured.NestedInt64(o.Object, "spec", "maxReplicaCount")
	if !stated {
		most = 100 // KEDA's own default
	}
	lower := int64(1)
	if s.Bounds.Replicas.Min != nil {
		lower = int64(*s.Bounds.Replicas.Min)
	}
	if upper := int64(s.Bounds.Replicas.Max); least > lower || most < upper {
		a.warn("scaledobject", fmt.Sprintf("set minReplicaCount to %d and maxReplicaCount to %d", lower, upper),
			"ScaledObject %s allows %d to %d replicas, and the LoadLine %d to %d: Loadline would plan with replicas that never come.",
			o.GetName(), least, most, lower, upper)
	}
	if least == 0 && lower > 0 {
		a.warn("scaledobject", fmt.Sprintf("set minReplicaCount to %d", lower),
			"ScaledObject %s may take the service to zero, and the LoadLine may not.", o.GetName())
	}
}

// kedaFallback must never be zero where zero is allowed: KEDA then treats an error as "nothing
// is wanted". In modes that do not act, KEDA depends on it, or on another
// trigger, entirely.
func (e *exam) kedaFallback(a about, l *v1alpha1.LoadLine, o *unstructured.Unstructured, others []string) {
	fallback, has, _ := unstructured.NestedMap(o.Object, "spec", "fallback")
	least, _, _ := unstructured.NestedInt64(o.Object, "spec", "minReplicaCount")
	replicas, _, _ := unstructured.NestedInt64(fallback, "replicas")
	behaviour, _, _ := unstructured.NestedString(fallback, "behavior")
	switch {
	case !has && len(others) == 0 && l.Spec.Mode != v1alpha1.Act:
		a.warn("scaledobject", "add a fallback as in "+kedaPage+", or another trigger",
			"Nothing scales the service: in mode %s Loadline gives KEDA no replicas, and ScaledObject %s has neither a fallback nor "+
				"another trigger.", l.Spec.Mode, o.GetName())
	case !has:
		a.note("scaledobject", "add a fallback as in "+kedaPage,
			"ScaledObject %s has no fallback: without Loadline replicas stay as they are, and nothing raises them.", o.GetName())
	case replicas == 0 && least == 0:
		a.fault("scaledobject", "set fallback.replicas to what carries your peak",
			"ScaledObject %s has fallback.replicas 0 and minReplicaCount 0: KEDA takes an error for \"nothing is wanted\", and the "+
				"service to zero.", o.GetName())
	case behaviour != "currentReplicasIfHigher":
		a.note("scaledobject", "set fallback.behavior to currentReplicasIfHigher (KEDA 2.17 or later)",
			"The fallback of ScaledObject %s may reduce a service whose metrics are unavailable.", o.GetName())
	}
}

// kedaTolerance must be 0 in the ScaledObject and in the HPA that KEDA made of it.
func (e *exam) kedaTolerance(ctx context.Context, a about, l *v1alpha1.LoadLine, o *unstructured.Unstructured, trigger map[string]any) {
	if mode, _, _ := unstructured.NestedString(trigger, "metadata", "tolerance"); mode == "overshoot" {
		return
	}
	otherwise := `or write tolerance: overshoot into the trigger's metadata (` + kedaPage + `, "The trap")`
	config := []string{"spec", "advanced", "horizontalPodAutoscalerConfig", "behavior"}
	if missing := intolerant(o, config); missing != "" {
		a.warn("scaledobject", "set tolerance: 0 in scaleUp and scaleDown, "+otherwise,
			"ScaledObject %s has no tolerance 0 in %s: from ten replicas on, one more or less is not followed.", o.GetName(), missing)
		return
	}
	list, err := e.all(ctx, l.Namespace, "horizontalpodautoscalers", hpaKind)
	if err != nil {
		return // reported under conflicts
	}
	for _, hpa := range list {
		if kube.ScaledObjectOf(&hpa) != o.GetName() {
			continue
		}
		if missing := intolerant(&hpa, []string{"spec", "behavior"}); missing != "" {
			a.warn("scaledobject", "turn on the gate HPAConfigurableTolerance or upgrade to Kubernetes 1.35, "+otherwise,
				"The tolerance of ScaledObject %s has not reached its HPA %s (%s): the cluster dropped it.", o.GetName(), hpa.GetName(),
				missing)
		}
		return
	}
}

// intolerant names the directions in which an HPA's tolerance is not 0.
func intolerant(o *unstructured.Unstructured, path []string) string {
	var missing []string
	for _, direction := range []string{"scaleUp", "scaleDown"} {
		value, has, _ := unstructured.NestedFieldNoCopy(o.Object, append(slices.Clone(path), direction, "tolerance")...)
		if text := fmt.Sprint(value); !has || text != "0" && text != "0m" {
			missing = append(missing, direction)
		}
	}
	return strings.Join(missing, " and ")
}

// kedaState is KEDA's own status of it.
func (e *exam) kedaState(a about, l *v1alpha1.LoadLine, o *unstructured.Unstructured) {
	describe := fmt.Sprintf("kubectl -n %s describe scaledobject %s", l.Namespace, o.GetName())
	if status, message := condition(o, "Ready"); status == "False" {
		a.fault("scaledobject", describe, "KEDA does not follow ScaledObject %s: %s", o.GetName(), message)
	}
	if status, message := condition(o, "Fallback"); status == "True" {
		a.warn("scaledobject", describe, "KEDA has fallen back for ScaledObject %s, because Loadline did not answer: %s", o.GetName(),
			message)
	}
	for name, value := range o.GetAnnotations() {
		if strings.HasPrefix(name, "autoscaling.keda.sh/paused") && value != "false" {
			a.note("scaledobject", fmt.Sprintf("kubectl -n %s annotate scaledobject %s %s- to resume", l.Namespace, o.GetName(),
				name), "ScaledObject %s is paused (%s).", o.GetName(), name)
		}
	}
}
