package v1alpha1

// Types of conditions of a LoadLine. All of them except Fleet, Announced, Limited, Selected, Drift,
// RunnerUpAhead and DecisionLog exist once the controller has processed the resource. Ready,
// Active, Fleet, Announced and DecisionLog are good when true, the others when false.
const (
	// Ready: the resource is valid, everything that it references exists, and
	// decisions are being made.
	ConditionReady = "Ready"
	// Active: decisions are being applied.
	ConditionActive = "Active"
	// Fallback: the policy is not in control; the rule is, or neither.
	ConditionFallback = "Fallback"
	// Paused: changes of the application or of some services are paused.
	ConditionPaused = "Paused"
	// Conflict: another autoscaler manages the same workloads.
	ConditionConflict = "Conflict"
	// Stale: the data for decisions is old or absent.
	ConditionStale = "Stale"
	// Fleet: experience of the students reaches their teacher, and its weights reach
	// them. It exists only while the policy is a teacher with students.
	ConditionFleet = "Fleet"
	// Announced: an announced event is running or to come. It exists only while there is
	// one, or the annotation is not understood.
	ConditionAnnounced = "Announced"
	// Limited: a quota of the namespace keeps services below what the load needs. It exists
	// only while one does.
	ConditionLimited = "Limited"
	// Selected: what the selector finds is scaled. It exists only with a selector.
	ConditionSelected = "Selected"
	// Drift: the application does not behave as its twin, on which the deployment was
	// judged. It exists only with a twin.
	ConditionDrift = "Drift"
	// RunnerUpAhead: another deployment that was judged is estimated to be better by now.
	// It exists only if the twin has what was judged.
	ConditionRunnerUpAhead = "RunnerUpAhead"
	// DecisionLog: decisions are recorded. It exists only if the controller keeps a
	// decision log.
	ConditionDecisionLog = "DecisionLog"
)

// ConditionReserveHeld is the condition of a LoadLineClass: what is wanted is kept free.
const ConditionReserveHeld = "ReserveHeld"

// Reasons of Ready.
const (
	ReasonDeciding              = "Deciding"              // true: decisions are being made
	ReasonStarting              = "Starting"              // unknown: no decision has been made yet
	ReasonInvalidSpec           = "InvalidSpec"           // the message names fields and fixes
	ReasonFailed                = "Failed"                // it failed while running, and restarts with back-off
	ReasonTargetNotFound        = "TargetNotFound"        // a targetRef does not exist, or has no scale subresource
	ReasonSecretNotFound        = "SecretNotFound"        // a Secret or ConfigMap, or a key of it, is missing
	ReasonForbidden             = "Forbidden"             // the controller lacks a permission
	ReasonPrometheusUnreachable = "PrometheusUnreachable" // it cannot be reached, or denies access
	ReasonClassNotFound         = "ClassNotFound"         // spec.className names no LoadLineClass
	ReasonNoPrometheus          = "NoPrometheus"          // neither the resource nor its class has one
	ReasonNoPresetFits          = "NoPresetFits"          // it has no metrics of the application
	ReasonBrownoutNotRestored   = "BrownoutNotRestored"   // a workload in status.brownedOut cannot be scaled up; retried with back-off
)

// Reasons of Active.
const (
	ReasonActing       = "Acting"       // true
	ReasonObserving    = "Observing"    // the mode is Observe
	ReasonRecommending = "Recommending" // the mode is Recommend
	ReasonStandby      = "Standby"      // unknown: no process holds the lease
	// Also Paused, Conflict and NotReady, after the condition that blocks changes.
	ReasonPaused   = "Paused"
	ReasonConflict = "Conflict"
	ReasonNotReady = "NotReady"
)

// Reasons of Fallback.
const (
	ReasonFollowing     = "Following"     // false: the policy is in control
	ReasonNoModel       = "NoModel"       // there is none at the given location
	ReasonModelInvalid  = "ModelInvalid"  // its file is truncated, foreign or for another application
	ReasonModelOld      = "ModelOld"      // older than policy.model.maxAge
	ReasonModelFaulty   = "ModelFaulty"   // it failed too often in a row
	ReasonModelNoData   = "ModelNoData"   // metrics that it needs are absent
	ReasonBurned        = "Burned"        // an objective was violated while it was in control
	ReasonHolding       = "Holding"       // no data to decide on: nothing changes
	ReasonRaisedToFloor = "RaisedToFloor" // no data for long: services are at their floors
	// Also NoFleet, after the condition Fleet.
)

