package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/policy"
)

// interval of a LoadLine that does not set one.
const interval = 15 * time.Second

// TodayLabel is the deployment that the user runs.
const TodayLabel = "today"

// DefaultBaselines are what candidates are compared with besides today's autoscaler: HPA with its
// defaults, and the best settings of plain rules on the axes. What the axes do not allow to change stays
// as it is.
func DefaultBaselines(axes []string) []string {
	var fixed []string
	for _, s := range []struct{ axis, setting string }{{guard.VerticalLimits, "limits=keep"}, {guard.VerticalRequests, "request=keep"}} {
		if !slices.Contains(axes, s.axis) {
			fixed = append(fixed, s.setting)
		}
	}
	tuned := bench.Rules
	if len(fixed) > 0 {
		tuned += ":" + strings.Join(fixed, ",")
	}
	all := []string{"hpa", TunedLabel + ": " + tuned + "@calibrated"}
	if slices.Contains(axes, guard.VerticalLimits) {
		all = append(all, "autothrottle")
	}
	return all
}

// TunedLabel is the best plain deployment that the search finds on the selection part.
const TunedLabel = "tuned"

// TunedBaselines are what rules alone are compared with today's by: HPA with its defaults, and the
// best settings of a policy, or of all plain rules if it is "".
func TunedBaselines(policy string, axes []string) []string {
	all := DefaultBaselines(axes)[:2]
	if policy == "" {
		return all
	}
	_, rest, _ := strings.Cut(all[1], bench.Rules)
	settings, _ := strings.CutSuffix(rest, "@calibrated")
	if strings.Contains(policy, ":") && settings != "" {
		settings = "," + settings[1:]
	}
	all[1] = TunedLabel + ": " + policy + settings + "@calibrated"
	return all
}

// baselines are deployments of rules as people run them, without a guard of ours, on the same axes
// as the candidates: today's first. A baseline that is today's is not repeated.
func (j EvaluationSettings) baselines(f *Folder) []bench.Policy {
	spec, _ := j.today(f)
	all := []bench.Policy{{Spec: spec, Label: TodayLabel, Axes: j.Axes}}
	if rule := j.todayGuard(f); rule != "" { // a LoadLine runs it
		all[0].Guard, all[0].Interval = rule, interval
	}
	for _, text := range j.Baselines {
		p := bench.ParsePolicy(text)
		if p.Spec == spec && !p.Calibrated && !p.Trained {
			continue
		}
		if m, err := policy.Named(nameOf(p.Spec)); err != nil || !m.Oracle { // an oracle is a reference, not a deployment
			p.Axes = j.Axes
		}
		all = append(all, p)
	}
	return all
}

// startAt lets deployments begin each stretch with what they had given every service by then, in
// runs over the whole part. Otherwise one that never changes anything would begin each stretch with
// the right size.
func startAt(deployments []bench.Policy, whole []Entry, on []Stretch) []bench.Policy {
	all := slices.Clone(deployments)
	for i := range all {
		e := entryOf(whole, all[i].Label)
		if e == nil {
			continue
		}
		all[i].Start = map[string][]loadline.Allocation{}
		for _, s := range on {
			all[i].Start[s.Name] = e.runs[0].Applied.At(s.From)
		}
	}
	return all
}

func nameOf(spec string) string {
	name, _, _ := strings.Cut(spec, ":")
	return name
}

func isOracle(spec string) bool {
	m, err := policy.Named(nameOf(spec))
	return err == nil && m.Oracle
}

// deployment of a candidate: what a LoadLine with its model, this fallback rule and these axes
// runs.
func (j EvaluationSettings) deployment(f *Folder, c Outcome, fallback string) (bench.Policy, error) {
	d := bench.Policy{Spec: c.Policy, Label: c.Name, Guard: fallback, Interval: interval, Axes: j.Axes}
	if c.Policy != "" {
		return d, nil
	}
	path := f.ModelPath(c.Name)
	if strings.Contains(path, ",") {
		return bench.Policy{}, fmt.Errorf("the path %s has a comma in it, which separates the settings of a policy: give the run's "+
			"folder another name", path)
	}
	method, err := policy.Trainable(c.Method)
	if err != nil {
		return bench.Policy{}, fmt.Errorf("candidate %s: %w", c.Name, err)
	}
	d.Spec = method.Spec(path, "")
	return d, nil
}
