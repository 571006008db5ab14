package advice

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
)

// scaledObjects are one of KEDA's ScaledObjects for each service, with a Prometheus trigger on the
// request rate.
func (t Target) scaledObjects(v policy.Values) ([]Document, error) {
	prometheus := t.Prometheus
	if prometheus == "" {
		prometheus = DefaultPrometheus
	}
	floors := policy.FloorsOf(v["floor"])
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
		more, comments, err := resourceTriggers(s.Name, v["target"], v["memory-target"])
		if err != nil {
			return nil, err
		}
		d.Comments = append(d.Comments, comments...)
		d.Object = t.scaledObject(s, v, slices.Concat(triggers, more, cronTriggers(s.Name, floors)), map[string]any{
			"pollingInterval": int(v.Span("polling").Seconds()), "cooldownPeriod": int(v.Span("cooldown").Seconds()),
		})
		all = append(all, d)
	}
	return all, nil
}

// scaledByCPU are ScaledObjects in place of HorizontalPodAutoscalers, for services with least
// replicas by the clock.
func (t Target) scaledByCPU(v policy.Values) ([]Document, error) {
	floors := policy.FloorsOf(v["floor"])
	var all []Document
	for i := range t.App.Services {
		s := &t.App.Services[i]
		triggers, comments, err := resourceTriggers(s.Name, policy.TargetOf(v, t.App, i), v["memory-target"])
		if err != nil {
			return nil, err
		}
		if len(triggers) == 0 {
			continue
		}
		d := Document{Comments: append([]string{fmt.Sprintf("It replaces the HorizontalPodAutoscaler of %s: KEDA makes one of it, with "+
			"least replicas by the clock. Delete the old one first.", s.Name)}, comments...)}
		d.Object = t.scaledObject(s, v, append(triggers, cronTriggers(s.Name, floors)...), nil)
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, errors.New("the policy leaves no service with an autoscaler on CPU or memory: least replicas by the clock need one")
	}
	return all, nil
}

// scaledObject of a service with triggers, and further fields of its spec.
func (t Target) scaledObject(s *loadline.Service, v policy.Values, triggers []any, more map[string]any) map[string]any {
	spec := map[string]any{
		"scaleTargetRef":  map[string]any{"name": s.Name},
		"minReplicaCount": s.Bounds.MinReplicas, "maxReplicaCount": maxReplicas(s),
		"advanced": map[string]any{"horizontalPodAutoscalerConfig": map[string]any{"behavior": behaviourOf(v)}},
		"triggers": triggers,
	}
	maps.Copy(spec, more)
	return t.object("keda.sh/v1alpha1", "ScaledObject", s.Name, spec)
}

// resourceTriggers are those on CPU and memory, in percent of the requests.
func resourceTriggers(service, cpu, memory string) (all []any, comments []string, err error) {
	for _, m := range []struct{ kind, target string }{{"cpu", cpu}, {"memory", memory}} {
		if m.target == "" || m.target == "off" {
			continue
		}
		target, remark, err := whole(m.kind+" target", m.target)
		if err != nil {
			return nil, nil, err
		}
		comments = append(comments, remark...)
		comments = append(comments, aboveRequest(target, service, m.kind)...)
		all = append(all, map[string]any{
			"type": m.kind, "metricType": "Utilization", "metadata": map[string]any{"value": strconv.Itoa(int(target))},
		})
	}
	return all, comments, nil
}

// cronTriggers are the least replicas of a service by the clock.
func cronTriggers(service string, floors []policy.Floor) []any {
	var all []any
	for _, f := range floors {
		if f.Service != "" && f.Service != service {
			continue
		}
		overMidnight := f.To <= f.From
		all = append(all, map[string]any{"type": "cron", "metadata": map[string]any{
			"timezone": "Etc/UTC", "start": cron(f.From, f.Days, false), "end": cron(f.To, f.Days, overMidnight || f.To == 24*time.Hour),
			"desiredReplicas": strconv.Itoa(f.Replicas),
		}})
	}
	return all
}

// cron expression of a time of day on some days, or on the days after them.
func cron(at time.Duration, days []time.Weekday, after bool) string {
	var on []string
	for _, day := range days {
		if after {
			day = (day + 1) % 7
		}
		on = append(on, strconv.Itoa(int(day)))
	}
	if on == nil {
		on = []string{"*"}
	}
	at %= 24 * time.Hour
	return fmt.Sprintf("%d %d * * %s", int(at.Minutes())%60, int(at.Hours()), strings.Join(on, ","))
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
