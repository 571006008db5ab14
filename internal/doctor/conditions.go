package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline/api/v1alpha1"
)

// remedy of a condition's reason.
type remedy struct {
	state State
	do    string // NS and NAME are replaced by the LoadLine's
}

// judgeAgain on a history that has the application as it is now.
const judgeAgain = "judge the deployments again on the history since: loadline history pull --since 7d -o past2, loadline evaluate RUN " +
	"--history past2, loadline promote RUN (docs/portfolio.md)"

const look = "kubectl -n NS describe loadline NAME"

// remedies for every abnormal reason. Reasons that two conditions share mean the same in both.
var remedies = map[string]remedy{
	// Ready
	v1alpha1.ReasonStarting:       {Note, "wait for two intervals; if it persists, check the controller's log"},
	v1alpha1.ReasonInvalidSpec:    {Fault, "kubectl -n NS edit loadline NAME, as the message says"},
	v1alpha1.ReasonFailed:         {Fault, "check the controller's log, which has the stack of a panic; it restarts by itself"},
	v1alpha1.ReasonTargetNotFound: {Fault, "kubectl -n NS edit loadline NAME: correct the targetRef, or create the workload"},
	v1alpha1.ReasonSecretNotFound: {Fault, "create what the message names, in the namespace NS"},
	v1alpha1.ReasonForbidden:      {Fault, "apply the file that the permissions above name"},
	v1alpha1.ReasonPrometheusUnreachable: {Fault,
		"check spec.prometheus.url, its credentials, and network policies between the controller and the server"},
	v1alpha1.ReasonBrownoutNotRestored: {Fault,
		"correct what the message names; it is tried again at least once a minute. By hand: docs/modes.md, section Brownout"},
	v1alpha1.ReasonClassNotFound: {Fault, "kubectl get loadlineclasses, then correct spec.className, or create the class"},
	v1alpha1.ReasonNoPrometheus: {Fault,
		"set spec.prometheus.url, or spec.prometheus of its LoadLineClass (docs/class.md)"},
	v1alpha1.ReasonNoPresetFits: {Fault,
		"set spec.prometheus.preset or spec.prometheus.queries (loadline history presets), or have the application's metrics scraped"},
	// Active
	v1alpha1.ReasonObserving:    {Note, "set spec.mode to Recommend to see decisions"},
	v1alpha1.ReasonRecommending: {Note, "check the decisions (loadline explain NS/NAME), then set spec.mode to Act"},
	v1alpha1.ReasonStandby:      {Fault, "check the controller's pods: none of them holds the lease"},
	v1alpha1.ReasonNotReady:     {Note, "see to the condition Ready"},
	v1alpha1.ReasonPaused:       {Note, "kubectl -n NS annotate loadline NAME loadline.dev/paused- to resume"},
	v1alpha1.ReasonConflict:     {Note, "see to the condition Conflict"},
	// Fallback
	v1alpha1.ReasonNoModel:      {Warning, "promote a model (loadline promote), or correct spec.policy.model"},
	v1alpha1.ReasonModelInvalid: {Warning, "promote a model that was trained for this application, or roll back"},
	v1alpha1.ReasonModelOld:     {Warning, "train again (loadline train, evaluate, promote), or raise spec.policy.model.maxAge"},
	v1alpha1.ReasonModelFaulty:  {Warning, "loadline explain NS/NAME tells what it did; train again or roll back"},
	v1alpha1.ReasonModelNoData:  {Warning, "have the metrics scraped that the message names"},
	v1alpha1.ReasonBurned: {Warning,
		"loadline explain NS/NAME; the policy is followed again when objectives have held for a while"},
	v1alpha1.ReasonHolding:       {Warning, "see to the condition Stale: without data everything stays as it is"},
	v1alpha1.ReasonRaisedToFloor: {Warning, "see to the condition Stale: services were raised to their floors and stay there"},
	// Fleet; of Fallback too
	v1alpha1.ReasonOutOfReach: {Note, "check the NATS servers that the message names; students keep deciding"},
	v1alpha1.ReasonWeightsRefused: {Warning,
		"run teacher and controller of the same release (docs/fleet.md); students act on with the weights they have"},
	v1alpha1.ReasonTeacherTrouble: {Warning,
		"check what the message names: a full disk below --fleet-store, a damaged state; students keep deciding"},
	v1alpha1.ReasonNoFleet: {Warning, "give the controllers servers that they share (--nats; chart: fleet.nats), or run one with " +
		"--controllers 1"},
	// DecisionLog
	v1alpha1.ReasonNotRecorded: {Warning, "check what the message names: a full disk or the permissions below --decisions, or raise " +
		"--decisions-max (chart: decisions); it is tried again, and scaling goes on"},
	// Paused
	v1alpha1.ReasonPausedInSpec:       {Note, "set spec.paused to false to resume"},
	v1alpha1.ReasonPausedByAnnotation: {Note, "kubectl -n NS annotate loadline NAME loadline.dev/paused- to resume"},
	v1alpha1.ReasonSomeServicesPaused: {Note, "remove the pause to resume (docs/resource.md, Pausing)"},
	v1alpha1.ReasonAnnotationNotUnderstood: {Warning,
		"kubectl -n NS annotate loadline NAME loadline.dev/paused=true --overwrite, or take it away with loadline.dev/paused-"},
	// Conflict; a fault if Loadline acts
	v1alpha1.ReasonHorizontalPodAutoscaler: {Fault, "delete the HPA that the message names"},
	v1alpha1.ReasonVerticalPodAutoscaler:   {Fault, "set the VPA's updateMode to Off, or delete it"},
	v1alpha1.ReasonScaledObject: {Fault,
		"set movedBy: KEDA and add Loadline's trigger (docs/keda.md), or delete the ScaledObject"},
	v1alpha1.ReasonCPUTrigger:       {Fault, "take the CPU trigger out of the ScaledObject, or VerticalRequests out of axes"},
	v1alpha1.ReasonOtherLoadLine:    {Fault, "take the service out of one of the two"},
	v1alpha1.ReasonSeveralConflicts: {Fault, look},
	// Stale
	v1alpha1.ReasonMetricsAbsent: {Warning, "have the services scraped that the message names, or correct their names"},
	v1alpha1.ReasonMetricsPartial: {Warning, "check the targets of kubelets and pods in Prometheus (up == 0): every ready pod should be " +
		"scraped"},
	v1alpha1.ReasonMetricsLate: {Warning, "check the Prometheus' targets; or raise guard.data.maxAge"},
	v1alpha1.ReasonNoDecision:  {Fault, "check the controller's log"},
	// Announced
	v1alpha1.ReasonEventsNotUnderstood: {Warning, "kubectl -n NS annotate loadline NAME --overwrite loadline.dev/events=..., as the " +
		"message says"},
	// Limited
	v1alpha1.ReasonQuota: {Warning, "raise the quota (kubectl -n NS edit resourcequota), or lower the load or the requests of other pods"},
	// Selected
	v1alpha1.ReasonNotInTwin: {Warning, "fit a twin to a later history, which has the service, or put it in spec.selector.except"},
	// Drift
	v1alpha1.ReasonDriftCPU:     {Warning, judgeAgain},
	v1alpha1.ReasonDriftMix:     {Warning, judgeAgain},
	v1alpha1.ReasonDriftLatency: {Warning, judgeAgain},
	v1alpha1.ReasonLoadBeyondJudged: {Note,
		"the deployment was not judged under this load; if it lasts, judge it again on the history since (docs/portfolio.md)"},
	v1alpha1.ReasonReleased:    {Note, "wait: the release is compared with the twin once it has been measured"},
	v1alpha1.ReasonNotCompared: {Note, "wait for a window, or have measured what the message names"},
	// RunnerUpAhead
	v1alpha1.ReasonEstimatedBetter: {Note, judgeAgain},
	v1alpha1.ReasonNotEstimated:    {Note, "wait for an hour of load, or see to what the message names"},
	// ReserveHeld, of a class
	v1alpha1.ReasonReserveOff:           {Note, "set spec.reserve.policy to hold it (docs/class.md)"},
	v1alpha1.ReasonReservePending:       {Note, "wait for nodes; if it persists, check the node autoscaler and spec.reserve"},
	v1alpha1.ReasonNoCapacityBuffers:    {Warning, "set spec.reserve.policy to Auto or Placeholder"},
	v1alpha1.ReasonPriorityClassInvalid: {Warning, "kubectl apply -f deploy/optional/reserve.yaml, or correct spec.reserve.priorityClassName"},
	// Stale, of an objective
	v1alpha1.ReasonObjectivesUnseen: {Warning, "name the service and operation of each objective as the metrics do"},
}

