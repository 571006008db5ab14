// Package guard keeps any policy safe. The ladder decides which policy is followed:
// a fresh model, the calibrated rule, none (hold), or the floor. The guards then
// correct its proposal, each in one respect; the loop asks them in order and records
// what each of them changed and why.
//
// Nothing here has a clock or does I/O: time and data come in as arguments, and
// memory is bounded by the number of services and kinds of requests.
//
// Reading order: settings.go (what can be set, and the defaults), chain.go (the
// order of the guards, and why), ladder.go with ask.go, objection.go, rung.go,
// partial.go, floor.go and homeward.go, then the guards:
//
//	sense.go         what is not a number is not set
//	disagreement.go  bounded distance from the rule
//	observed.go      a reduction must fit the load that is observed
//	starting.go      no reduction while pods are starting
//	burning.go       no reduction while the SLO is burning
//	gray.go          part of the way, watch, then the rest
//	cooldown.go      time between changes, per direction
//	step.go          the most that one decision may change
//	brownout.go      without optional services in need
//	absent.go        no reduction without metrics
//	clamp.go         the user's bounds
//
// Observations are filtered first: fresh.go (late and impossible samples
// become absent) and startupcpu.go (start-up is not load). What several share is
// in axis.go, clock.go, burn.go, sight.go and peak.go.
package guard
