package v1alpha1

// Types of conditions. All of them but Fleet are always there once the controller
// has seen the resource. Ready, Active and Fleet are good news when true, the
// others when false.
const (
	// Ready: the resource is understood, everything that it names is there, and
	// decisions are being made.
	ConditionReady = "Ready"
	// Active: decisions are being carried out.
	ConditionActive = "Active"
	// Fallback: the policy is not followed; the rule is, or nobody.
	ConditionFallback = "Fallback"
	// Paused: somebody has stopped changes of the application or of some services.
	ConditionPaused = "Paused"
	// Conflict: somebody else moves the same workloads.
	ConditionConflict = "Conflict"
	// Stale: what is decided on is old or absent.
	ConditionStale = "Stale"
	// Fleet: what students do reaches their teacher, and its weights reach them. It is
	// there only while the policy is a teacher with students.
	ConditionFleet = "Fleet"
)

// Reasons of Ready.
const (
	ReasonDeciding              = "Deciding"              // true: decisions are being made
	ReasonStarting              = "Starting"              // unknown: nothing has been decided yet
	ReasonInvalidSpec           = "InvalidSpec"           // the message names fields and remedies
	ReasonFailed                = "Failed"                // it failed while running, and restarts with back-off
	ReasonTargetNotFound        = "TargetNotFound"        // a targetRef names nothing, or something without a scale subresource
	ReasonSecretNotFound        = "SecretNotFound"        // a Secret or ConfigMap, or a key of it, is missing
	ReasonForbidden             = "Forbidden"             // the controller may not do what it must
	ReasonPrometheusUnreachable = "PrometheusUnreachable" // it cannot be reached, or does not let us in
	ReasonNoPresetFits          = "NoPresetFits"          // it knows no metrics of the application
)

// Reasons of Active.
const (
	ReasonActing       = "Acting"       // true
	ReasonObserving    = "Observing"    // the mode is Observe
	ReasonRecommending = "Recommending" // the mode is Recommend
	ReasonStandby      = "Standby"      // unknown: no process holds the lease
	// Also Paused, Conflict and NotReady, after the condition that stops it.
	ReasonPaused   = "Paused"
	ReasonConflict = "Conflict"
	ReasonNotReady = "NotReady"
)

// Reasons of Fallback.
const (
	ReasonFollowing     = "Following"     // false: the policy is followed
	ReasonNoModel       = "NoModel"       // there is none where the resource says
	ReasonModelInvalid  = "ModelInvalid"  // its file is torn, foreign or for another application
	ReasonModelOld      = "ModelOld"      // older than policy.model.maxAge
	ReasonModelFaulty   = "ModelFaulty"   // it failed too often in a row
	ReasonModelNoData   = "ModelNoData"   // metrics that it needs are absent
	ReasonBurned        = "Burned"        // an objective suffered while it was followed
	ReasonHolding       = "Holding"       // nobody knows what to do: everything stays as it is
	ReasonRaisedToFloor = "RaisedToFloor" // and has for long: services are at their floors
	// Also NoFleet, after the condition Fleet.
)

// Reasons of Paused.
const (
	ReasonNotPaused               = "NotPaused"               // false
	ReasonPausedInSpec            = "PausedInSpec"            // spec.paused
	ReasonPausedByAnnotation      = "PausedByAnnotation"      // loadline.dev/paused on the resource
	ReasonSomeServicesPaused      = "SomeServicesPaused"      // the message names them
	ReasonAnnotationNotUnderstood = "AnnotationNotUnderstood" // taken for a pause, to be on the safe side
)

// Reasons of Conflict.
const (
	ReasonNoConflict              = "NoConflict" // false
	ReasonHorizontalPodAutoscaler = "HorizontalPodAutoscaler"
	ReasonVerticalPodAutoscaler   = "VerticalPodAutoscaler"
	ReasonScaledObject            = "ScaledObject"     // of KEDA, without our trigger
	ReasonCPUTrigger              = "CPUTrigger"       // of a ScaledObject, beside moves of CPU requests
	ReasonOtherLoadLine           = "OtherLoadLine"    // names the same workload, and is older
	ReasonSeveralConflicts        = "SeveralConflicts" // the message names them
)

// Reasons of Stale.
const (
	ReasonFresh            = "Fresh"            // false
	ReasonMetricsAbsent    = "MetricsAbsent"    // services cannot be seen; the message names them
	ReasonMetricsLate      = "MetricsLate"      // samples are older than guard.data.maxAge
	ReasonNoDecision       = "NoDecision"       // none for three intervals
	ReasonObjectivesUnseen = "ObjectivesUnseen" // services are seen, objectives are not measured
)

// Reasons of Fleet.
const (
	ReasonInReach        = "InReach"        // true
	ReasonOutOfReach     = "OutOfReach"     // no server answers; students act on
	ReasonWeightsRefused = "WeightsRefused" // what was published does not fit; students act on
	ReasonTeacherTrouble = "TeacherTrouble" // the teacher in this process cannot work; students act on
	ReasonNoFleet        = "NoFleet"        // several controllers, and no servers that they share: the rule is followed
)
