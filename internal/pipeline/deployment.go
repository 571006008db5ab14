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
// defaults, and the best settings of HPA on the axes. What the axes do not allow to change stays
// as it is.
func DefaultBaselines(axes []string) []string {
	var fixed []string
	for _, s := range []struct{ axis, setting string }{{guard.VerticalLimits, "limits=keep"}, {guard.VerticalRequests, "request=keep"}} {
		if !slices.Contains(axes, s.axis) {
			fixed = append(fixed, s.setting)
		}
	}
	tuned := "hpa"
	if len(fixed) > 0 {
		tuned += ":" + strings.Join(fixed, ",")
	}
	all := []string{"hpa", "hpa (calibrated): " + tuned + "@calibrated"}
	if slices.Contains(axes, guard.VerticalLimits) {
		all = append(all, "autothrottle")
	}
	return all
}

// baselines are deployments of rules as people run them, without a guard of ours, on the same axes
// as the candidates: today's first. A baseline that is today's is not repeated.
func (j EvaluationSettings) baselines(f *Folder) []bench.Policy {
	spec, _ := j.today(f)
	all := []bench.Policy{{Spec: spec, Label: TodayLabel, Axes: j.Axes}}
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

// keepsHours reports whether a deployment has floors by the time of day that are today's. Those of a
// calibration are on the clock of the runs, which begins at midnight.
func (p *proof) keepsHours(d bench.Policy) bool {
	today, _ := p.today(p.folder)
	return strings.Contains(today, "floor=") && d.Spec == today
}

// onTheClock gives today's deployment, and candidates that have it as fallback rule, the time of day
// at which each stretch begins.
func (p *proof) onTheClock(c comparison) []bench.Policy {
	all := slices.Clone(c.policies)
	for i := range all {
		if d := &all[i]; p.keepsHours(*d) || p.keepsHours(bench.Policy{Spec: d.Guard}) {
			d.Clock = map[string]time.Duration{}
			for _, s := range c.on {
				at := c.from.Add(s.From).UTC()
				d.Clock[s.Name] = at.Sub(at.Truncate(24 * time.Hour))
			}
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
	path := f.ModelPath(c.Name)
	if strings.Contains(path, ",") {
		return bench.Policy{}, fmt.Errorf("the path %s has a comma in it, which separates the settings of a policy: give the run's "+
			"folder another name", path)
	}
	method, err := policy.Trainable(c.Method)
	if err != nil {
		return bench.Policy{}, fmt.Errorf("candidate %s: %w", c.Name, err)
	}
	return bench.Policy{Spec: method.Spec(path, ""), Label: c.Name, Guard: fallback, Interval: interval, Axes: j.Axes}, nil
}