// Reasons of Paused.
const (
	ReasonNotPaused               = "NotPaused"               // false
	ReasonPausedInSpec            = "PausedInSpec"            // spec.paused
	ReasonPausedByAnnotation      = "PausedByAnnotation"      // loadline.dev/paused on the resource
	ReasonSomeServicesPaused      = "SomeServicesPaused"      // the message names them
	ReasonAnnotationNotUnderstood = "AnnotationNotUnderstood" // treated as a pause, to be safe
)

// Reasons of Conflict.
const (
	ReasonNoConflict              = "NoConflict" // false
	ReasonHorizontalPodAutoscaler = "HorizontalPodAutoscaler"
	ReasonVerticalPodAutoscaler   = "VerticalPodAutoscaler"
	ReasonScaledObject            = "ScaledObject"     // of KEDA, without Loadline's trigger
	ReasonCPUTrigger              = "CPUTrigger"       // of a ScaledObject, while CPU requests are scaled
	ReasonOtherLoadLine           = "OtherLoadLine"    // has the same workload, and is older
	ReasonSeveralConflicts        = "SeveralConflicts" // the message names them
)

// Reasons of Stale.
const (
	ReasonFresh            = "Fresh"            // false
	ReasonMetricsAbsent    = "MetricsAbsent"    // services are not measured; the message names them
	ReasonMetricsLate      = "MetricsLate"      // samples are older than guard.data.maxAge
	ReasonMetricsPartial   = "MetricsPartial"   // too few of the ready pods are measured
	ReasonNoDecision       = "NoDecision"       // none for three intervals
	ReasonObjectivesUnseen = "ObjectivesUnseen" // services are measured, objectives are not
)

// Reasons of Fleet.
const (
	ReasonInReach        = "InReach"        // true
	ReasonOutOfReach     = "OutOfReach"     // no server answers; students keep deciding
	ReasonWeightsRefused = "WeightsRefused" // published weights do not match; students keep deciding
	ReasonTeacherTrouble = "TeacherTrouble" // the teacher in this process fails; students keep deciding
	ReasonNoFleet        = "NoFleet"        // several controllers without shared servers: the rule is in control
)

// Reasons of Announced.
const (
	ReasonEventRunning        = "EventRunning"        // true
	ReasonEventAhead          = "EventAhead"          // true
	ReasonEventsNotUnderstood = "EventsNotUnderstood" // the annotation is not; the message says what of it
)

// Reasons of Selected.
const (
	ReasonFound     = "Found"     // true: the message has the services
	ReasonNotInTwin = "NotInTwin" // workloads that are found are left out, because the twin does not have them
)

// ReasonQuota is the reason of Limited.
const ReasonQuota = "Quota" // true: the message has the quota and the services

// Reasons of Drift.
const (
	ReasonAsJudged         = "AsJudged"         // false
	ReasonDriftCPU         = "DriftCPU"         // a visit takes more or less CPU than the twin's
	ReasonDriftMix         = "DriftMix"         // requests make other visits than the twin's
	ReasonDriftLatency     = "DriftLatency"     // a visit takes longer or shorter than the twin's at the same load
	ReasonLoadBeyondJudged = "LoadBeyondJudged" // the load is higher than any that the deployment was judged under
	ReasonReleased         = "Released"         // unknown: a release is not compared yet
	ReasonNotCompared      = "NotCompared"      // unknown: too little is measured; the message says what
)

// Reasons of RunnerUpAhead.
const (
	ReasonEstimatedBetter = "EstimatedBetter" // true
	ReasonNotBetter       = "NotBetter"       // false
	ReasonNotEstimated    = "NotEstimated"    // unknown: the message says why
)

// Reasons of DecisionLog.
const (
	ReasonRecording   = "Recording"   // true
	ReasonNotRecorded = "NotRecorded" // the log cannot be opened or written; scaling goes on
)

// Reasons of ReserveHeld, also Forbidden and Failed.
const (
	ReasonHeld                 = "Held"                 // true
	ReasonReserveOff           = "ReserveOff"           // the policy is Off: the status shows what would be held
	ReasonReservePending       = "ReservePending"       // pods of the reserve wait for a place
	ReasonNoCapacityBuffers    = "NoCapacityBuffers"    // the cluster does not have this API
	ReasonPriorityClassInvalid = "PriorityClassInvalid" // there is none, or it would displace other pods
)
