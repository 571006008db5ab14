package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/resource"
)

// verdict is one condition.
type verdict struct {
	status  metav1.ConditionStatus
	reason  string
	message string
}

func yes(reason, message string) verdict { return verdict{metav1.ConditionTrue, reason, message} }
func no(reason, message string) verdict  { return verdict{metav1.ConditionFalse, reason, message} }

// notAlways are the conditions that do not concern every application.
var notAlways = []string{v1alpha1.ConditionFleet, v1alpha1.ConditionAnnounced, v1alpha1.ConditionLimited, v1alpha1.ConditionSelected,
	v1alpha1.ConditionDrift, v1alpha1.ConditionRunnerUpAhead, v1alpha1.ConditionDecisionLog}

// setConditions sets conditions in a status. Their transition times change only with
// them.
func setConditions(status *v1alpha1.LoadLineStatus, generation int64, now time.Time, verdicts map[string]verdict) {
	for _, kind := range []string{
		v1alpha1.ConditionReady, v1alpha1.ConditionActive, v1alpha1.ConditionFallback,
		v1alpha1.ConditionPaused, v1alpha1.ConditionConflict, v1alpha1.ConditionStale, v1alpha1.ConditionFleet,
		v1alpha1.ConditionAnnounced, v1alpha1.ConditionLimited, v1alpha1.ConditionSelected, v1alpha1.ConditionDrift,
		v1alpha1.ConditionRunnerUpAhead,
		v1alpha1.ConditionDecisionLog,
	} {
		v, found := verdicts[kind]
		if !found {
			if meta.FindStatusCondition(status.Conditions, kind) != nil || slices.Contains(notAlways, kind) {
				continue
			}
			v = verdict{metav1.ConditionUnknown, v1alpha1.ReasonStarting, ""}
		}
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: v.status, Reason: v.reason, Message: resource.Text(v.message),
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
}

// notReady is the condition Ready of an application that could not be assembled or
// has failed.
func notReady(err error) verdict {
	var missing missingError
	switch {
	case errors.As(err, &missing):
		return no(v1alpha1.ReasonSecretNotFound, err.Error())
	case apierrors.IsForbidden(err):
		return no(v1alpha1.ReasonForbidden, err.Error())
	case errors.Is(err, resource.ErrNoClass):
		return no(v1alpha1.ReasonClassNotFound, err.Error())
	case errors.Is(err, resource.ErrNoPrometheus):
		return no(v1alpha1.ReasonNoPrometheus, err.Error())
	}
	var failed passError
	if errors.As(err, &failed) {
		return no(v1alpha1.ReasonFailed, err.Error())
	}
	return no(v1alpha1.ReasonInvalidSpec, err.Error())
}

// conditions of a pass.
func (v *view) conditions(l *v1alpha1.LoadLine, model decider, forbidden error) map[string]verdict {
	pause := l.Pause()
	c := map[string]verdict{
		v1alpha1.ConditionPaused:   pausedVerdict(pause, v),
		v1alpha1.ConditionFallback: fallbackVerdict(v.ladder, model),
		v1alpha1.ConditionConflict: v.conflictVerdict(),
		v1alpha1.ConditionStale:    v.staleVerdict(),
		v1alpha1.ConditionReady:    v.readyVerdict(forbidden),
	}
	c[v1alpha1.ConditionActive] = v.activeVerdict(c)
	if v.fleet != nil {
		c[v1alpha1.ConditionFleet] = *v.fleet
	}
	if w := v.watch; w != nil {
		c[v1alpha1.ConditionDrift] = w.driftVerdict()
		if w.judged {
			c[v1alpha1.ConditionRunnerUpAhead] = w.aheadVerdict()
		}
	}
	if v.records != nil {
		c[v1alpha1.ConditionDecisionLog] = *v.records
	}
	if a := v.announcedVerdict(); a.reason != "" {
		c[v1alpha1.ConditionAnnounced] = a
	}
	if s := v.selectedVerdict(l); s.reason != "" {
		c[v1alpha1.ConditionSelected] = s
	}
	if v.limited != "" {
		c[v1alpha1.ConditionLimited] = yes(v1alpha1.ReasonQuota, v.limited)
	}
	return c
}

// announcedVerdict is about the event that is running, or else the next one; without a
// reason if there is none.
func (v *view) announcedVerdict() verdict {
	if v.unannounced != nil {
		return no(v1alpha1.ReasonEventsNotUnderstood, v.unannounced.Error())
	}
	if len(v.events) == 0 {
		return verdict{}
	}
	e := v.events[0]
	message := fmt.Sprintf("%s: %s times the usual load from %s to %s", e.Name, loadline.DescribeNumber(e.Factor),
		e.Start.UTC().Format(time.RFC3339), e.End.UTC().Format(time.RFC3339))
	if more := len(v.events) - 1; more > 0 {
		message += fmt.Sprintf("; and %d more", more)
	}
	if v.at.Before(e.Start) {
		return yes(v1alpha1.ReasonEventAhead, message)
	}
	return yes(v1alpha1.ReasonEventRunning, message)
}

func (v *view) readyVerdict(forbidden error) verdict {
	if !v.seen {
		if apierrors.IsForbidden(v.err) {
			return no(v1alpha1.ReasonForbidden, v.err.Error())
		}
		return no(v1alpha1.ReasonTargetNotFound, "the workloads cannot be read: "+text(v.err))
	}
	if v.unrestored != nil {
		return no(v1alpha1.ReasonBrownoutNotRestored, v.unrestored.Error())
	}
	var missing []string
	for i := range v.services {
		if v.app.Targets[i] != nil && v.services[i].hold.state == v1alpha1.ServiceNotFound {
			missing = append(missing, v.app.App.Services[i].Name+": "+v.services[i].hold.why)
		}
	}
	switch {
	case len(missing) > 0:
		return no(v1alpha1.ReasonTargetNotFound, strings.Join(missing, "; "))
	case forbidden != nil:
		return no(v1alpha1.ReasonForbidden, forbidden.Error())
	case errors.Is(v.blind, prom.ErrNothing):
		return no(v1alpha1.ReasonNoPresetFits, v.blind.Error())
	case apierrors.IsForbidden(v.blind):
		return no(v1alpha1.ReasonForbidden, v.blind.Error())
	case v.blind != nil:
		var gone missingError
		if errors.As(v.blind, &gone) {
			return no(v1alpha1.ReasonSecretNotFound, v.blind.Error())
		}
		return no(v1alpha1.ReasonPrometheusUnreachable, v.blind.Error())
	}
	return yes(v1alpha1.ReasonDeciding, "")
}

func (v *view) activeVerdict(others map[string]verdict) verdict {
	moved, all := 0, 0
	var conflicts int
	for i := range v.services {
		if v.app.Targets[i] == nil {
			continue
		}
		all++
		switch {
		case !v.services[i].hold.held():
			moved++
		case v.services[i].hold.state == v1alpha1.ServiceConflict:
			conflicts++
		}
	}
	switch {
	case v.app.Mode == v1alpha1.Observe:
		return no(v1alpha1.ReasonObserving, "the mode is Observe: nothing is decided"+v.unscaled())
	case v.app.Mode == v1alpha1.Recommend:
		return no(v1alpha1.ReasonRecommending, "the mode is Recommend: decisions are shown and not applied"+v.unscaled())
	case others[v1alpha1.ConditionPaused].reason != v1alpha1.ReasonSomeServicesPaused &&
		others[v1alpha1.ConditionPaused].status == metav1.ConditionTrue:
		return no(v1alpha1.ReasonPaused, others[v1alpha1.ConditionPaused].message)
	case moved == 0 && conflicts > 0:
		return no(v1alpha1.ReasonConflict, others[v1alpha1.ConditionConflict].message+v.unscaled())
	case moved == 0 || !v.seen:
		return no(v1alpha1.ReasonNotReady, "no service may be moved now; see status.services")
	}
	return yes(v1alpha1.ReasonActing, fmt.Sprintf("%d of %d services may be moved", moved, all))
}

// unscaled are the warnings about services that nothing scales, to be appended.
func (v *view) unscaled() string {
	var text strings.Builder
	for i := range v.services {
		if why := v.services[i].unscaled; why != "" {
			text.WriteString("; " + why)
		}
	}
	return text.String()
}

func pausedVerdict(p v1alpha1.Pause, v *view) verdict {
	if p.Reason != v1alpha1.ReasonNotPaused && p.Reason != "" {
		return yes(p.Reason, p.Why)
	}
	var names []string
	for i := range v.services {
		if v.services[i].hold.state == v1alpha1.ServicePaused {
			names = append(names, v.app.App.Services[i].Name)
		}
	}
	if len(names) > 0 {
		return yes(v1alpha1.ReasonSomeServicesPaused,
			"paused by the annotation "+v1alpha1.PausedAnnotation+" on their workloads: "+strings.Join(names, ", "))
	}
	return no(v1alpha1.ReasonNotPaused, "")
}

func fallbackVerdict(s guard.State, model decider) verdict {
	switch s.Rung {
	case guard.Primary:
		return no(v1alpha1.ReasonFollowing, "")
	case guard.Hold:
		return yes(v1alpha1.ReasonHolding, s.Why)
	case guard.Floor:
		return yes(v1alpha1.ReasonRaisedToFloor, s.Why)
	}
	switch {
	case model.policy == nil:
		return yes(model.reason, s.Why)
	case s.Distrust:
		return yes(v1alpha1.ReasonBurned, s.Why)
	case strings.Contains(s.Why, "no data"):
		return yes(v1alpha1.ReasonModelNoData, s.Why)
	}
	return yes(v1alpha1.ReasonModelFaulty, s.Why)
}

func (v *view) conflictVerdict() verdict {
	var messages []string
	reason := ""
	for i := range v.services {
		if v.services[i].hold.state != v1alpha1.ServiceConflict {
			continue
		}
		messages = append(messages, v.services[i].hold.why)
		for _, c := range v.services[i].conflicts {
			if reason == "" || reason == c.Reason {
				reason = c.Reason
			} else {
				reason = v1alpha1.ReasonSeveralConflicts
			}
		}
	}
	if len(messages) == 0 {
		return no(v1alpha1.ReasonNoConflict, "")
	}
	return yes(reason, strings.Join(messages, "; "))
}

func (v *view) staleVerdict() verdict {
	if !v.seen {
		return yes(v1alpha1.ReasonNoDecision, text(v.err))
	}
	unseen := v.unseen()
	if len(unseen) > 0 {
		message := "neither rate nor CPU is measured for " + strings.Join(unseen, ", ") +
			v.reported(loadline.OfService, unseen, loadline.ServiceRate.String(), loadline.ServiceCPU.String())
		if v.late > 0 {
			return yes(v1alpha1.ReasonMetricsLate, fmt.Sprintf("%s; the newest samples are %s old", message, v.late.Round(time.Second)))
		}
		return yes(v1alpha1.ReasonMetricsAbsent, message)
	}
	if partial := v.partial(); len(partial) > 0 {
		return yes(v1alpha1.ReasonMetricsPartial, "too few of the ready pods are measured, so that nothing is reduced: "+
			strings.Join(partial, ", "))
	}
	var kinds []string
	for i := range v.kinds {
		if !v.kinds[i].OverSLO.Present() && !v.kinds[i].AtSLO.Present() && !(v.kinds[i].Rate.Present() && v.kinds[i].Rate.Value == 0) {
			kinds = append(kinds, v.app.App.Kinds[i].Name)
		}
	}
	if len(kinds) > 0 {
		return yes(v1alpha1.ReasonObjectivesUnseen,
			"the latency of these requests is not measured: "+strings.Join(kinds, ", ")+v.reported(loadline.OfKind, kinds))
	}
	return no(v1alpha1.ReasonFresh, "")
}

// reported is the part of the report on the metrics that concerns some services or
// kinds of requests.
func (v *view) reported(scope loadline.Scope, names []string, metrics ...string) string {
	var parts []string
	for _, name := range names {
		for _, d := range v.report.Of(scope, name, metrics...) {
			if text := d.String(); !slices.Contains(parts, text) {
				parts = append(parts, text)
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// resizeText is why pods do not have the desired size.
func resizeText(faults, outcomes []kube.Outcome) string {
	var parts []string
	for _, f := range faults {
		parts = append(parts, fmt.Sprintf("pod %s is not resized: %s", f.Pod, f.Why))
	}
	if len(parts) == 0 {
		for _, o := range outcomes {
			if o.Result == kube.Deferred || o.Result == kube.Infeasible || o.Result == kube.Refused {
				parts = append(parts, fmt.Sprintf("pod %s is not resized: %s", o.Pod, o.Why))
			}
		}
	}
	if len(parts) > 2 {
		parts = append(parts[:2], fmt.Sprintf("and %d more", len(parts)-2))
	}
	return strings.Join(parts, "; ")
}
