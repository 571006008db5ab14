package advice

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
)

// defaultTolerance of HorizontalPodAutoscalers, which need not be written.
const defaultTolerance = 0.1

// Metrics of an adapter; the names are examples.
const (
	rateMetric     = "http_requests_per_second"
	inFlightMetric = "http_requests_in_flight"
	queueMetric    = "queue_messages"
)

// hpas are one HorizontalPodAutoscaler for each service that has one.
func (t Target) hpas(v policy.Values) ([]Document, error) {
	var all []Document
	for i := range t.App.Services {
		s := &t.App.Services[i]
		own := policy.TargetOf(v, t.App, i)
		if own == "off" && !v.IsSet("memory-target") && !v.IsSet("rps-target") && !v.IsSet("concurrency-target") &&
			!v.IsSet("queue-target") {
			continue
		}
		h := &autoscalingv2.HorizontalPodAutoscaler{
			TypeMeta:   metav1.TypeMeta{APIVersion: autoscalingv2.SchemeGroupVersion.String(), Kind: "HorizontalPodAutoscaler"},
			ObjectMeta: t.metadata(s.Name),
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: s.Name},
				MinReplicas:    new(int32(max(s.Bounds.MinReplicas, 1))), MaxReplicas: int32(maxReplicas(s)), Behavior: behaviourOf(v),
			},
		}
		d := Document{Object: h}
		var err error
		if h.Spec.Metrics, d.Comments, err = hpaMetrics(v, own, s.Name); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, errors.New("the policy leaves no service with an autoscaler")
	}
	return all, nil
}

// mostReplicas stands for a service without an upper bound, which an HPA must have.
const mostReplicas = 100

func maxReplicas(s *loadline.Service) int {
	if s.Bounds.MaxReplicas > 0 {
		return s.Bounds.MaxReplicas
	}
	return mostReplicas
}

func hpaMetrics(v policy.Values, cpu, service string) (all []autoscalingv2.MetricSpec, comments []string, err error) {
	for _, m := range []struct {
		resource corev1.ResourceName
		value    string
	}{{corev1.ResourceCPU, cpu}, {corev1.ResourceMemory, v["memory-target"]}} {
		if m.value == "" || m.value == "off" {
			continue
		}
		target, remark, err := whole(string(m.resource)+" target", m.value)
		if err != nil {
			return nil, nil, err
		}
		comments = append(comments, remark...)
		comments = append(comments, aboveRequest(target, service, string(m.resource))...)
		all = append(all, autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name: m.resource, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &target},
		}})
	}
	for _, m := range []struct{ key, name string }{
		{"rps-target", rateMetric}, {"concurrency-target", inFlightMetric}, {"queue-target", queueMetric},
	} {
		if !v.IsSet(m.key) {
			continue
		}
		value, err := resource.ParseQuantity(v[m.key])
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.key, err)
		}
		comments = append(comments, fmt.Sprintf("The metric %s must come from an adapter (prometheus-adapter); its name is an example.", m.name))
		target := autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &value}
		if m.name == queueMetric { // of no pod
			all = append(all, autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: m.name,
					Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"service": service}}},
				Target: target,
			}})
			continue
		}
		all = append(all, autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: m.name},
			Target: target,
		}})
	}
	return all, comments, nil
}

// aboveRequest warns of a target above what pods request.
func aboveRequest(target int32, service, resource string) []string {
	if target <= 100 {
		return nil
	}
	return []string{fmt.Sprintf("WARNING: with a target of %d %% the pods of %s run above their %s requests, which works only while their "+
		"nodes have room to spare; prefer higher requests and a target below 100 %%.", target, service, resource)}
}

// behaviourOf the settings of an HPA, which have been checked.
func behaviourOf(v policy.Values) *autoscalingv2.HorizontalPodAutoscalerBehavior {
	return &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: rulesOf(v, "up"), ScaleDown: rulesOf(v, "down")}
}

var selections = map[string]autoscalingv2.ScalingPolicySelect{
	"max": autoscalingv2.MaxChangePolicySelect, "min": autoscalingv2.MinChangePolicySelect, "disabled": autoscalingv2.DisabledPolicySelect,
}

func rulesOf(v policy.Values, direction string) *autoscalingv2.HPAScalingRules {
	r := &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: new(int32(v.Span(direction + "-window").Seconds())),
		SelectPolicy:               new(selections[v[direction+"-select"]]),
		Policies:                   parseRates(v[direction+"-policies"]),
	}
	tolerance := v.Float("tolerance")
	if v.IsSet(direction + "-tolerance") {
		tolerance = v.Float(direction + "-tolerance")
	}
	if tolerance != defaultTolerance {
		r.Tolerance = new(resource.MustParse(strconv.FormatFloat(tolerance, 'f', 6, 64)))
	}
	return r
}

// parseRates reads what may be changed per period: 4/15s+100%/15s.
func parseRates(text string) []autoscalingv2.HPAScalingPolicy {
	var all []autoscalingv2.HPAScalingPolicy
	for _, part := range strings.Split(text, "+") {
		amount, period, _ := strings.Cut(part, "/")
		span, _ := time.ParseDuration(period)
		number, percent := strings.CutSuffix(amount, "%")
		n, _ := strconv.Atoi(number)
		kind := autoscalingv2.PodsScalingPolicy
		if percent {
			kind = autoscalingv2.PercentScalingPolicy
		}
		all = append(all, autoscalingv2.HPAScalingPolicy{Type: kind, Value: int32(n), PeriodSeconds: int32(span.Seconds())})
	}
	return all
}
