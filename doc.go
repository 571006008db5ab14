// Package loadline is the vocabulary of the product: what an application is,
// what can be seen of it, what may be changed, and who decides.
//
// Reading order: [App] (app.go) says what runs; [Observation] (observation.go)
// what was seen of it; [Situation] and [Policy] (policy.go) who decides from
// what; [Proposal] and [Plan] (proposal.go) what is to change; [Decision]
// (decision.go) what was decided and applied. One pass of the loop in
// internal/loop is: observe, forecast, split the SLO, decide, guard, apply,
// record.
//
// This package imports the standard library only and does no I/O. Services,
// kinds of requests and nodes are named once, in the App; everywhere else they
// are indices into its slices.
package loadline
