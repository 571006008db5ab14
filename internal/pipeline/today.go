package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/policy"
)

// Objects are what was read of the objects of a cluster that today's deployment is.
type Objects struct {
	// LeftOut is what no policy does, object by object: today's figures are without it.
	LeftOut []string
	Notes   []string // how objects were understood
	Aside   []string // objects that concern no service
}

// defaultToday stands in for an autoscaler that is not known.
const defaultToday = "hpa"

// today is the autoscaler that the user runs, and whether it is known.
func (j EvaluationSettings) today(f *Folder) (spec string, known bool) {
	switch {
	case j.Today != "":
		return policy.Canonical(j.Today), true
	case f.Subject.Today != "":
		return policy.Canonical(f.Subject.Today), true
	}
	return defaultToday, false
}

// todayGuard is the fallback rule of today's deployment, if it is a LoadLine.
func (j EvaluationSettings) todayGuard(f *Folder) string {
	if j.Today != "" {
		return ""
	}
	return f.Subject.TodayGuard
}

// todayAssumed is what the figures of today's deployment rest on.
func (j EvaluationSettings) todayAssumed(f *Folder) []string {
	spec, known := j.today(f)
	if !known {
		return []string{fmt.Sprintf("What you run today is not in the history: %s stands in; set it with --today.", RuleName(spec))}
	}
	var all []string
	for _, text := range j.Objects.LeftOut {
		all = append(all, "Today's figures leave out what no policy here does: "+text+".")
	}
	if rules, err := policy.RulesOf(spec, f.App); err == nil && !slices.Contains(j.Axes, guard.VerticalRequests) {
		for _, r := range rules {
			if m, _, _ := strings.Cut(r.Spec, ":"); m == "vpa" || m == "hpa+vpa" {
				all = append(all, fmt.Sprintf("Pods of %s are sized by a VerticalPodAutoscaler today, which the axes %s do not allow: today's "+
					"figures are without that; --axes %s has it.", strings.Join(r.Services, ", "), strings.Join(j.Axes, ","),
					strings.Join(guard.AxisNames(), ",")))
			}
		}
	}
	for _, text := range j.Objects.Notes {
		all = append(all, text+".")
	}
	for _, text := range j.Objects.Aside {
		all = append(all, "Left aside: "+text+".")
	}
	return all
}

// Within is the run with bounds of services, such as those of their autoscalers. The receiver is not
// changed.
func (f *Folder) Within(bounds []loadline.Bounds) *Folder {
	with := *f
	app := *f.App
	app.Services = slices.Clone(app.Services)
	with.App, with.known = &app, slices.Clone(f.known)
	for i, b := range bounds {
		s := &app.Services[i]
		if b == s.Bounds {
			continue
		}
		s.Bounds = b
		s.Replicas = max(s.Replicas, b.MinReplicas)
		if b.MaxReplicas > 0 {
			s.Replicas = min(s.Replicas, b.MaxReplicas)
		}
		with.known = append(with.known, fmt.Sprintf("%s.bounds=%d-%d replicas, %g-%g cores, %d-%d bytes", s.Name, b.MinReplicas, b.MaxReplicas,
			b.MinCPU, b.MaxCPU, b.MinMemory, b.MaxMemory))
	}
	slices.Sort(with.known)
	return &with
}
