package advice

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/policy"
)

// scaledObject has the fields of KEDA's ScaledObject that matter here.
type scaledObject struct {
	Spec struct {
		ScaleTargetRef   struct{ Kind, Name string } `json:"scaleTargetRef"`
		PollingInterval  *int                        `json:"pollingInterval"`
		CooldownPeriod   *int                        `json:"cooldownPeriod"`
		IdleReplicaCount *int                        `json:"idleReplicaCount"`
		MinReplicaCount  *int                        `json:"minReplicaCount"`
		MaxReplicaCount  *int                        `json:"maxReplicaCount"`
		Advanced         struct {
			Config struct {
				Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior"`
			} `json:"horizontalPodAutoscalerConfig"`
			ScalingModifiers struct {
				Formula string `json:"formula"`
			} `json:"scalingModifiers"`
		} `json:"advanced"`
		Triggers []trigger `json:"triggers"`
	} `json:"spec"`
}

type trigger struct {
	Type             string            `json:"type"`
	MetricType       string            `json:"metricType"`
	Metadata         map[string]string `json:"metadata"`
	UseCachedMetrics bool              `json:"useCachedMetrics"`
}

// KEDA's defaults.
const (
	kedaMost     = 100
	kedaPolling  = 30
	kedaCooldown = 300
)

// takeScaledObject reads one of KEDA's.
func (r *reading) takeScaledObject(o *Object) error {
	var of scaledObject
	if err := o.Into(&of); err != nil {
		return err
	}
	at, err := r.service(o, "scaleTargetRef", of.Spec.ScaleTargetRef.Kind, of.Spec.ScaleTargetRef.Name)
	if at < 0 {
		return err
	}
	if o.Annotations["autoscaling.keda.sh/paused"] == "true" {
		r.note(o, "is paused: it changes nothing")
		return nil
	}
	t := triggers{reading: r, object: o, service: &r.app.Services[at]}
	for i := range of.Spec.Triggers {
		if err := t.take(i, &of.Spec.Triggers[i]); err != nil {
			return err
		}
	}
	if t.nothing() && !r.lenient {
		return o.faultf("no policy here scales by its triggers alone (%s): write what comes nearest as a policy (--today keda:threshold=20)",
			triggerTypes(of.Spec.Triggers))
	}
	h := &horizontal{object: o, behaviour: behaviourSettings(of.Spec.Advanced.Config.Behavior), cpu: t.cpu > 0, memory: t.memory > 0,
		least: valueOr(of.Spec.MinReplicaCount, 0), most: valueOr(of.Spec.MaxReplicaCount, kedaMost),
		downWindow: downWindow(of.Spec.Advanced.Config.Behavior), schedules: t.schedules}
	if t.nothing() {
		return r.setHorizontal(at, h)
	}
	h.method, h.settings = t.rule()
	if h.method == "keda" {
		h.settings = append(h.settings, t.settings...)
		h.settings = append(h.settings, spans(map[string][2]int{
			"polling":  {valueOr(of.Spec.PollingInterval, kedaPolling), kedaPolling},
			"cooldown": {valueOr(of.Spec.CooldownPeriod, kedaCooldown), kedaCooldown},
		})...)
	} else {
		h.least = max(h.least, 1) // only an external trigger scales to zero
	}
	if len(t.floors) > 0 {
		h.settings = append(h.settings, floorKey+policy.FloorSetting(t.floors))
	}
	if of.Spec.IdleReplicaCount != nil {
		r.leaveOut(o, "idleReplicaCount %d", *of.Spec.IdleReplicaCount)
	}
	if f := of.Spec.Advanced.ScalingModifiers.Formula; f != "" {
		r.leaveOut(o, "scalingModifiers.formula %q", f)
	}
	return r.setHorizontal(at, h)
}

// floorKey begins a setting of least replicas by time of day.
const floorKey = "floor="

func isFloor(setting string) bool { return strings.HasPrefix(setting, floorKey) }

func valueOr(v *int, usual int) int {
	if v == nil {
		return usual
	}
	return *v
}

// spans are settings in seconds that differ from the usual ones.
func spans(all map[string][2]int) (settings []string) {
	for _, key := range []string{"polling", "cooldown"} {
		if v := all[key]; v[0] != v[1] {
			settings = append(settings, fmt.Sprintf("%s=%ds", key, v[0]))
		}
	}
	return settings
}

func triggerTypes(all []trigger) string {
	var types []string
	for _, t := range all {
		types = append(types, t.Type)
	}
	if types == nil {
		return "there are none"
	}
	return strings.Join(types, ", ")
}

// triggers of a ScaledObject.
type triggers struct {
	kept
	*reading
	object   *Object
	service  *loadline.Service
	settings []string // of keda
	floors   []policy.Floor

	schedules []Schedule
}