// badWhenTrue are the conditions that should be false.
var badWhenTrue = []string{v1alpha1.ConditionFallback, v1alpha1.ConditionPaused, v1alpha1.ConditionConflict, v1alpha1.ConditionStale,
	v1alpha1.ConditionLimited, v1alpha1.ConditionDrift, v1alpha1.ConditionRunnerUpAhead}

// conditions explains abnormal conditions.
func (e *exam) conditions(a about, l *v1alpha1.LoadLine) {
	if len(l.Status.Conditions) == 0 {
		a.warn("conditions", "check the controller's log", "The controller has not processed it (created %s ago).",
			round(e.Now.Sub(l.CreationTimestamp.Time)))
		return
	}
	bad := 0
	for _, name := range append([]string{v1alpha1.ConditionReady, v1alpha1.ConditionActive, v1alpha1.ConditionFleet,
		v1alpha1.ConditionAnnounced, v1alpha1.ConditionSelected}, badWhenTrue...) {
		c := meta.FindStatusCondition(l.Status.Conditions, name)
		if c == nil {
			continue
		}
		good := metav1.ConditionTrue
		if slices.Contains(badWhenTrue, name) {
			good = metav1.ConditionFalse
		}
		if c.Status != good {
			e.badCondition(a, l, c)
			bad++
		}
	}
	if l.Status.ObservedGeneration < l.Generation {
		a.warn("conditions", "check the controller's log if it persists",
			"The controller has not taken up the last change of the resource (generation %d of %d).", l.Status.ObservedGeneration,
			l.Generation)
	}
	if t := l.Status.LastDecisionTime; t != nil && e.Now.Sub(t.Time) > max(3*interval(l), time.Minute) {
		a.warn("conditions", "check the controller's log", "The last decision was made %s ago, and one is due every %s.",
			round(e.Now.Sub(t.Time)), interval(l))
	}
	if bad == 0 {
		a.ok("conditions", "All conditions are as they should be; %s is followed.", orNone(l.Status.Policy))
	}
}

func (e *exam) badCondition(a about, l *v1alpha1.LoadLine, c *metav1.Condition) {
	r, known := remedies[c.Reason]
	if !known {
		r = remedy{Warning, look}
	}
	if c.Type == v1alpha1.ConditionConflict && l.Spec.Mode != v1alpha1.Act {
		r.state = Note // nothing is scaled yet
	}
	do := strings.NewReplacer("NS", l.Namespace, "NAME", l.Name).Replace(r.do)
	since := ""
	if !c.LastTransitionTime.IsZero() {
		since = fmt.Sprintf(" for %s", round(e.Now.Sub(c.LastTransitionTime.Time)))
	}
	a.when(r.state, "conditions", do, "%s has been %s%s (%s): %s", c.Type, c.Status, since, c.Reason, c.Message)
}

func interval(l *v1alpha1.LoadLine) time.Duration {
	if d := l.Spec.Interval.Span(); d > 0 {
		return d
	}
	return 15 * time.Second
}

func orNone(policy string) string {
	if policy == "" {
		return "no policy"
	}
	return policy
}
