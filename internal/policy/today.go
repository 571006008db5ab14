package policy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// Today is the policy that scaled an application at the end of its history.
type Today struct {
	Spec  string   // in the notation of policies, such as hpa:target=60
	Notes []string // what had to be assumed
}

// ErrNoAutoscaler: the history shows no autoscaler of the application.
var ErrNoAutoscaler = errors.New("the history shows no autoscaler")

// kedaPrefix of the names of HorizontalPodAutoscalers that KEDA makes.
const kedaPrefix = "keda-hpa-"

// TodayOf is the policy that the autoscalers of a history amount to. What has no counterpart
// among the policies is an error that names it.
func TodayOf(app *loadline.App, all []history.Autoscaler) (Today, error) {
	var today Today
	note := func(format string, args ...any) { today.Notes = append(today.Notes, fmt.Sprintf(format, args...)) }
	rules := make([][]string, len(app.Services))
	var faults []error
	some := false
	for i := range app.Services {
		s := &app.Services[i]
		at := slices.IndexFunc(all, func(a history.Autoscaler) bool { return a.Service == s.Name })
		if at < 0 {
			note("%s has no autoscaler in the history: its replicas stay as they are", s.Name)
			continue
		}
		by, err := readAutoscaler(&all[at], s, note)
		if err != nil {
			faults = append(faults, err)
		}
		rules[i], some = by.rules(), true
	}
	if err := errors.Join(faults...); err != nil {
		return today, err
	}
	if !some {
		return today, ErrNoAutoscaler
	}
	today.Spec = Join(app, rules)
	if _, err := New(today.Spec, app); err != nil {
		return today, fmt.Errorf("the autoscalers of the history cannot be written as a policy: %w", err)
	}
	return today, nil
}

// scaledBy is what an autoscaler keeps; zero = it does not look at it.
type scaledBy struct {
	there                bool
	cpu, memory, trigger float64 // % of the request, % of the request, requests/s for each replica
}

func readAutoscaler(a *history.Autoscaler, s *loadline.Service, note func(string, ...any)) (scaledBy, error) {
	by := scaledBy{there: true}
	keda := strings.HasPrefix(a.Name, kedaPrefix)
	for _, t := range a.Targets {
		switch {
		case t.Metric == "cpu" && t.Type == history.Utilization:
			by.cpu = t.Value
		case t.Metric == "cpu" && t.Type == history.AverageValue && s.Size.CPURequest > 0:
			by.cpu = 100 * t.Value / s.Size.CPURequest
			note("%s keeps %g cores for each pod, which is %.3g %% of the CPU request", a.Name, t.Value, by.cpu)
		case t.Metric == "memory" && t.Type == history.Utilization:
			by.memory = t.Value
		case t.Metric == "memory" && t.Type == history.AverageValue && s.Size.MemoryRequest > 0:
			by.memory = 100 * t.Value / float64(s.Size.MemoryRequest)
		case keda && t.Type == history.AverageValue && t.Metric != "cpu" && t.Metric != "memory":
			by.trigger = t.Value
			note("%s keeps metric %s at %g for each replica; its query is not in the history and is taken as requests per second of %s",
				a.Name, t.Metric, t.Value, s.Name)
		default:
			return by, fmt.Errorf("autoscaler %s of %s keeps metric %s at %g (%s), which no policy here can do", a.Name, s.Name, t.Metric,
				t.Value, t.Type)
		}
	}
	if by.cpu == 0 && by.memory == 0 && by.trigger == 0 {
		return by, fmt.Errorf("the history has no target of autoscaler %s of %s (kube_horizontalpodautoscaler_spec_target_metric)", a.Name,
			s.Name)
	}
	return by, nil
}

// rules in the notation of policies: keda if a trigger is in use, else hpa. None = nothing scales
// the service.
func (by scaledBy) rules() []string {
	if !by.there {
		return nil
	}
	method, parts := hpaMethod.Name, []string{"target=off"}
	if by.trigger > 0 {
		method, parts = kedaMethod.Name, []string{setting("threshold", by.trigger)}
	}
	switch {
	case by.cpu > 0 && by.trigger > 0:
		parts = append(parts, setting("target", by.cpu))
	case by.cpu > 0:
		parts[0] = setting("target", by.cpu)
	}
	if by.memory > 0 {
		parts = append(parts, setting("memory-target", by.memory))
	}
	return []string{method + ":" + strings.Join(parts, ",")}
}

func setting(key string, value float64) string {
	return key + "=" + strconv.FormatFloat(value, 'g', 6, 64)
}

// AutoscalersOf are the HorizontalPodAutoscalers that a policy means, as kube-state-metrics would
// show them: of hpa and sre, and of keda where thresholds are given. Other policies have none.
func AutoscalersOf(spec string, app *loadline.App) ([]history.Autoscaler, error) {
	m, v, err := read(spec, app)
	if err != nil {
		return nil, err
	}
	if m.Name != hpaMethod.Name && m.Name != sreMethod.Name && m.Name != kedaMethod.Name {
		return nil, nil
	}
	var all []history.Autoscaler
	for _, s := range app.Services {
		a := history.Autoscaler{Name: s.Name, Service: s.Name, MinReplicas: max(s.Bounds.MinReplicas, 1), MaxReplicas: s.Bounds.MaxReplicas}
		if a.MaxReplicas <= 0 {
			a.MaxReplicas = math.MaxInt32
		}
		own := ""
		if !isOption(slices.Concat(hpaOptions(""), setupOptions()), s.Name) {
			own = v[s.Name]
		}
		if m.Name == kedaMethod.Name {
			a.Name = kedaPrefix + s.Name
			threshold := v.Float("threshold")
			if own != "" {
				threshold = v.Float(s.Name)
			}
			if threshold == 0 {
				continue // it follows from the pods' sizes
			}
			a.Targets = append(a.Targets, history.AutoscalerTarget{Metric: "s0-prometheus", Type: history.AverageValue, Value: threshold})
			own = ""
		}
		if own == "off" {
			continue
		}
		if own == "" {
			own = v["target"]
		}
		for _, t := range []struct{ metric, value string }{{"cpu", own}, {"memory", v["memory-target"]}} {
			if value, err := strconv.ParseFloat(t.value, 64); err == nil {
				a.Targets = append(a.Targets, history.AutoscalerTarget{Metric: t.metric, Type: history.Utilization, Value: value})
			}
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b history.Autoscaler) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
