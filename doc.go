// Package loadline is the vocabulary of the product: applications, their metrics, plans
// and policies.
//
// Reading order: [App] (app.go) is the application; [Observation] (observation.go) its metrics;
// [Policy] (policy.go) decides from a [Situation]; [Proposal] and [Plan] (proposal.go) are
// changes; [Decision] (decision.go) is what was decided and applied. One pass of the loop in
// internal/loop is: observe, forecast, split the SLO, decide, guard, apply, record.
//
// This package imports the standard library only and does no I/O. Services,
// kinds of requests and nodes are named once, in the App; everywhere else they
// are indices into its slices.
package loadline
