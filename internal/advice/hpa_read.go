package advice

import (
	"fmt"
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// kept is what an autoscaler of replicas keeps near its targets; 0 = it does not look at it.
type kept struct {
	cpu, memory       float64 // % of the request
	rate, concurrency float64 // for each pod
	queue             float64 // messages for each pod
	trigger           float64 // requests per second for each replica, by a query of KEDA
}

// rule is the method and its settings.
func (k kept) rule() (method string, settings []string) {
	method = "hpa"
	if k.trigger > 0 {
		method = "keda"
	}
	for _, s := range []struct {
		key   string
		value float64
	}{
		{"threshold", k.trigger}, {"target", k.cpu}, {"memory-target", k.memory}, {"concurrency-target", k.concurrency}, {"rps-target", k.rate},
		{"queue-target", k.queue},
	} {
		switch {
		case s.value > 0:
			settings = append(settings, s.key+"="+decimal(s.value))
		case s.key == "target" && method == "hpa":
			settings = append(settings, "target=off")
		}
	}
	return method, settings
}

func (k kept) nothing() bool { return k == kept{} }

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func joinSettings(all []string) string { return strings.Join(all, ",") }

// cpuUtilization is the metric that an HPA of version v1 has.
func cpuUtilization(target int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &target},
	}}
}

// hpaMetrics reads the metrics of an HPA. What no policy here does is left out, unless nothing is
// left then.
func (r *reading) hpaMetrics(o *Object, all []autoscalingv2.MetricSpec, s *loadline.Service) (kept, error) {
	var k kept
	owner := metav1.GetControllerOfNoCopy(o)
	keda := owner != nil && owner.Kind == "ScaledObject"
	for i, m := range all {
		t := targetOf(m)
		if !(t.Value > 0) {
			return k, o.faultf("spec.metrics[%d]: the target of metric %s is %g, must be above 0", i, t.Metric, t.Value)
		}
		switch {
		case r.resourceMetric(o, t, m.Resource != nil || m.ContainerResource != nil, s, &k):
		case m.Pods != nil && t.Metric == rateMetric && t.Type == history.AverageValue:
			k.rate = t.Value
			r.note(o, "keeps %s at %g, which is taken as requests per second for each pod", t.Metric, t.Value)
		case m.Pods != nil && t.Metric == inFlightMetric && t.Type == history.AverageValue:
			k.concurrency = t.Value
			r.note(o, "keeps %s at %g, which is taken as requests in each pod", t.Metric, t.Value)
		case m.External != nil && !keda && t.Metric == queueMetric && t.Type == history.AverageValue:
			k.queue = t.Value
			r.note(o, "keeps %s at %g, which is taken as messages in the queue for each pod", t.Metric, t.Value)
		case m.External != nil && keda && t.Type == history.AverageValue && k.trigger == 0:
			k.trigger = t.Value
			r.note(o, "is KEDA's, and its ScaledObject %s is not among the objects: metric %s, %g for each replica, is taken as requests per "+
				"second of %s", owner.Name, t.Metric, t.Value, s.Name)
		default:
			r.leaveOut(o, "metric %s at %g (%s)", t.Metric, t.Value, m.Type)
		}
	}
	if k.nothing() {
		return k, o.faultf("no policy here scales by its metrics (%s): write what comes nearest as a policy (--today hpa:target=70)",
			metricNames(all))
	}
	return k, nil
}

// resourceMetric reads a target of CPU or memory; of two targets the lower one decides.
func (r *reading) resourceMetric(o *Object, t history.AutoscalerTarget, is bool, s *loadline.Service, k *kept) bool {
	into, request := &k.cpu, s.Size.CPURequest
	switch {
	case !is:
		return false
	case t.Metric == "memory":
		into, request = &k.memory, float64(s.Size.MemoryRequest)
	case t.Metric != "cpu":
		return false
	}
	value := t.Value
	switch {
	case t.Type == history.AverageValue && request > 0:
		value = 100 * t.Value / request
		text := cores(t.Value)
		if t.Metric == "memory" {
			text = bytesText(int64(t.Value))
		}
		r.note(o, "keeps %s of %s for each pod, which is %.3g %% of the request", text, t.Metric, value)
	case t.Type != history.Utilization:
		return false
	}
	if *into == 0 || value < *into {
		*into = value
	}
	return true
}

func metricNames(all []autoscalingv2.MetricSpec) string {
	var names []string
	for _, m := range all {
		names = append(names, fmt.Sprintf("%s %s", m.Type, targetOf(m).Metric))
	}
	return strings.Join(names, ", ")
}

// targetOf a metric, in the words of kube-state-metrics.
func targetOf(m autoscalingv2.MetricSpec) history.AutoscalerTarget {
	t := history.AutoscalerTarget{Metric: strings.ToLower(string(m.Type))}
	var target autoscalingv2.MetricTarget
	switch {
	case m.Resource != nil:
		t.Metric, target = string(m.Resource.Name), m.Resource.Target
	case m.ContainerResource != nil:
		t.Metric, target = string(m.ContainerResource.Name), m.ContainerResource.Target
	case m.Pods != nil:
		t.Metric, target = m.Pods.Metric.Name, m.Pods.Target
	case m.Object != nil:
		t.Metric, target = m.Object.Metric.Name, m.Object.Target
	case m.External != nil:
		t.Metric, target = m.External.Metric.Name, m.External.Target
	}
	switch {
	case target.AverageUtilization != nil:
		t.Type, t.Value = history.Utilization, float64(*target.AverageUtilization)
	case target.AverageValue != nil:
		t.Type, t.Value = history.AverageValue, target.AverageValue.AsApproximateFloat64()
	case target.Value != nil:
		t.Type, t.Value = history.TotalValue, target.Value.AsApproximateFloat64()
	}
	return t
}

// ratesOf is the inverse of parseRates.
func ratesOf(all []autoscalingv2.HPAScalingPolicy) string {
	var parts []string
	for _, p := range all {
		unit := ""
		if p.Type == autoscalingv2.PercentScalingPolicy {
			unit = "%"
		}
		parts = append(parts, fmt.Sprintf("%d%s/%ds", p.Value, unit, p.PeriodSeconds))
	}
	return strings.Join(parts, "+")
}

// behaviourSettings are the settings, each with a comma before it, in which a behaviour differs
// from that of an HPA without one.
func behaviourSettings(b *autoscalingv2.HorizontalPodAutoscalerBehavior) string {
	if b == nil {
		return ""
	}
	var settings strings.Builder
	for _, d := range []struct {
		name, window, policies string
		rules                  *autoscalingv2.HPAScalingRules
	}{{"up", "0s", "4/15s+100%/15s", b.ScaleUp}, {"down", "300s", "100%/15s", b.ScaleDown}} {
		if d.rules == nil {
			continue
		}
		add := func(key, value, usual string) {
			if value != usual && value != "" {
				fmt.Fprintf(&settings, ",%s-%s=%s", d.name, key, value)
			}
		}
		if w := d.rules.StabilizationWindowSeconds; w != nil {
			add("window", fmt.Sprintf("%ds", *w), d.window)
		}
		add("policies", ratesOf(d.rules.Policies), d.policies)
		if p := d.rules.SelectPolicy; p != nil {
			add("select", strings.ToLower(string(*p)), "max")
		}
		if q := d.rules.Tolerance; q != nil {
			add("tolerance", strconv.FormatFloat(q.AsApproximateFloat64(), 'g', -1, 64), strconv.FormatFloat(defaultTolerance, 'g', -1, 64))
		}
	}
	return settings.String()
}
