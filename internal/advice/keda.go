package advice

import (
	"fmt"
	"strconv"

	"github.com/loadline/loadline/internal/policy"
)

// scaledObjects are one of KEDA's ScaledObjects for each service, with a Prometheus trigger on the
// request rate.
func (t Target) scaledObjects(v policy.Values) ([]Document, error) {
	prometheus := t.Prometheus
	if prometheus == "" {
		prometheus = defaultPrometheus
	}
	var all []Document
	for i := range t.App.Services {
		s := &t.App.Services[i]
		threshold, given := policy.ThresholdOf(v, t.App, i)
		if threshold <= 0 {
			return nil, fmt.Errorf("the threshold of %s does not follow from its sizes: give %s=REQUESTS_PER_SECOND", s.Name, s.Name)
		}
		triggers := []any{map[string]any{
			"type": "prometheus",
			"metadata": map[string]any{
				"serverAddress": prometheus, "query": t.rateQuery(v, s.Name), "threshold": strconv.FormatFloat(threshold, 'f', -1, 64),
				"activationThreshold": strconv.FormatFloat(v.Float("activation"), 'f', -1, 64),
			},
			"metricType": "AverageValue", "useCachedMetrics": v["cached"] == "on",
		}}
		d := Document{Comments: []string{fmt.Sprintf("The query of %s is Istio's: adapt it to what measures your traffic, and check "+
			"serverAddress.", s.Name)}}
		if !given && v.Float("share") > 1 {
			d.Comments = append(d.Comments, aboveRequest(int32(100*v.Float("share")), s.Name, "cpu")...)
		}
		if !given {
			d.Comments = append(d.Comments, fmt.Sprintf("The threshold is %s of what a CPU request of %s serves; it follows changes of the "+
				"request only if you do.", percent(v.Float("share")), cores(s.Size.CPURequest)))
		}
		for _, m := range []struct{ kind, key string }{{"cpu", "target"}, {"memory", "memory-target"}} {
			if !v.IsSet(m.key) || v[m.key] == "off" {
				continue
			}
			target, remark, err := whole(m.kind+" target", v[m.key])
			if err != nil {
				return nil, err
			}
			d.Comments = append(d.Comments, remark...)
			d.Comments = append(d.Comments, aboveRequest(target, s.Name, m.kind)...)
			triggers = append(triggers, map[string]any{
				"type": m.kind, "metricType": "Utilization", "metadata": map[string]any{"value": strconv.Itoa(int(target))},
			})
		}
		d.Object = t.object("keda.sh/v1alpha1", "ScaledObject", s.Name, map[string]any{
			"scaleTargetRef":  map[string]any{"name": s.Name},
			"minReplicaCount": s.Bounds.MinReplicas, "maxReplicaCount": maxReplicas(s),
			"pollingInterval": int(v.Span("polling").Seconds()), "cooldownPeriod": int(v.Span("cooldown").Seconds()),
			"advanced": map[string]any{"horizontalPodAutoscalerConfig": map[string]any{"behavior": behaviourOf(v)}},
			"triggers": triggers,
		})
		all = append(all, d)
	}
	return all, nil
}

// rateQuery counts the requests per second of a service, or of users.
func (t Target) rateQuery(v policy.Values, service string) string {
	selector := fmt.Sprintf(`destination_workload="%s"`, service)
	if v["trigger"] == "entry" {
		entries := ""
		for _, k := range t.App.Kinds {
			entries += "|" + t.App.Services[k.Root.Service].Name
		}
		selector = fmt.Sprintf(`destination_workload=~"%s"`, entries[min(1, len(entries)):])
	}
	if t.Namespace != "" {
		selector += fmt.Sprintf(`, destination_workload_namespace="%s"`, t.Namespace)
	}
	return fmt.Sprintf(`sum(rate(istio_requests_total{reporter=~"destination|waypoint", %s}[%ds]))`, selector,
		int(v.Span("window").Seconds()))
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 4, 64) + " %" }