// take the trigger at an index.
func (t *triggers) take(i int, of *trigger) error {
	number := func(key string, least float64) (float64, error) {
		v, err := strconv.ParseFloat(of.Metadata[key], 64)
		if err != nil || !(v >= least) {
			return 0, t.object.faultf("spec.triggers[%d].metadata.%s is %q, must be a number of at least %g", i, key, of.Metadata[key], least)
		}
		return v, nil
	}
	switch of.Type {
	case "prometheus":
		return t.prometheus(of, number)
	case "cpu", "memory":
		q, err := resource.ParseQuantity(of.Metadata["value"])
		value := q.AsApproximateFloat64()
		if err != nil || !(value > 0) {
			return t.object.faultf("spec.triggers[%d].metadata.value is %q, must be a percentage or an amount above 0, such as 60 or 300m", i,
				of.Metadata["value"])
		}
		kind := history.Utilization
		if cmp.Or(of.MetricType, of.Metadata["type"]) == string(autoscalingv2.AverageValueMetricType) { // the second is the former field
			kind = history.AverageValue
		}
		if target := (history.AutoscalerTarget{Metric: of.Type, Type: kind, Value: value}); !t.resourceMetric(t.object, target, true,
			t.service, &t.kept) {
			t.leaveOut(t.object, "trigger %s at %g for each pod, of which the model has no request", of.Type, value)
		}
	case "cron":
		replicas, err := number("desiredReplicas", 1)
		if err != nil {
			return err
		}
		t.cron(i, of, int(replicas))
	default:
		t.leaveOut(t.object, "trigger %s", of.Type)
	}
	return nil
}

// rangeOfQuery is the first window of a query: [2m].
var rangeOfQuery = regexp.MustCompile(`\[([0-9a-z]+)\]`)

// prometheus reads a trigger on the rate of requests.
func (t *triggers) prometheus(of *trigger, number func(string, float64) (float64, error)) error {
	threshold, err := number("threshold", 0.001)
	if err != nil {
		return err
	}
	query := of.Metadata["query"]
	switch {
	case !strings.Contains(query, "rate(") && !strings.Contains(query, "increase("):
		t.leaveOut(t.object, "trigger prometheus with query %q, which is no rate", query)
		return nil
	case of.MetricType == string(autoscalingv2.ValueMetricType):
		t.leaveOut(t.object, "trigger prometheus with metricType Value and query %q", query)
		return nil
	case t.trigger > 0:
		t.leaveOut(t.object, "a second trigger prometheus with query %q", query)
		return nil
	}
	t.trigger = threshold
	whose := t.service.Name
	if !strings.Contains(query, t.service.Name) && t.namesEntry(query) {
		whose = "the users"
		t.settings = append(t.settings, "trigger=entry")
	}
	t.note(t.object, "scales by %q, which is taken as requests per second of %s", query, whose)
	if m := rangeOfQuery.FindStringSubmatch(query); m != nil {
		if window, err := time.ParseDuration(m[1]); err == nil && window != 2*time.Minute {
			t.settings = append(t.settings, "window="+window.String())
		}
	}
	if of.UseCachedMetrics {
		t.settings = append(t.settings, "cached=on")
	}
	if of.Metadata["activationThreshold"] != "" {
		activation, err := number("activationThreshold", 0)
		if err != nil {
			return err
		}
		if activation > 0 {
			t.settings = append(t.settings, "activation="+decimal(activation))
		}
	}
	return nil
}

// namesEntry reports whether a query names a service that users call.
func (t *triggers) namesEntry(query string) bool {
	for _, k := range t.app.Kinds {
		if strings.Contains(query, t.app.Services[k.Root.Service].Name) {
			return true
		}
	}
	return false
}

// cron reads least replicas of every day. Other schedules are left out.
func (t *triggers) cron(i int, of *trigger, replicas int) {
	start, end, zone := of.Metadata["start"], of.Metadata["end"], of.Metadata["timezone"]
	t.schedules = append(t.schedules, Schedule{Start: start, End: end, TimeZone: zone, Replicas: replicas})
	if t.lenient {
		return
	}
	offset, fixed := fixedOffset(zone)
	from, daily := timeOfCron(start)
	to, daily2 := timeOfCron(end)
	if !fixed || !daily || !daily2 || from == to {
		t.leaveOut(t.object, "trigger cron from %q to %q, %s: only times of every day in a zone without daylight saving time are simulated",
			start, end, zone)
		return
	}
	const day = 24 * time.Hour
	t.floors = append(t.floors, policy.Floor{From: (from - offset + day) % day, To: (to - offset + day) % day, Service: t.service.Name,
		Replicas: replicas})
}

// timeOfCron reads "30 8 * * *".
func timeOfCron(text string) (at time.Duration, daily bool) {
	fields := strings.Fields(text)
	if len(fields) != 5 || strings.Join(fields[2:], " ") != "* * *" {
		return 0, false
	}
	minute, err := strconv.Atoi(fields[0])
	hour, err2 := strconv.Atoi(fields[1])
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute,
		err == nil && err2 == nil && minute >= 0 && minute < 60 && hour >= 0 && hour < 24
}

// fixedOffset of a zone from UTC, if it is the same in winter and summer.
func fixedOffset(zone string) (offset time.Duration, fixed bool) {
	location, err := time.LoadLocation(zone)
	if err != nil {
		return 0, false
	}
	_, winter := time.Date(2026, 1, 1, 0, 0, 0, 0, location).Zone()
	_, summer := time.Date(2026, 7, 1, 0, 0, 0, 0, location).Zone()
	return time.Duration(winter) * time.Second, winter == summer
}
