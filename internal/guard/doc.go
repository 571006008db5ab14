// Package guard limits what any policy can do. The ladder decides which policy is followed:
// a fresh model, the calibrated rule, none (hold), or the floor. The guards then
// correct its proposal, each in one respect; the loop calls them in order and records
// what each of them changed and why.
//
// Nothing here has a clock or does I/O: time and data come in as arguments, and
// memory is bounded by the number of services and kinds of requests.
//
// Reading order: settings.go (what can be set, and the defaults), chain.go (the
// order of the guards, and why), ladder.go with ask.go, objection.go, rung.go,
// partial.go, floor.go and restoresizes.go, then the guards:
//
//	sense.go         no values that are not numbers
//	disagreement.go  bounded distance from the rule
//	observed.go      a reduction must fit the observed load
//	starting.go      no reduction while pods are starting
//	burning.go       no reduction while the SLO is burning
//	gray.go          reductions in two steps, each watched
//	cooldown.go      time between changes, per direction
//	step.go          the most that one decision may change
//	brownout.go      optional services off under overload
//	absent.go        no reduction without metrics
//	clamp.go         the user's bounds
//
// Observations are filtered first: fresh.go (late and impossible samples
// become absent) and startupcpu.go (CPU of starting pods is not load). Shared parts:
// axis.go, clock.go, burn.go, visibility.go and peak.go.
package guard
